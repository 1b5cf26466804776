// docs/adapter-author.md: its tables are those of the code, and its examples run. And the fixtures for mappers of journals.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { LifecycleError, jsonlSession, observeJsonlSession } from "agent-lifecycle";
import {
  SCENARIOS,
  adapterConformance,
  fakeDriver,
  fixtureTerminal,
  fixtureWatcher,
  jsonlChunk,
} from "agent-lifecycle/testing";
import { blocks, coded, rows, section } from "./support/markdown.mjs";

const page = fs.readFileSync(path.join(import.meta.dirname, "..", "docs", "adapter-author.md"), "utf8");

test("the rules and the scenarios are those of the code", () => {
  const suite = rows(section(page, "## The conformance suite"));
  const rules = adapterConformance({ driver: fakeDriver(), scenarios: {} });
  const expected = rules.map(({ id, scenario, title }) => [`\`${id}\``, `\`${scenario}\``, title]);
  assert.deepEqual(suite.slice(0, expected.length), expected);
  assert.deepEqual(
    suite.slice(expected.length),
    Object.entries(SCENARIOS).map(([name, text]) => [`\`${name}\``, text]),
  );
});

test("the steps of a fake are all described", () => {
  const types = fs.readFileSync(path.join(import.meta.dirname, "..", "ts/testing/fake-script.ts"), "utf8");
  const steps = types.slice(
    types.indexOf("export type FakeStep"),
    types.indexOf("/** The request of a fake"),
  );
  const named = [...steps.matchAll(/\| \{ readonly (\w+)/g)].map(([, name]) => name);
  assert.ok(named.length > 10);
  const described = rows(section(page, "## The fake adapter")).flatMap(([step]) => coded(step));
  assert.deepEqual(described.toSorted(), named.toSorted());
});

test("the members of a driver and of its context are all described", () => {
  const types = fs.readFileSync(path.join(import.meta.dirname, "..", "ts/runtime/driver.ts"), "utf8");
  for (const [heading, name] of [
    ["## The driver", "RuntimeDriver<Session = unknown>"],
    ["## What a driver works with", "AdapterContext"],
  ]) {
    const body = types.slice(types.indexOf(`export interface ${name} {`));
    const members = [...body.slice(0, body.indexOf("\n}")).matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)];
    const described = rows(section(page, heading)).flatMap(([member]) => coded(member));
    assert.deepEqual(described.toSorted(), members.map(([, member]) => member).toSorted(), name);
  }
});

test("the examples run", async (t) => {
  const examples = blocks(page, "js");
  assert.equal(examples.length, 3);
  // In the package's own folder, where its names lead to it. The first is a whole suite: conformance.test.mjs runs it.
  const folder = fs.mkdtempSync(path.join(import.meta.dirname, "example-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  for (const [at, example] of examples.entries()) {
    if (at === 0) continue;
    const file = path.join(folder, `${at}.mjs`);
    fs.writeFileSync(file, example);
    await import(file);
  }
});

test("a fixture watcher yields, ends, throws, and counts its disposals; a terminal refuses what is no event", async () => {
  const terminal = fixtureTerminal();
  const source = fixtureWatcher(jsonlChunk("append", 1));
  const seen = [];
  const observed = observeJsonlSession(
    jsonlSession({
      binding: terminal.bindSession({ providerSessionId: "mine" }),
      source,
      mapRecord(record, { binding, generation, publish }) {
        seen.push([binding.providerSessionId, generation, record]);
        if (record === 1) source.push(jsonlChunk("replace", 2, 3));
        if (record === 3) source.end();
        assert.throws(() => publish.done({}), LifecycleError);
      },
    }),
    { publish: terminal.publish },
  );
  await observed;
  assert.deepEqual(seen, [
    ["mine", 0, 1],
    ["mine", 1, 2],
    ["mine", 1, 3],
  ]);
  assert.deepEqual(terminal.events, []);
  assert.equal(source.disposals, 1);
  const thrown = new Error("thrown by the watcher");
  const broken = jsonlSession({
    binding: terminal.bindSession(),
    source: fixtureWatcher(thrown),
    mapRecord: () => undefined,
  });
  await assert.rejects(observeJsonlSession(broken, { publish: terminal.publish }), thrown);
  assert.throws(() => terminal.bindSession({ evidence: {} }), { code: "invalid_binding" });
});
