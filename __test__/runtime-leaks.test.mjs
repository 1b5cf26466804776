// Sessions that are opened, prompted, aborted and disposed of leave nothing behind: some of them here, a thousand in `npm run soak:runtime`.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";

const root = path.dirname(import.meta.dirname);
const SESSIONS = 50;

test("no process, descriptor, timer, listener, folder, claim, row or memory is left", () => {
  const args = ["--expose-gc", "benches/runtime-soak.mjs", `${SESSIONS}`];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  const { sessions, statuses, before, rows, bindings, leaks, problems } = JSON.parse(stdout);
  assert.deepEqual([leaks, problems], [[], []]);
  assert.deepEqual([sessions, statuses], [SESSIONS, { interrupted: SESSIONS }]);
  // Each is still known, and none is at work or claimed.
  assert.deepEqual([rows.all, rows.monitor, rows.active], [SESSIONS, SESSIONS, 0]);
  assert.deepEqual(rows.states, { cancelled: SESSIONS });
  assert.deepEqual(bindings, { all: SESSIONS, owned: 0, natives: SESSIONS });
  // Something is counted, or nothing could be missed.
  if (process.platform === "linux") assert.ok(before.descriptors > 3 && before.mappings > 0, stdout);
});
