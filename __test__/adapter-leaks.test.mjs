// Processes that are started and closed leave nothing behind: as many as fit in a few seconds; `npm run soak:adapter` runs a thousand.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";

const root = path.dirname(import.meta.dirname);

test("no descriptor, thread, process, timer or memory is left", () => {
  const args = ["--expose-gc", "benches/adapter-soak.mjs", "--seconds=4"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  const { cycles, before, leaks } = JSON.parse(stdout);
  assert.deepEqual(leaks, []);
  assert.ok(cycles >= 4, `${cycles}`);
  // Something is counted, or nothing could be missed.
  if (process.platform === "linux") assert.ok(before.descriptors > 3 && before.threads > 1, stdout);
});
