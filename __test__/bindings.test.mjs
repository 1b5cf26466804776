// The store of bindings through the addon: values, faults, claims among threads and processes (cases A5 and S8).
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { BindingError, BindingStore, LifecycleError } from "agent-lifecycle";

const SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
const index = path.join(import.meta.dirname, "../index.js");

/** A path in a folder that is removed after the test. */
function place(t) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "bindings-")));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, "bindings.db");
}

/** A store that is closed after the test. */
async function open(t, file, options) {
  const store = await BindingStore.open(file, options);
  t.after(() => store.close());
  return store;
}

const binding = (members = {}) => ({
  productSessionId: "ps_1",
  runtimeInstanceId: "main",
  adapterId: "codex",
  ...members,
});
const bound = (members = {}) => binding({ state: "bound", nativeSessionId: "native-1", ...members });

/** The fault of a promise that rejects with this code. */
async function fault(promise, code) {
  const error = await promise.then(
    () => undefined,
    (reason) => reason,
  );
  assert.ok(error instanceof BindingError && error instanceof LifecycleError, `${error}`);
  assert.equal(error.code, code, error.message);
  assert.equal(error.phase, "store");
  return error;
}

test("a binding is created, read, updated, shown and remembered", async (t) => {
  const file = place(t);
  const store = await open(t, file);
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  const metadata = { b: [1, null, { c: "é" }], a: -0.5, ["__proto__"]: "own" };
  const made = await store.create(binding({ protocol: " acp ", protocolVersion: "", metadata }));
  const { createdAt, updatedAt, ...rest } = made;
  assert.equal(createdAt, updatedAt);
  assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000);
  assert.deepEqual(rest, {
    ...binding({
      state: "unbound",
      protocol: "acp",
      metadata: { ["__proto__"]: "own", a: -0.5, b: metadata.b },
    }),
    revision: 1,
    generation: 0,
  });
  // Values are copies: changing one changes nothing.
  made.metadata.a = 7;
  assert.equal((await store.get("ps_1")).metadata.a, -0.5);
  assert.equal(await store.get("ps_2"), undefined);
  assert.equal(await store.inspect("ps_2"), undefined);
  assert.deepEqual(await store.history("ps_2"), []);

  const read = await store.get(" ps_1 ");
  const locator = { kind: "local-file", value: "/locator-value" };
  const next = await store.update(
    { ...read, state: "bound", nativeSessionId: "native-1", locator },
    { expectedRevision: read.revision },
  );
  assert.equal(next.revision, 2);
  assert.deepEqual(await store.update(next, { expectedRevision: 2 }), next);
  assert.deepEqual(await store.list({ adapterId: "codex", state: "bound" }), [next]);
  assert.deepEqual(await store.list({ runtimeInstanceId: "other" }), []);

  const shown = await store.inspect("ps_1");
  assert.deepEqual(
    [shown.hasNativeSession, shown.locatorKind, shown.metadataKeys, shown.owner],
    [true, "local-file", ["__proto__", "a", "b"], undefined],
  );
  for (const hidden of ["nativeSessionId", "locator", "metadata"]) assert.equal(hidden in shown, false);
  assert.deepEqual(
    (await store.history("ps_1")).map((one) => [one.change, one.revision, one.mode, one.nativeSessionId]),
    [
      ["created", 1, undefined, undefined],
      ["updated", 2, "normal", "native-1"],
    ],
  );
});

test("faults say what, of which binding, and nothing that is the adapter's", async (t) => {
  const store = await open(t, place(t));
  await store.create(
    bound({ metadata: { token: SECRET }, locator: { kind: "uri", value: "locator-value" } }),
  );
  await store.create(binding({ productSessionId: "ps_2" }));
  const given = { metadata: { token: SECRET }, locator: { kind: "uri", value: "locator-value" } };
  const two = (members) => bound({ productSessionId: "ps_2", ...given, ...members });
  const details = async (promise, code) => {
    const error = await fault(promise, code);
    const text = JSON.stringify(error) + error.stack + JSON.stringify(error.cause);
    for (const hidden of [SECRET, "locator-value", "native-1", "native-2"])
      assert.ok(!text.includes(hidden), `${hidden} in ${text}`);
    return { ...error.details };
  };
  const revision = (expectedRevision, more) => ({ expectedRevision, ...more });
  assert.deepEqual(await details(store.create(bound(given)), "binding_exists"), { productSessionId: "ps_1" });
  assert.deepEqual(await details(store.update(two(), revision(1)), "binding_native_taken"), {
    productSessionId: "ps_2",
    otherSessionId: "ps_1",
    rule: 7,
  });
  assert.deepEqual(await details(store.update(two(), revision(9)), "binding_conflict"), {
    productSessionId: "ps_2",
    expectedRevision: 9,
    actualRevision: 1,
  });
  assert.deepEqual(
    await details(store.update(bound({ nativeSessionId: "native-2" }), revision(1)), "binding_transition"),
    {
      productSessionId: "ps_1",
      from: "bound",
      to: "bound",
      mode: "normal",
      rule: 5,
    },
  );
  await store.claim("ps_1");
  const rebind = revision(2, { mode: "rebind" });
  assert.deepEqual(
    await details(store.update(bound({ nativeSessionId: "native-2" }), rebind), "binding_owned"),
    {
      productSessionId: "ps_1",
      currentGeneration: 1,
    },
  );
  const old = revision(2, { generation: 0 });
  assert.deepEqual(await details(store.update(bound(), old), "binding_fenced"), {
    productSessionId: "ps_1",
    generation: 0,
    currentGeneration: 1,
  });
  assert.deepEqual(await details(store.claim("ps_3"), "binding_not_found"), { productSessionId: "ps_3" });
  const cyclic = { ...given };
  cyclic.metadata.self = cyclic;
  for (const [value, member] of [
    [bound({ nativeSesionId: "native-2" }), "binding"],
    [bound({ metadata: [SECRET] }), "metadata"],
    [bound({ nativeSessionId: "native-2\ud800" }), "binding"],
    [bound({ runtimeInstanceId: "Main" }), "runtimeInstanceId"],
    [bound(cyclic), "binding"],
    [bound({ metadata: { big: 1n } }), "binding"],
    [null, "binding"],
    ["ps_1", "binding"],
  ])
    assert.deepEqual(await details(store.create(value), "binding_invalid"), { member });
  const { state: _, ...stateless } = bound();
  assert.deepEqual(await details(store.update(stateless, revision(2)), "binding_invalid"), {
    member: "state",
  });
  assert.deepEqual(await details(store.update(bound(), {}), "binding_invalid"), {
    member: "expectedRevision",
  });
  await assert.rejects(store.update(bound(), { expectedrevision: 2 }), { code: "invalid_option" });
  await assert.rejects(store.get(7), { code: "invalid_argument" });
  const error = await fault(store.claim("ps_3"), "binding_not_found");
  assert.equal(error.correlationId, "ps_3");
  assert.deepEqual(Object.keys(error.toJSON()), [
    "name",
    "code",
    "phase",
    "message",
    "correlationId",
    "details",
  ]);
});

test("A5: a late write and a late release of an older generation have no effect", async (t) => {
  const file = place(t);
  const [store, other] = [await open(t, file), await open(t, file)];
  await store.create(bound());
  const first = await store.claim("ps_1");
  assert.deepEqual([first.generation, first.binding.revision], [1, 2]);
  await fault(other.claim("ps_1"), "binding_owned");
  assert.equal(await first.release(), true);
  const second = await other.claim("ps_1");
  assert.equal(second.generation, 2);
  const late = bound({ state: "missing" });
  await fault(store.update(late, { expectedRevision: 2, generation: 1 }), "binding_conflict");
  await fault(store.update(late, { expectedRevision: 3, generation: 1 }), "binding_fenced");
  assert.equal(await first.release(), false);
  assert.deepEqual(await store.get("ps_1"), second.binding);
  assert.deepEqual((await store.inspect("ps_1")).owner, { pid: process.pid, status: "alive" });
  await other.close();
  assert.equal(await second.release(), false);
  assert.equal((await store.claim("ps_1")).generation, 3);
});

test("a missing binding is claimed for repair only", async (t) => {
  const store = await open(t, place(t));
  await store.create(bound());
  await store.update(bound({ state: "missing" }), { expectedRevision: 1 });
  await fault(store.claim("ps_1"), "binding_missing");
  const { generation, binding: claimed } = await store.claim("ps_1", { repair: true });
  const options = { expectedRevision: claimed.revision, mode: "repair" };
  await fault(store.update(bound(), options), "binding_owned");
  assert.equal((await store.update(bound(), { ...options, generation })).state, "bound");
});

test("a reservation is kept, consumed and given up", async (t) => {
  const store = await open(t, place(t));
  await store.create(binding());
  const native = { productSessionId: "ps_1", adapterId: "codex", nativeSessionId: " native-1 " };
  const kept = await store.reserveNative(native);
  assert.deepEqual([kept.durable, kept.nativeSessionId], [false, "native-1"]);
  await fault(store.create(bound({ productSessionId: "ps_2" })), "binding_native_taken");
  await store.update(bound(), { expectedRevision: 1 });
  assert.equal(await kept.release(), false);
  const other = await store.reserveNative({ ...native, nativeSessionId: "native-2" });
  assert.equal(await other.release(), true);
  await store.recordOrphan({ ...native, nativeSessionId: "native-3" });
  assert.deepEqual(
    (await store.history("ps_1")).map((one) => [one.change, one.nativeSessionId]),
    [
      ["created", undefined],
      ["updated", "native-1"],
      ["orphaned", "native-3"],
    ],
  );
});

/** Opens the store, claims `ps_1`, says so, and waits. */
const holder = (file, then = "") => `
  const { BindingStore } = require(${JSON.stringify(index)});
  const say = (word) => require("node:worker_threads").parentPort?.postMessage(word) ?? console.log(word);
  const wait = setInterval(() => {}, 1000);
  BindingStore.open(${JSON.stringify(file)}).then(async (store) => {
    await store.claim("ps_1");
    await store.reserveNative({ productSessionId: "ps_1", adapterId: "codex", nativeSessionId: "native-1" });
    say("claimed");
    ${then}
  });`;

test("the end of a worker thread releases what it claimed", async (t) => {
  const file = place(t);
  const store = await open(t, file);
  await store.create(binding());
  await store.create(binding({ productSessionId: "ps_2" }));
  for (const [end, expected] of [
    ["terminate", 1],
    ["exit", 2],
  ]) {
    const worker = new Worker(holder(file, end === "exit" ? "process.exit(0)" : ""), { eval: true });
    const exited = once(worker, "exit");
    assert.deepEqual(await once(worker, "message"), ["claimed"]);
    if (end === "terminate") {
      await fault(store.claim("ps_1"), "binding_owned");
      await worker.terminate();
    }
    await exited;
    const changes = (await store.history("ps_1")).map(({ change }) => change);
    assert.deepEqual(changes.slice(-2), ["claimed", "released"], end);
    assert.equal((await store.inspect("ps_1")).generation, expected);
    assert.equal((await store.inspect("ps_1")).owner, undefined);
    const native = { productSessionId: "ps_2", adapterId: "codex", nativeSessionId: "native-1" };
    await (await store.reserveNative(native)).release();
  }
});

test("S8: what a killed process claimed is free, what a living one claimed is not", async (t) => {
  const file = place(t);
  const store = await open(t, file);
  await store.create(binding());
  await store.create(binding({ productSessionId: "ps_2" }));
  const child = spawn(process.execPath, ["--eval", holder(file)], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  await fault(store.claim("ps_1"), "binding_owned");
  const taken = bound({ productSessionId: "ps_2" });
  await fault(store.update(taken, { expectedRevision: 1 }), "binding_native_taken");
  assert.deepEqual((await store.inspect("ps_1")).owner, { pid: child.pid, status: "alive" });
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.deepEqual((await store.inspect("ps_1")).owner, { pid: child.pid, status: "dead" });
  assert.equal((await store.claim("ps_1")).generation, 2);
  assert.equal((await store.update(taken, { expectedRevision: 1 })).state, "bound");
});

test("the end of a process releases, and an open store keeps none alive", async (t) => {
  const file = place(t);
  const store = await open(t, file);
  await store.create(binding());
  for (const then of ["process.exit(0)", "clearInterval(wait)"]) {
    const ended = spawnSync(process.execPath, ["--eval", holder(file, then)], {
      encoding: "utf8",
      timeout: 60_000,
    });
    assert.deepEqual([ended.status, ended.stdout, ended.stderr], [0, "claimed\n", ""], then);
    const last = (await store.history("ps_1")).at(-1);
    assert.equal(last.change, "released", then);
  }
});

test("what cannot be opened, and what was closed", async (t) => {
  const file = place(t);
  await fault(BindingStore.open(path.join(file, "none.db")), "binding_io");
  fs.writeFileSync(`${file}.txt`, "no database, and as long as the head of one would have to be. ".repeat(3));
  await fault(BindingStore.open(`${file}.txt`), "binding_no_store");
  await fault(BindingStore.open(path.dirname(file)), "binding_no_store");
  await assert.rejects(BindingStore.open(7), { code: "invalid_argument" });
  await assert.rejects(BindingStore.open(file, { busyTimeoutMs: -1 }), { code: "invalid_option" });
  await assert.rejects(BindingStore.open(file, { timeout: 1 }), { code: "invalid_option" });
  const store = await BindingStore.open(file, { busyTimeoutMs: 1000 });
  const [made] = await Promise.all([store.create(binding()), store.close(), store.close()]);
  assert.equal(made.revision, 1);
  await fault(store.get("ps_1"), "binding_closed");
  await store[Symbol.asyncDispose]();
});
