// What has a thread of its own gives its stack back when it is closed: a host that lives for weeks opens many.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { BindingStore, JsonlLifecycleJournal, openPublisher } from "agent-lifecycle";

/** Mappings of the process: a stack that is kept is two of them. */
const mappings = () => fs.readFileSync("/proc/self/maps", "utf8").split("\n").length;
const skip = process.platform === "linux" ? false : "mappings are counted in /proc";
const TIMES = 80;

for (const [what, openAndClose] of [
  ["journal", (folder, at) => new JsonlLifecycleJournal(path.join(folder, `${at}.jsonl`)).close()],
  [
    "store of bindings",
    async (folder) => (await BindingStore.open(path.join(folder, "bindings.db"))).close(),
  ],
  ["publisher", (folder) => openPublisher({ agent: "a", cwd: folder, onError: assert.fail }).close()],
]) {
  test(`a ${what} that is closed keeps no stack of a thread`, { skip }, async (t) => {
    const folder = fs.mkdtempSync(path.join(tmpdir(), "agent-lifecycle-closed-"));
    const before = process.env.XDG_STATE_HOME;
    process.env.XDG_STATE_HOME = folder;
    t.after(() => {
      if (before === undefined) delete process.env.XDG_STATE_HOME;
      else process.env.XDG_STATE_HOME = before;
      fs.rmSync(folder, { recursive: true });
    });
    // The system keeps a few stacks to use them again.
    for (let at = 0; at < 4; at += 1) await openAndClose(folder, at);
    const first = mappings();
    for (let at = 0; at < TIMES; at += 1) await openAndClose(folder, at);
    assert.ok(mappings() - first < TIMES, `${mappings() - first} mappings after ${TIMES} lives`);
  });
}
