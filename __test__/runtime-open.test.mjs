// Opening and resuming sessions: the recorded native session and nothing else, one live owner, and what is written of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BindingError,
  CapabilityUnavailableError,
  NativeSessionError,
  ProtocolError,
  RegistrationError,
  createRuntimeRegistry,
  openRuntimeSession,
} from "../index.js";
import { ALL, harness, host, kinds } from "./support/runtime.mjs";

const fails = (type, code) => (error) => {
  assert.ok(error instanceof type, `${error.name}: ${error.message}`);
  assert.equal(error.code, code);
  return true;
};
const throwing = (error) => () => {
  throw error;
};

test("a session is bound at its opening, and opened again it is exactly the same native session", async (t) => {
  const h = harness();
  const { open, store, events } = await host(t, h);
  const first = await open();
  assert.deepEqual(kinds(events), ["starting", "ready"]);
  const bound = await store.get("ps_1");
  assert.deepEqual([bound.state, bound.nativeSessionId, bound.generation], ["bound", "native-1", 1]);
  await first.dispose();
  const second = await open({ runtimeInstanceId: undefined });
  assert.deepEqual(h.calls, [["open"], ["dispose"], ["resume", "native-1"]]);
  assert.deepEqual([first.generation, second.generation], [1, 2]);
  assert.equal((await store.get("ps_1")).nativeSessionId, "native-1");
});

test("a native id that comes with the first prompt is written then", async (t) => {
  const h = harness(ALL, { lazy: true });
  const { open, store } = await host(t, h);
  const session = await open();
  assert.equal((await store.get("ps_1")).state, "unbound");
  const turn = session.prompt({ text: "hello" });
  while ((await store.get("ps_1")).state !== "bound") await new Promise(setImmediate);
  assert.equal((await store.get("ps_1")).nativeSessionId, "native-1");
  h.context().terminal({ status: "completed" });
  await turn;
});

test("what the harness does not have is missing, is never replaced, and is not asked for again", async (t) => {
  const h = harness();
  const { open, store } = await host(t, h);
  await (await open()).dispose();
  h.open = throwing(new NativeSessionError("missing", "thread_not_found", "no such thread"));
  await assert.rejects(open(), fails(BindingError, "binding_missing"));
  const missing = await store.get("ps_1");
  assert.deepEqual([missing.state, missing.nativeSessionId], ["missing", "native-1"]);
  assert.deepEqual([missing.diagnostic.code, missing.diagnostic.phase], ["thread_not_found", "resume"]);

  h.calls.length = 0;
  await assert.rejects(open(), fails(BindingError, "binding_missing"));
  assert.deepEqual(h.calls, [], "normal mode does not contact the harness");
  await assert.rejects(open({ mode: "repair" }), fails(BindingError, "binding_missing"));
  assert.deepEqual(h.calls, [["resume", "native-1"]], "repair tries the recorded one");

  h.open = () => undefined;
  const repaired = await open({ mode: "repair" });
  assert.equal(repaired.status().binding.state, "bound");
  await repaired.dispose();
  const entry = (await store.history("ps_1")).findLast(({ change }) => change === "updated");
  assert.deepEqual([entry.state, entry.mode], ["bound", "repair"]);
});

test("rebind gives the recorded native session up and opens a new one", async (t) => {
  const h = harness();
  const { open, store } = await host(t, h);
  await (await open()).dispose();
  const session = await open({ mode: "rebind" });
  assert.deepEqual(h.calls, [["open"], ["dispose"], ["open"]]);
  assert.equal((await store.get("ps_1")).nativeSessionId, "native-2");
  await session.dispose();
  await open();
  assert.deepEqual(h.calls.at(-1), ["resume", "native-2"]);
});

test("only what says something about the native session changes the binding", async (t) => {
  for (const [error, type, code, state] of [
    [
      new NativeSessionError("persistent", "corrupt", "cannot be read"),
      BindingError,
      "binding_error",
      "error",
    ],
    [
      new ProtocolError("protocol_violation", "no answer", { phase: "start" }),
      BindingError,
      "binding_error",
      "error",
    ],
    [new ProtocolError("start_timeout", "late", { phase: "start" }), ProtocolError, "start_timeout", "bound"],
    [new Error("anything"), ProtocolError, "open_failed", "bound"],
    ["no error at all", ProtocolError, "open_failed", "bound"],
  ]) {
    await t.test(`${error}`, async (sub) => {
      const h = harness();
      const { open, store } = await host(sub, h);
      await (await open()).dispose();
      h.open = throwing(error);
      await assert.rejects(open(), fails(type, code));
      const { state: kept, nativeSessionId } = await store.get("ps_1");
      assert.deepEqual([kept, nativeSessionId], [state, "native-1"]);
      assert.equal((await store.inspect("ps_1")).owner, undefined, "the claim is given back");
    });
  }
});

test("what was never recorded is not missing: a harness may delete what is only reserved", async (t) => {
  const h = harness(ALL, { lazy: true });
  h.open = (context) => context.reserveNative("draft-1");
  const { open, store } = await host(t, h);
  await (await open()).dispose();
  assert.equal((await store.get("ps_1")).state, "unbound");
  h.open = throwing(new NativeSessionError("missing", "draft_deleted", "empty drafts are deleted"));
  await assert.rejects(open(), fails(BindingError, "binding_error"));
  assert.equal((await store.get("ps_1")).state, "error");
});

test("an adapter that opens another native session than the recorded one is refused", async (t) => {
  const h = harness();
  const { open, store } = await host(t, h);
  await (await open()).dispose();
  const { resumeSession } = h.driver;
  h.driver.resumeSession = async (context, native) => {
    const session = await resumeSession(context, native);
    session.native = { nativeSessionId: "another" };
    return session;
  };
  await assert.rejects(open(), fails(BindingError, "binding_error"));
  const { state, nativeSessionId, diagnostic } = await store.get("ps_1");
  assert.deepEqual([state, nativeSessionId, diagnostic.code], ["error", "native-1", "native_id_changed"]);
  assert.equal(h.calls.filter(([name]) => name === "dispose").length, 2, "it is closed again");
});

test("a native session that another has recorded is closed again and noted", async (t) => {
  const h = harness();
  const { open, store } = await host(t, h);
  await open();
  h.next = 1;
  await assert.rejects(open({ productSessionId: "ps_2" }), fails(BindingError, "binding_native_taken"));
  assert.deepEqual(h.calls, [["open"], ["open"], ["dispose"]]);
  assert.equal((await store.get("ps_2")).state, "unbound");
  const orphan = (await store.history("ps_2")).find(({ change }) => change === "orphaned");
  assert.equal(orphan.nativeSessionId, "native-1");
  assert.equal((await store.get("ps_1")).state, "bound");
});

test("openings of one session that overlap are one; a later one finds it owned", async (t) => {
  const h = harness();
  const { open } = await host(t, h);
  const [first, second] = await Promise.all([open(), open()]);
  assert.equal(first, second);
  assert.deepEqual(h.calls, [["open"]]);
  await assert.rejects(open(), fails(BindingError, "binding_owned"));
  await first.dispose();
  await open();
});

test("the instance of a session is frozen", async (t) => {
  const h = harness();
  const { open, store } = await host(t, h);
  await (await open()).dispose();
  const registry = createRuntimeRegistry({
    drivers: [h.driver],
    instances: [
      { runtimeInstanceId: "main", adapterId: "scripted" },
      { runtimeInstanceId: "other", adapterId: "scripted" },
    ],
  });
  const other = { registry, runtimeInstanceId: "other" };
  await assert.rejects(open(other), fails(BindingError, "binding_instance"));
  const gone = createRuntimeRegistry({ drivers: [h.driver], instances: [] });
  await assert.rejects(open({ registry: gone }), fails(RegistrationError, "unknown_instance"));
  await open({ ...other, mode: "rebind" });
  const { runtimeInstanceId, nativeSessionId } = await store.get("ps_1");
  assert.deepEqual([runtimeInstanceId, nativeSessionId], ["other", "native-2"]);
});

test("an adapter that cannot resume is not asked to", async (t) => {
  const h = harness({ ...ALL, resume: false });
  const { open } = await host(t, h);
  await (await open()).dispose();
  await assert.rejects(open(), fails(CapabilityUnavailableError, "capability_unavailable"));
  assert.deepEqual(h.calls, [["open"], ["dispose"]]);
});

test("an adapter that never opens is given up, and one that opens afterwards is closed again", async (t) => {
  const h = harness();
  let release;
  h.open = () => new Promise((resolve) => (release = resolve));
  const { open, store } = await host(t, h);
  await assert.rejects(open({ openMs: 20 }), fails(ProtocolError, "open_timeout"));
  assert.equal(h.calls.length, 1);
  release();
  while (h.calls.length < 2) await new Promise(setImmediate);
  assert.deepEqual(h.calls.at(-1), ["dispose"]);
  assert.equal((await store.get("ps_1")).state, "unbound");
});

test("what a driver says while it opens is heard, and nothing of what it says afterwards where that failed", async (t) => {
  const h = harness();
  h.open = (context) => {
    context.warn("slow_start", "the harness is old");
    throw new Error("no");
  };
  const { open, events, diagnostics } = await host(t, h);
  await assert.rejects(open(), fails(ProtocolError, "open_failed"));
  assert.deepEqual(diagnostics, [{ code: "slow_start", message: "the harness is old" }]);
  assert.deepEqual(kinds(events), ["starting", "stopped"]);
});

test("options are checked by name", async (t) => {
  const h = harness();
  const { open } = await host(t, h);
  for (const [options, code] of [
    [{ mode: "force" }, "invalid_argument"],
    [{ store: undefined }, "invalid_argument"],
    [{ registry: {} }, "invalid_argument"],
    [{ productSessionId: 7 }, "invalid_argument"],
    [{ openMs: 0 }, "invalid_option"],
    [{ abortMs: Infinity }, "invalid_option"],
    [{ onEvent: "yes" }, "invalid_option"],
    [{ secrets: ["x"] }, "invalid_option"],
    [{ modus: "x" }, "invalid_option"],
  ]) {
    await assert.rejects(open(options), (error) => {
      assert.equal(error.code, code, JSON.stringify(options));
      return true;
    });
  }
  assert.deepEqual(h.calls, []);
  await assert.rejects(openRuntimeSession(), { code: "invalid_argument" });
});
