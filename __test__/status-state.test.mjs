// What a status, a monitor and the command say of the same state directory is the same.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { openMonitor, openPublisher, readStatus } from "agent-lifecycle";
import { stateDirectory } from "../dist/state-directory.js";

const agent = path.join(import.meta.dirname, "support", "publishing-agent.mjs");
const cli = path.join(import.meta.dirname, "..", "dist", "cli", "main.js");
const isWindows = process.platform === "win32";

/** A home of its own, in the environment of this process too, which has no places of agents elsewhere. */
function home(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "status-"));
  const names = ["HOME", "XDG_STATE_HOME", "LOCALAPPDATA", "USERPROFILE", "CLAUDE_CONFIG_DIR", "CODEX_HOME"];
  const before = names.map((name) => process.env[name]);
  for (const name of names) process.env[name] = folder;
  t.after(() => {
    for (const [at, name] of names.entries()) {
      if (before[at] === undefined) delete process.env[name];
      else process.env[name] = before[at];
    }
    fs.rmSync(folder, { recursive: true });
  });
  return folder;
}

const files = () => {
  const journals = path.join(stateDirectory(), "journals");
  const names = fs.readdirSync(journals).filter((name) => name.endsWith(".jsonl"));
  return names.map((name) => path.join(journals, name));
};
const linesOf = (file) =>
  fs
    .readFileSync(file, "utf8")
    .split("\n")
    // What stands behind the last line end is being written.
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** What an answer to "how is it" must agree on. */
const shown = ({ source, state, waitingReason, title, evidence }) => ({
  source,
  state,
  waitingReason,
  title,
  evidence,
});

const sorted = (list) => list.map(shown).toSorted((a, b) => a.title.localeCompare(b.title));

const run = (...args) => spawnSync(process.execPath, [cli, ...args], { encoding: "utf8" }).stdout;

const of = ({ state, freshness: { stale, reconcile } }) => [state, stale, reconcile];

test("status, readStatus and a monitor show the same of a publisher that lives and of one that is gone", async (t) => {
  const folder = home(t);
  const publisher = openPublisher({ agent: "my-agent", onError: (error) => assert.fail(error) });
  t.after(() => publisher.close());
  publisher.sessionStarted({ title: "Sort the inbox" });
  publisher.turnStarted({ turnId: "t1" });
  publisher.waitStarted({ waitId: "w", state: "waiting", reason: "question" });
  // This one ends in an open turn.
  spawnSync(process.execPath, [agent, "Sort the attic", "close"]);
  const written = (file) => linesOf(file).some(({ state }) => state === "waiting");
  while (!files().some(written)) await new Promise((resolve) => setTimeout(resolve, 5));
  const names = fs.readdirSync(folder, { recursive: true });
  const { rows, evidence } = await readStatus({ home: folder });
  assert.equal(evidence, true);
  const command = spawnSync(process.execPath, [cli, "status", "--json"], { encoding: "utf8" });
  const monitor = await openMonitor({ home: folder, onDiagnostic: () => {} });
  const watched = monitor.rows();
  const why = monitor.explain(rows.find(({ title }) => title === "Sort the inbox").key);
  await monitor.close();
  assert.deepEqual(
    sorted(rows).map(({ state, waitingReason, evidence: { processAlive } }) => [
      state,
      waitingReason,
      processAlive,
    ]),
    [
      ["running", null, isWindows ? "unknown" : "no"],
      ["waiting", "question", "yes"],
    ],
  );
  assert.deepEqual(sorted(JSON.parse(command.stdout).rows), sorted(rows));
  assert.deepEqual(sorted(watched), sorted(rows));
  assert.deepEqual(fs.readdirSync(folder, { recursive: true }), names, "nothing is written");
  // And why: the event in the publisher's journal that says so.
  const [journal] = files().filter(written);
  const last = why.evidence.at(-1);
  const { eventId, kind } = linesOf(journal).findLast(({ state }) => state === "waiting");
  assert.deepEqual(
    [last.journal, last.eventId, last.recordType, last.effect],
    [journal, eventId, kind, "waiting question"],
  );
  const at = fs.readFileSync(journal).subarray(last.offset).toString().split("\n")[0];
  assert.equal(JSON.parse(at).eventId, eventId);
  assert.equal(why.freshness.evidence.eventId, eventId);
});

test(
  "what reads once asks nobody about a publisher that died in an open turn, and a monitor waits for its deadline",
  { skip: isWindows && "nothing proves a death" },
  async (t) => {
    const folder = home(t);
    // It is closed without a word of its turn.
    spawnSync(process.execPath, [agent, "Sort the attic", "close"]);
    const once = ["running", false, "unavailable"];
    const { rows } = await readStatus({ home: folder });
    assert.deepEqual(rows.map(of), [once]);
    assert.deepEqual(JSON.parse(run("status", "--json")).rows.map(of), [once]);
    assert.match(run("status"), /^running .*process dead, .* ago, no way to ask/m);
    const [{ key }] = rows;
    const { row, explanation } = JSON.parse(run("explain", key, "--json"));
    assert.deepEqual(of(row), once);
    assert.deepEqual(explanation.reconciliation, { reason: "process_dead", asked: "unasked" });
    const said = run("explain", key);
    assert.match(said, /^asked +because of process_dead; this program asked nobody$/m);
    assert.match(said, /^evidence .*process dead, .* ago, no way to ask$/m);
    const monitor = await openMonitor({ home: folder, onDiagnostic: () => {} });
    const watched = monitor.rows().map(of);
    await monitor.close();
    assert.deepEqual(watched, [["running", false, "pending"]]);
  },
);

const record = (type, more) =>
  `${JSON.stringify({ type, sessionId: "s", uuid: type, timestamp: new Date().toISOString(), ...more })}\n`;

test("readStatus names its own option", async () => {
  for (const activeWithinMs of [-1, 0.5, Number.NaN])
    await assert.rejects(readStatus({ activeWithinMs }), {
      code: "invalid_option",
      path: "activeWithinMs",
      message: /^activeWithinMs /u,
    });
});

test("readStatus has the content levels of a monitor", async (t) => {
  const folder = home(t);
  const file = path.join(folder, "s.jsonl");
  const prompt = { promptId: "p", message: { role: "user", content: "Hidden words." } };
  fs.writeFileSync(file, record("user", prompt) + record("ai-title", { aiTitle: "A title" }));
  const titles = async (content) => {
    const [read] = (await readStatus({ sources: [file], content })).rows;
    const monitor = await openMonitor({ sources: [file], content });
    const [watched] = monitor.rows();
    await monitor.close();
    assert.equal(read.title, watched.title);
    return read.title;
  };
  assert.deepEqual(
    [await titles("none"), await titles("titles"), await titles(undefined)],
    [null, "A title", "A title"],
  );
  await assert.rejects(readStatus({ sources: [file], content: "all" }), {
    code: "invalid_option",
    path: "content",
  });
  await assert.rejects(readStatus({ sources: [file, ""] }), { code: "invalid_option", path: "sources[1]" });
});
