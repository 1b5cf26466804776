// `agent-lifecycle/client`: the rows of a monitor in another process, without the addon.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { LifecycleProjector } from "agent-lifecycle";
import { createRowStore, hostStatus } from "agent-lifecycle/client";
import { event, state } from "./support/events.mjs";
import { row } from "./support/rows.mjs";

const root = path.dirname(import.meta.dirname);
const change = (cursor, upserted, removed = [], reset = false) => ({ cursor, upserted, removed, reset });
const keys = (store) => store.snapshot().map(({ key }) => key);

for (const [kind, load] of [
  ["commonjs", `const client = require("agent-lifecycle/client");`],
  [
    "module",
    `import * as client from "agent-lifecycle/client"; import { createRequire } from "node:module";
    const require = createRequire(process.cwd() + "/x.js");`,
  ],
]) {
  test(`the entry has its names and loads neither the addon nor the main entry: ${kind}`, () => {
    const code = `${load}
      const store = client.createRowStore();
      store.apply({ cursor: "c", upserted: [], removed: [], reset: true });
      client.hostStatus({ state: "running", waitingReason: null });
      const loaded = Object.keys(require.cache).filter((name) => /native|index\\.js$|\\.node$/.test(name));
      console.log(JSON.stringify([Object.keys(client).filter((name) => /^[a-z]\\w+$/.test(name) && name !== "default").sort(), loaded]));`;
    const { stdout, stderr } = spawnSync(process.execPath, [`--input-type=${kind}`, "--eval", code], {
      cwd: root,
      encoding: "utf8",
    });
    assert.equal(stderr, "");
    assert.deepEqual(JSON.parse(stdout), [["createRowStore", "hostStatus", "treeOf"], []]);
  });
}

test("rows come, change and go; a reset leaves only what it brings", () => {
  const store = createRowStore();
  assert.deepEqual([store.snapshot(), store.cursor], [[], undefined]);
  assert.equal(store.apply(change("1", [row("a"), row("b", { startedAt: "2026-03-02T11:00:00Z" })])), true);
  assert.deepEqual(keys(store), ["b", "a"]);
  assert.equal(store.apply(change("2", [row("a", { state: "waiting" })], ["b", "unknown"])), true);
  assert.deepEqual([keys(store), store.get("a").state, store.get("b")], [["a"], "waiting", undefined]);
  assert.equal(store.apply(change("3", [row("c")], [], true)), true);
  assert.deepEqual([keys(store), store.cursor], [["c"], "3"]);
});

test("the same changes again do nothing, also after others", () => {
  const store = createRowStore();
  const first = change("1", [row("a")]);
  store.apply(first);
  store.apply(change("2", [row("a", { title: "new" })]));
  assert.equal(store.apply(first), false);
  assert.deepEqual([store.get("a").title, store.cursor], ["new", "2"]);
});

test("a row that did not change is the same object, and so is each part of one that did", () => {
  const store = createRowStore();
  store.apply(change("1", [row("a"), row("b")]));
  const before = store.snapshot();
  const [a, b] = before;
  // New objects with equal content, as they come over a channel.
  assert.equal(store.apply(change("2", [row("a"), row("b")], [], true)), false);
  assert.equal(store.snapshot(), before);
  store.apply(change("3", [row("a"), row("b", { liveChildren: 1 })]));
  assert.notEqual(store.snapshot(), before);
  assert.equal(store.get("a"), a);
  assert.notEqual(store.get("b"), b);
  assert.equal(store.get("b").capabilities, b.capabilities);
  assert.equal(b.liveChildren, 0);
});

test("snapshots are frozen through and through, and apart from what was given", () => {
  const store = createRowStore();
  const given = row("a", { waits: [{ waitId: "w", reason: "question", since: "2026-03-02T11:59:00Z" }] });
  store.apply(change("1", [given]));
  given.title = "other";
  given.waits[0].reason = "other";
  const [kept] = store.snapshot();
  assert.deepEqual([kept.title, kept.waits[0].reason], ["title of a", "question"]);
  for (const part of [store.snapshot(), kept, kept.waits, kept.waits[0], kept.freshness])
    assert.ok(Object.isFrozen(part));
});

test("listeners are called after a change of a row, until they leave", () => {
  const store = createRowStore();
  const calls = [];
  const leave = store.subscribe(() => calls.push(store.get("a").title));
  const same = () => calls.push("twice");
  const [one, two] = [store.subscribe(same), store.subscribe(same)];
  store.apply(change("1", [row("a")]));
  assert.deepEqual(calls, ["title of a", "twice", "twice"]);
  store.apply(change("2", [row("a")]));
  one();
  one();
  leave();
  store.apply(change("3", [row("a", { title: "new" })]));
  two();
  store.apply(change("4", [], ["a"]));
  assert.deepEqual(calls, ["title of a", "twice", "twice", "twice"]);
});

test("members named like those of every object are members like any other", () => {
  const store = createRowStore();
  const odd = JSON.parse(`{"__proto__":{"x":1},"toString":2}`);
  store.apply(change("1", [row("__proto__", { diagnostics: odd })]));
  const { diagnostics } = store.get("__proto__");
  assert.equal(JSON.stringify(diagnostics), JSON.stringify(odd));
  assert.equal(Object.getPrototypeOf(diagnostics), Object.prototype);
});

test("the order is that of a projection's own rows, ties and fractions of a second among them", () => {
  const projector = new LifecycleProjector();
  const begin = (childId, observedAt, lineage = {}, source = "s") =>
    projector.apply(
      event({
        childId,
        source,
        observedAt,
        lineage: { rootChildId: "r", attempt: 1, external: false, ...lineage },
      }),
    );
  begin("r", "2026-03-02T11:00:01.5Z");
  begin("late", "2026-03-02T11:00:01.500001Z", { rootChildId: "late" });
  begin("b", "2026-03-02T11:00:02Z", { parentChildId: "r" });
  begin("a", "2026-03-02T11:00:02Z", { parentChildId: "r" });
  begin("c", "2026-03-02T11:00:02.000000001Z", { parentChildId: "a" });
  begin("early", "2026-03-02T11:00:01Z", { rootChildId: "early" });
  begin("early", "2026-03-02T11:00:01Z", { rootChildId: "early" }, "other");
  projector.apply(
    state("x", "starting", {
      childId: "early",
      source: "s",
      observedAt: "2026-03-02T11:00:03Z",
      lineage: { rootChildId: "early", attempt: 1, external: false },
    }),
  );
  const store = createRowStore();
  store.apply(structuredClone(projector.changesSince()));
  const listed = projector.list();
  assert.equal(listed.length, 7);
  assert.deepEqual(store.snapshot(), listed);
});

test("a row whose parent is not there is a root, and a circle of parents loses nobody", () => {
  const store = createRowStore();
  store.apply(
    change("1", [
      row("orphan", { parentKey: "gone" }),
      row("x", { parentKey: "y" }),
      row("y", { parentKey: "x" }),
    ]),
  );
  assert.deepEqual(keys(store).toSorted(), ["orphan", "x", "y"]);
});

test("whatever way changes take, the rows are the newest of each", () => {
  const seen = { repeats: 0, resets: 0, removals: 0 };
  const step = fc.record({
    key: fc.constantFrom("a", "b", "c"),
    title: fc.integer({ min: 0, max: 3 }),
    kind: fc.constantFrom("upsert", "upsert", "remove", "reset", "repeat"),
    json: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const store = createRowStore();
      let expected = new Map();
      const sent = [];
      for (const [at, { key, title, kind, json }] of steps.entries()) {
        let changes = change(`c${at}`, [], []);
        const parentKey = title === 3 && key !== "a" ? "a" : null;
        const one = row(key, { title: `${title}`, startedAt: `2026-03-02T11:00:0${title % 3}Z`, parentKey });
        if (kind === "repeat" && sent.length > 0) {
          changes = sent[title % sent.length];
          seen.repeats += 1;
        } else if (kind === "remove") {
          changes.removed.push(key);
          expected.delete(key);
          seen.removals += 1;
        } else {
          changes.upserted.push(one);
          changes.reset = kind === "reset";
          if (changes.reset) {
            expected = new Map();
            seen.resets += 1;
          }
          expected.set(key, one);
        }
        sent.push(changes);
        store.apply(json ? JSON.parse(JSON.stringify(changes)) : structuredClone(changes));
        // The order is that of a store which sees these rows for the first time.
        const fresh = createRowStore();
        fresh.apply(change("x", [...expected.values()]));
        assert.deepEqual(store.snapshot(), fresh.snapshot());
        assert.deepEqual(new Map(store.snapshot().map((kept) => [kept.key, kept])), expected);
      }
    }),
  );
  for (const [name, times] of Object.entries(seen)) assert.ok(times > 20, `${name}: ${times}`);
});

test("what are no changes is refused by name, and changes nothing", () => {
  const store = createRowStore();
  store.apply(change("1", [row("a")]));
  for (const [given, where] of [
    [undefined, "changes"],
    [{ ...change("2", []), cursor: 2 }, "changes.cursor"],
    [{ ...change("2", []), reset: undefined }, "changes.reset"],
    [{ ...change("2", []), removed: [1] }, "changes.removed"],
    [{ ...change("2", []), upserted: "a" }, "changes.upserted"],
    [change("2", [row("b"), null]), "changes.upserted[1].key"],
    [change("2", [row("b", { startedAt: 1 })]), "changes.upserted[0].startedAt"],
  ]) {
    assert.throws(() => store.apply(given), {
      name: "LifecycleError",
      code: "invalid_argument",
      path: where,
    });
  }
  assert.deepEqual([keys(store), store.cursor], [["a"], "1"]);
});

test("hostStatus is that of the main entry", async () => {
  const main = await import("agent-lifecycle");
  assert.equal(hostStatus, main.hostStatus);
});
