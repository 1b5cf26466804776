// `watch` and `explain` over real files: what they say is what `status` says, and offsets are where the records are.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { createRowStore } from "agent-lifecycle/client";

const root = path.dirname(import.meta.dirname);
const command = path.join(root, "dist/cli/main.js");

function temporary(t) {
  const folder = fs.mkdtempSync(path.join(tmpdir(), "agent-lifecycle-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const env = {
    ...process.env,
    HOME: folder,
    USERPROFILE: folder,
    XDG_STATE_HOME: path.join(folder, "state"),
  };
  return { folder, env };
}

const told = ({ key, parentKey, state, stateSince, waitingReason, title, turn, tools, place, outcome }) => ({
  key,
  parentKey,
  state,
  stateSince,
  waitingReason,
  title,
  turn,
  tools,
  place,
  outcome,
});

for (const [provider, name] of [
  ["claude-code", "background-agents"],
  ["codex", "spawned-children"],
]) {
  test(`the changes of a growing ${provider} session add up to the rows of status`, async (t) => {
    const { folder, env } = temporary(t);
    const from = path.join(root, "fixtures", provider, name);
    const sources = fs.readdirSync(from).filter((file) => file.startsWith("0-bytes"));
    const target = path.join(folder, "session");
    fs.mkdirSync(target);
    const files = sources.flatMap((entry) => {
      const stat = fs.statSync(path.join(from, entry));
      if (stat.isFile()) return [entry];
      return fs
        .readdirSync(path.join(from, entry), { recursive: true })
        .map((below) => path.join(entry, below))
        .filter((below) => fs.statSync(path.join(from, below)).isFile());
    });
    const parts = files.map((file) => {
      const bytes = fs.readFileSync(path.join(from, file));
      fs.mkdirSync(path.dirname(path.join(target, file)), { recursive: true });
      // The cut is somewhere in a line.
      const cut = Math.floor(bytes.length / 2);
      fs.writeFileSync(path.join(target, file), bytes.subarray(0, cut));
      return [path.join(target, file), bytes.subarray(cut)];
    });
    const child = spawn(process.execPath, [command, "watch", target, "--jsonl"], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    t.after(() => child.kill("SIGKILL"));
    const store = createRowStore();
    let rest = "";
    const more = async () => {
      const [text] = await once(child.stdout, "data");
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const line of lines) store.apply(JSON.parse(line));
    };
    child.stdout.setEncoding("utf8");
    await more();
    for (const [file, bytes] of parts) fs.appendFileSync(file, bytes);
    const { stdout } = spawnSync(process.execPath, [command, "status", target, "--json"], {
      encoding: "utf8",
      env,
    });
    const expected = JSON.parse(stdout).rows.map(told);
    assert.ok(expected.length > 1);
    while (JSON.stringify(store.snapshot().map(told)) !== JSON.stringify(expected)) await more();
    child.kill("SIGTERM");
    assert.deepEqual(await once(child, "close"), [0, null]);
  });
}

test("explain names places at which the records are", (t) => {
  const { env } = temporary(t);
  const session = path.join(root, "fixtures/claude-code/three-subagents");
  const run = (...args) =>
    spawnSync(process.execPath, [command, "explain", ...args], { encoding: "utf8", env });
  const { stdout, stderr, status } = run("a7ee1164", session, "--json");
  assert.deepEqual([stderr, status], ["", 0]);
  const { key, explanation, row } = JSON.parse(stdout);
  assert.deepEqual([key, explanation.state], [row.key, "waiting"]);
  assert.ok(explanation.evidence.length > 2);
  for (const { journal, offset, recordType } of explanation.evidence) {
    const [line] = fs.readFileSync(journal).subarray(offset).toString().split("\n", 1);
    assert.equal(JSON.parse(line).type, recordType);
  }
  assert.match(run("a7ee1164", session).stdout, /^state +waiting prompt since 2026-03-03T14:01:20\.550Z /m);
  assert.equal(run("nobody", session).status, 2);
});

test("a path that is not there is named, and nothing hangs", (t) => {
  const { folder, env } = temporary(t);
  for (const args of [
    ["watch", path.join(folder, "none")],
    ["explain", "a", path.join(folder, "none")],
  ]) {
    const { status, stderr } = spawnSync(process.execPath, [command, ...args], {
      encoding: "utf8",
      env,
      timeout: 20_000,
    });
    assert.equal(status, 2);
    assert.match(stderr, /^agent-lifecycle: .*none/);
  }
});
