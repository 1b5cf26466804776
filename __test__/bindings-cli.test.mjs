// The command `agent-lifecycle bindings`.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { BindingStore } from "agent-lifecycle";

const command = path.join(import.meta.dirname, "../dist/cli/main.js");
const run = (...args) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, "bindings", ...args], {
    encoding: "utf8",
  });
  return { status, stdout, stderr };
};

const HIDDEN = [
  "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
  "native-secret",
  "/locator/secret",
  "native-orphan",
];

/** A store with two bindings, one of them with what must never be shown, and one claim. */
async function filled(t) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "bindings-cli-")));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, "bindings.db");
  const store = await BindingStore.open(file);
  t.after(() => store.close());
  const [token, nativeSessionId, value, orphan] = HIDDEN;
  const adapterId = "codex";
  await store.create({
    productSessionId: "ps_1",
    runtimeInstanceId: "main",
    adapterId,
    state: "error",
    nativeSessionId,
    locator: { kind: "local-file", value },
    metadata: { token, nested: { token } },
    diagnostic: {
      code: "crashed",
      phase: "open",
      at: "2026-05-17T22:29:21Z",
      message: `it said token=${token}`,
    },
  });
  await store.create({ productSessionId: "ps_2\u001b[31m", runtimeInstanceId: "main", adapterId });
  await store.claim("ps_1", { repair: true });
  await store.recordOrphan({ productSessionId: "ps_1", adapterId, nativeSessionId: orphan });
  return { file, store };
}

/** Runs it both ways, looks for what must not be there, and gives the text and the value. */
function both(...args) {
  const [text, json] = [run(...args), run(...args, "--json")];
  for (const { stdout, stderr } of [text, json])
    for (const hidden of HIDDEN)
      assert.ok(!(stdout + stderr).includes(hidden), `${hidden} in ${stdout}${stderr}`);
  assert.equal(text.status, json.status, text.stderr + json.stderr);
  return { status: text.status, text: text.stdout, value: JSON.parse(json.stdout) };
}

test("list shows every binding, and inspect and history one, without what is the adapter's", async (t) => {
  const { file } = await filled(t);
  const list = both("list", file);
  assert.equal(list.status, 0);
  const [head, first, second] = list.text.split("\n");
  assert.match(head, /^SESSION +STATE +ADAPTER +INSTANCE +REVISION +GENERATION +OWNER +UPDATED$/);
  assert.match(first, new RegExp(`^ps_1 +error +codex +main +2 +1 +pid ${process.pid}, alive +\\d`));
  assert.match(second, /^ps_2\[31m +unbound +codex +main +1 +0 +none +\d/);
  assert.deepEqual(
    list.value.bindings.map((one) => [one.productSessionId, one.state, one.hasNativeSession]),
    [
      ["ps_1", "error", true],
      ["ps_2\u001b[31m", "unbound", false],
    ],
  );
  const inspected = both("inspect", file, "ps_1");
  assert.equal(inspected.status, 0);
  assert.match(inspected.text, /^metadataKeys +nested, token$/m);
  assert.match(
    inspected.text,
    /^diagnostic +crashed \(open, 2026-05-17T22:29:21Z\): it said token=\[REDACTED\]$/m,
  );
  assert.deepEqual(inspected.value, list.value.bindings[0]);
  const told = both("history", file, "ps_1");
  assert.deepEqual(
    told.value.map((one) => [one.change, one.revision, one.hasNativeSession]),
    [
      ["created", 1, true],
      ["claimed", 2, true],
      ["orphaned", 2, true],
    ],
  );
  assert.match(told.text, /^2 +1 +claimed +error +yes +\d/m);
});

test("repair frees what the dead own, and what is named; a dry run only looks", async (t) => {
  const { file, store } = await filled(t);
  const held = both("repair", file, "--dry-run");
  assert.deepEqual([held.status, held.value.owned, held.value.freed], [0, ["ps_1"], []]);
  assert.match(held.text, /2 bindings can be read\nstays claimed, its owner is not provably dead: ps_1\n/);
  await store.close();
  // A process that is killed leaves its claim.
  const script = `const { BindingStore } = require(${JSON.stringify(path.join(import.meta.dirname, "../index.js"))});
    BindingStore.open(${JSON.stringify(file)}).then(async (store) => {
      await store.claim("ps_1", { repair: true });
      process.kill(process.pid, "SIGKILL");
    });`;
  spawnSync(process.execPath, ["--eval", script]);
  assert.match(run("repair", file, "--dry-run").stdout, /^would free ps_1$/m);
  assert.match(run("repair", file).stdout, /^freed ps_1$/m);
  assert.doesNotMatch(run("repair", file).stdout, /freed/);
  const history = JSON.parse(run("history", file, "ps_1", "--json").stdout);
  assert.equal(history.at(-1).change, "freed");
  const again = await BindingStore.open(file);
  t.after(() => again.close());
  await again.claim("ps_1", { repair: true });
  const named = both("repair", file, "--dry-run", "--release", "ps_1");
  assert.deepEqual([named.value.freed, named.value.owned], [["ps_1"], []]);
  assert.match(run("repair", file, "--release", "ps_1").stdout, /^freed ps_1$/m);
  const unknown = run("repair", file, "--release", "ps_9");
  assert.deepEqual([unknown.status, unknown.stdout], [2, ""]);
  assert.match(unknown.stderr, /there is no binding of ps_9/);
});

test("one binding is counted as one", async (t) => {
  const { file, store } = await filled(t);
  await store.close();
  const one = path.join(path.dirname(file), "one.db");
  const other = await BindingStore.open(one);
  await other.create({ productSessionId: "ps_1", runtimeInstanceId: "main", adapterId: "codex" });
  await other.close();
  assert.match(run("repair", one).stdout, /^1 binding can be read\n/);
});

test("a damaged row is told with its id, and the others are shown", async (t) => {
  const { file, store } = await filled(t);
  await store.create({ productSessionId: "ps_3", runtimeInstanceId: "main", adapterId: "codex" });
  await store.close();
  const bytes = fs.readFileSync(file, "latin1");
  const row = "ps_3maincodexunbound";
  assert.equal(bytes.split(row).length, 2);
  fs.writeFileSync(file, bytes.replace(row, "ps_3maincodexunbxund"), "latin1");
  const list = both("list", file);
  assert.equal(list.status, 1);
  assert.match(list.text, /^damaged: ps_3: a member is no value$/m);
  assert.equal(list.value.bindings.length, 2);
  assert.deepEqual(list.value.corrupt, [{ productSessionId: "ps_3", what: "a member is no value" }]);
  const inspected = run("inspect", file, "ps_3");
  assert.deepEqual([inspected.status, inspected.stdout], [1, ""]);
  assert.match(inspected.stderr, /^agent-lifecycle: the stored binding of ps_3 is damaged/);
  const repaired = both("repair", file);
  assert.equal(repaired.status, 1);
  assert.match(repaired.text, /^file: CHECK constraint failed in bindings$/m);
  assert.equal(run("inspect", file, "ps_1").status, 0);
  const again = await BindingStore.open(file);
  t.after(() => again.close());
  await assert.rejects(again.list(), { code: "binding_corrupt", correlationId: "ps_3" });
});

test("unusable arguments and files", async (t) => {
  const { file } = await filled(t);
  fs.writeFileSync(`${file}.empty`, "");
  for (const args of [
    [],
    ["toString", file],
    ["list"],
    ["list", file, "ps_1"],
    ["list", file, "--dry-run"],
    ["list", file, "--unknown"],
    ["inspect", file],
    ["inspect", file, "ps_9"],
    ["inspect", file, "ps_1", "ps_2"],
    ["history", file, "ps_9"],
    ["list", `${file}.absent`],
    ["list", `${file}.empty`],
    ["list", path.dirname(file)],
    ["list", command],
  ]) {
    const { status, stdout, stderr } = run(...args);
    assert.deepEqual([status, stdout], [2, ""], args.join(" "));
    assert.match(stderr, /^agent-lifecycle: /, args.join(" "));
  }
  assert.equal(fs.existsSync(`${file}.absent`), false);
  assert.equal(fs.statSync(`${file}.empty`).size, 0);
});
