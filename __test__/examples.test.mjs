// The examples run as they stand.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";

const root = path.dirname(import.meta.dirname);
const session = path.join(root, "fixtures", "claude-code", "three-subagents", "0-bytes.jsonl");

test("the minimal host shows a session as it grows, in another process, and ends when it is told to", async (t) => {
  const folder = fs.mkdtempSync(path.join(tmpdir(), "agent-lifecycle-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, "session.jsonl");
  const lines = fs.readFileSync(session, "utf8").trimEnd().split("\n");
  fs.writeFileSync(file, `${lines[0]}\n`);
  const host = spawn(process.execPath, [path.join(root, "examples/minimal-host/host.mjs"), file], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, XDG_STATE_HOME: path.join(folder, "state") },
  });
  t.after(() => host.kill("SIGKILL"));
  let said = "";
  host.stdout.setEncoding("utf8").on("data", (text) => (said += text));
  const seen = async (pattern) => {
    while (!pattern.test(said)) await once(host.stdout, "data");
  };
  for (const [at, line] of lines.slice(1).entries()) {
    fs.appendFileSync(file, `${line}\n`);
    if (at === 0) await seen(/^working \w+ /m);
  }
  await seen(/^idle waiting Review the release candidate$/m);
  await seen(/^done completed Run the test suite$/m);
  host.kill("SIGTERM");
  assert.deepEqual(await once(host, "close"), [0, null]);
});
