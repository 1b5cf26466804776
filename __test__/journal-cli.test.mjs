// The commands `agent-lifecycle journal` and `agent-lifecycle tail`.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { event, note, state } from "./support/events.mjs";

const command = path.join(import.meta.dirname, "../dist/cli/main.js");
const run = (...args) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], { encoding: "utf8" });
  return { status, stdout, stderr };
};

function place(t) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "journal-cli-")));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, "j.jsonl");
}

const line = (value, journalSequence) => `${JSON.stringify({ ...value, journalSequence })}\n`;

test("verify, repair, replay and rotate", (t) => {
  const file = place(t);
  const first = line(event(), 1);
  fs.writeFileSync(file, `${first}damage\n${line(note("e2", "heartbeat"), 5)}`);
  const damaged = run("journal", "verify", file);
  assert.equal(damaged.status, 1);
  assert.match(damaged.stdout, /^.*j\.jsonl: damaged, 2 entries, 1 to 5\n {2}no entries between 1 and 5\n/);
  assert.match(damaged.stdout, new RegExp(`  offset ${first.length}: malformed: `));
  const repaired = run("journal", "repair", file);
  assert.equal(repaired.status, 0);
  assert.match(repaired.stdout, /repaired, 2 entries kept, 0 renumbered, 1 in quarantine\n/);
  assert.match(repaired.stdout, /what was no event is in .*j\.jsonl\.quarantine-1\n$/);
  assert.match(run("journal", "repair", file).stdout, /valid, nothing was changed\n$/);
  const verified = JSON.parse(run("journal", "verify", file, "--json").stdout);
  assert.deepEqual([verified.valid, verified.entries, verified.lastSequence], [true, 3, 6]);
  const replayed = run("journal", "replay", file);
  assert.equal(replayed.status, 0);
  assert.match(replayed.stdout, /3 entries: 3 applied\n {2}.* created\n$/);
  assert.equal(run("journal", "rotate", file).status, 2);
  const rotated = run("journal", "rotate", file, "--no-shared-writers", "--keep", "2");
  assert.equal(rotated.status, 0, rotated.stderr);
  assert.match(rotated.stdout, /the old ones are in .*j\.jsonl\.1\n$/);
  const again = JSON.parse(run("journal", "replay", file, "--json").stdout);
  assert.deepEqual(
    again.rows.map((row) => row.state),
    ["created"],
  );
});

test("unusable arguments", (t) => {
  const file = place(t);
  for (const args of [
    ["journal"],
    ["journal", "toString", file],
    ["journal", "verify"],
    ["journal", "verify", file],
    ["journal", "verify", file, file],
    ["journal", "verify", "--what"],
    ["tail"],
    ["tail", file],
  ]) {
    const { status, stderr } = run(...args);
    assert.equal(status, 2, args.join(" "));
    assert.match(stderr, /^agent-lifecycle: /);
  }
});

test("tail shows what is there, what is added, and what a rotation puts in its place", async (t) => {
  const file = place(t);
  fs.writeFileSync(file, line(event({ activity: "begins\u001b[31m" }), 1));
  const shown = run("tail", file, "--no-follow");
  assert.equal(shown.status, 0);
  assert.match(shown.stdout, /^2026-05-17T22:29:21Z source\/child created begins.*\n$/);
  assert.ok(!shown.stdout.includes("\u001b"));
  const child = spawn(process.execPath, [command, "tail", file, "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill());
  let said = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text) => (said += text));
  const seen = async (eventId) => {
    while (!said.includes(`"eventId":"${eventId}"`)) await once(child.stdout, "data");
  };
  await seen("e1");
  const half = line(note("e2", "heartbeat"), 2);
  fs.appendFileSync(file, half.slice(0, 20));
  fs.appendFileSync(file, half.slice(20));
  await seen("e2");
  // What is written just before a rotation is shown, then what is in the new file.
  fs.appendFileSync(file, line(note("e2b", "heartbeat"), 3));
  fs.writeFileSync(`${file}.new`, line(note("e3", "heartbeat"), 3));
  fs.renameSync(`${file}.new`, file);
  await seen("e3");
  const ids = said
    .trimEnd()
    .split("\n")
    .map((text) => JSON.parse(text).eventId);
  assert.deepEqual(ids, ["e1", "e2", "e2b", "e3"]);
});

test("tail names lines that are no events, and shows those around them", (t) => {
  const file = place(t);
  fs.writeFileSync(file, `${line(event(), 1)}nonsense\n${line(state("e2", "starting"), 2)}{"half`);
  const { stdout, stderr, status } = run("tail", file, "--no-follow");
  assert.deepEqual(
    stdout
      .trimEnd()
      .split("\n")
      .map((text) => text.replace(/^\S+ /, "")),
    ["source/child created", "source/child state_changed starting"],
  );
  assert.match(
    stderr,
    /^agent-lifecycle: offset \d+: malformed: .*\nagent-lifecycle: offset \d+: truncated: .*\n$/,
  );
  assert.equal(status, 1);
});
