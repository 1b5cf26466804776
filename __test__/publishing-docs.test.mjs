// docs/publishing.md, docs/hooks.md and the README's own agent: examples run, and tables are those of the code.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { LifecycleProjector, hookSettings } from "agent-lifecycle";
import typescript from "typescript";
import { spoolFile } from "../dist/hook-run.js";
import { HOOK_EVENTS } from "../dist/hooks.js";
import { stateDirectory } from "../dist/state-directory.js";
import { blocks, coded, rows, section } from "./support/markdown.mjs";

const root = path.dirname(import.meta.dirname);
const read = (file) => fs.readFileSync(path.join(root, file), "utf8");
const hooks = read("docs/hooks.md");

/** Runs a module in a home of its own, and gives the rows that its journal comes to. */
function rowsOf(t, code) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "publishing-"));
  t.after(() => fs.rmSync(home, { recursive: true }));
  const env = { ...process.env, HOME: home, XDG_STATE_HOME: home, LOCALAPPDATA: home };
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: root,
    env,
    encoding: "utf8",
  });
  assert.deepEqual([status, stdout, stderr], [0, "", ""]);
  const folder = path.join(stateDirectory({ env, home }), "journals");
  const projector = new LifecycleProjector();
  for (const name of fs.readdirSync(folder).filter((one) => one.endsWith(".jsonl"))) {
    for (const line of fs.readFileSync(path.join(folder, name), "utf8").trim().split("\n"))
      assert.equal(projector.apply(JSON.parse(line)).status, "applied");
  }
  return projector.list();
}

test("the six lines of the README publish a session", (t) => {
  const [example] = blocks(section(read("README.md"), "## Your own agent in six lines"), "js");
  assert.equal(example.split("\n").filter((line) => line.trim() !== "").length, 6);
  const [row, ...more] = rowsOf(t, example);
  assert.deepEqual(more, []);
  assert.deepEqual(
    [row.provider, row.title, row.state, row.waitingReason, row.turn.outcome],
    ["my-agent", "Sort the inbox", "waiting", "prompt", "success"],
  );
});

test("the example of docs/publishing.md does what it says", (t) => {
  const [example] = blocks(read("docs/publishing.md"), "ts");
  const { outputText } = typescript.transpileModule(example, {
    compilerOptions: { module: typescript.ModuleKind.ESNext, target: typescript.ScriptTarget.ES2022 },
  });
  const [row] = rowsOf(t, outputText);
  assert.deepEqual(
    [row.agentVersion, row.place.cwd, row.tools.count, row.tools.open.length, row.waitingReason],
    ["1.4.0", root, 1, 0, "prompt"],
  );
});

test("which words of a wait become which waiting reason", (t) => {
  const table = rows(section(read("docs/publishing.md"), "## Waits"));
  const [known] = table[0].map(coded);
  const reasons = [...known.slice(1), "approval", undefined];
  assert.equal(reasons.length, 8);
  const waits = [
    ...reasons.map((reason) => ({ state: "waiting", reason })),
    { state: "blocked", reason: "permission" },
  ];
  const shown = waits.map((wait) => {
    const [row] = rowsOf(
      t,
      `import { openPublisher } from "agent-lifecycle";
      const publisher = openPublisher({ agent: "a", onError: console.error });
      publisher.turnStarted({ turnId: "t" });
      publisher.waitStarted(${JSON.stringify({ waitId: "w", ...wait })});
      await publisher.close();`,
    );
    assert.equal(row.state, "waiting");
    return [row.waitingReason, row.waits[0].text];
  });
  assert.deepEqual(shown, [
    ...known.slice(1).map((word) => [word, undefined]),
    ["other", "approval"],
    ["other", undefined],
    ["blocked", undefined],
  ]);
});

/** What is kept of an event that has each of `members`, of a length. */
function kept(name, members, length) {
  const given = Object.fromEntries(members.map((member) => [member, "x".repeat(length(member))]));
  const text = JSON.stringify({ hook_event_name: name, session_id: "s", ...given });
  const { hook_event_name: _, session_id: __, ...event } = spoolFile(text, "2026-03-02T08:00:00Z").event;
  return Object.keys(event);
}

test("the members of a spool file are those of the table, at their length and not beyond", () => {
  const table = rows(section(hooks, "## The spool")).slice(4);
  assert.deepEqual(
    table.map(([name]) => coded(name)[0]),
    [...HOOK_EVENTS],
  );
  const every = [
    "tool_input",
    "cwd",
    "transcript_path",
    ...new Set(table.flatMap(([, cell]) => coded(cell))),
  ];
  for (const [name, cell, most] of table) {
    const members = coded(cell);
    const limits = new Map(members.map((member, at) => [member, Number(most.split(", ")[at])]));
    assert.equal(most.split(", ").length, members.length);
    for (const member of members) {
      assert.deepEqual(
        kept(coded(name)[0], [member], () => limits.get(member)),
        [member],
      );
      assert.deepEqual(
        kept(coded(name)[0], [member], () => limits.get(member) + 1),
        [],
      );
    }
    assert.deepEqual(
      kept(coded(name)[0], every, () => 1),
      members.filter((member) => member !== "message"),
    );
  }
});

test("each hook has a meaning, and the mark and settings are those of the code", () => {
  const meanings = rows(section(hooks, "## What it means for a row")).map(([name]) => coded(name)[0]);
  assert.deepEqual(meanings, Object.keys(hookSettings().hooks));
  const [
    {
      hooks: [hook],
    },
  ] = hookSettings({ command: "" }).hooks.Stop;
  assert.ok(hooks.includes(`\`${hook.command.trim()}\``));
  assert.ok(hooks.includes(`{type: "command", command, async: ${hook.async}, timeout: ${hook.timeout}}`));
  const example = JSON.parse(blocks(hooks, "json")[0]);
  const made = spoolFile(JSON.stringify({ ...example.event, tool_input: {} }), example.receivedAt);
  assert.deepEqual(made, example);
});
