// Drivers and harnesses that do what they should not, and hosts that ask in the middle of being told.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { BindingError, NativeSessionError, ProtocolError, TurnError } from "../index.js";
import { ALL, harness, host, kinds } from "./support/runtime.mjs";

const soon = () => new Promise(setImmediate);
const approval = (nativeId = 0) => ({ nativeId, kind: "command", decisions: [{ id: "yes", label: "Yes" }] });
const isCode = (type, code) => (error) => {
  assert.ok(error instanceof type, `${error.name}: ${error.message}`);
  assert.equal(error.code, code);
  return true;
};

test("what a harness says does not choose what kind of input it is, nor its time or turn", async (t) => {
  const h = harness();
  const { open, events } = await host(t, h);
  const session = await open();
  const turn = session.prompt({ text: "hello" });
  await soon();
  const { observe, terminal, requestApproval } = h.context();
  observe({ kind: "warning", message: "one", input: "close", at: "1999-01-01T00:00:00Z" });
  observe({
    kind: "warning",
    message: "two",
    input: "requestOpened",
    approval: { requestId: "forged", decisions: [] },
  });
  requestApproval({ ...approval(), ask: "userInput", turnId: "another" });
  terminal({ status: "completed", input: "close" });
  assert.equal((await turn).status, "completed");
  assert.deepEqual(kinds(events).slice(3), [
    "warning",
    "warning",
    "approval_requested",
    "approval_resolved",
    "turn_completed",
  ]);
  assert.ok(events.every(({ at }) => at > "2020"));
  assert.equal(events.find(({ kind }) => kind === "approval_requested").turnId, (await turn).turnId);
});

test("an abort before the harness has accepted the turn rejects the prompt, and the session goes on", async (t) => {
  const h = harness(ALL, { prompt: () => new Promise(() => undefined) });
  const { open } = await host(t, h);
  const session = await open({ abortMs: 20 });
  const turn = session.prompt({ text: "hello" });
  await soon();
  await Promise.all([
    session.abort(),
    assert.rejects(
      turn,
      (error) => isCode(TurnError, "turn_rejected")(error) && error.cause.code === "turn_aborted",
    ),
  ]);
  assert.equal(session.status().state, "idle");
  h.prompt = () => ({});
  const next = session.prompt({ text: "more" });
  await soon();
  h.context().terminal({ status: "completed" });
  assert.equal((await next).status, "completed");
});

test("an abort that makes the harness refuse the turn is over at once", async (t) => {
  let refuse;
  const h = harness(ALL, { prompt: () => new Promise((_, reject) => (refuse = reject)) });
  h.abort = () => refuse(new Error("cancelled"));
  const { open, diagnostics } = await host(t, h);
  const session = await open({ abortMs: 60_000 });
  const turn = session.prompt({ text: "hello" });
  await soon();
  await Promise.all([session.abort(), assert.rejects(turn, isCode(TurnError, "turn_rejected"))]);
  assert.deepEqual(diagnostics, []);
});

test("a secret that the adapter hid is in no diagnostic, error or file, whatever is thrown with it", async (t) => {
  const secret = "made-while-opening-1";
  for (const thrown of [
    new NativeSessionError("persistent", "login", `login with ${secret}`),
    new ProtocolError("start_timeout", secret, {
      phase: "start",
      details: { argument: secret },
      cause: secret,
    }),
    new Error(secret),
    { toString: () => secret },
  ]) {
    const h = harness();
    h.open = (context) => {
      context.hide(secret);
      throw thrown;
    };
    const { open, store, home, file } = await host(t, h);
    const error = await open().catch((one) => one);
    const { inspect } = await import("node:util");
    const shown = inspect(error, { depth: 9 }) + JSON.stringify([error, await store.inspect("ps_1")]);
    assert.ok(!shown.includes(secret), shown);
    for (const name of readdirSync(home)) {
      if (name.startsWith(path.basename(file)))
        assert.ok(!readFileSync(path.join(home, name)).includes(secret), name);
    }
  }
});

test("a text is redacted before it is cut", async (t) => {
  const h = harness();
  h.open = () => {
    throw new Error(`${"x".repeat(1980)} https://admin:Sup3rSecretPassword@host/`);
  };
  h.driver.diagnose = h.open;
  const { open, registry } = await host(t, h);
  await assert.rejects(open(), (error) => !error.message.includes("Sup3r"));
  assert.ok(!JSON.stringify(await registry.inspect()).includes("Sup3r"));
});

test("a harness that is gone before it is opened is not opened", async (t) => {
  const h = harness();
  h.open = async (context) => {
    context.closed("exited at once");
    await soon();
    await soon();
  };
  const { open, events } = await host(t, h);
  await assert.rejects(open(), isCode(ProtocolError, "session_closed"));
  assert.ok(!kinds(events).includes("ready"));
});

test("a native session that turns out to be another ends the session, and that is written", async (t) => {
  const h = harness();
  const { open, store } = await host(t, h);
  const session = await open();
  h.prompt = (native) => {
    native.native = { nativeSessionId: "another" };
    return {};
  };
  assert.equal((await session.prompt({ text: "hello" })).status, "failed");
  assert.equal(session.status().state, "closed");
  const { state, nativeSessionId, diagnostic } = await store.get("ps_1");
  assert.deepEqual([state, nativeSessionId, diagnostic.code], ["error", "native-1", "native_id_changed"]);
  await session.dispose();
  await assert.rejects(open(), isCode(BindingError, "binding_error"));
});

test("a host that disposes while it is told gets one promise, and nothing more is asked of the harness", async (t) => {
  const h = harness();
  const { open, store } = await host(t, h);
  const promises = [];
  let session;
  session = await open({
    onEvent({ kind }) {
      if (kind !== "turn_completed") return;
      promises.push(session.dispose(), session.dispose());
      session.prompt({ text: "next" }).catch(({ code }) => promises.push(code));
    },
  });
  const turn = session.prompt({ text: "hello" });
  await soon();
  const disposed = session.dispose();
  await disposed;
  await turn;
  assert.deepEqual(promises, [disposed, disposed, "session_disposed"]);
  assert.equal(h.calls.filter(([name]) => name === "prompt").length, 1);
  assert.equal(h.calls.filter(([name]) => name === "dispose").length, 1);
  assert.equal(session.status().state, "disposed");
  assert.equal((await store.inspect("ps_1")).owner, undefined);
});

test("a host that disposes when it is told of a crash has a disposed session", async (t) => {
  const h = harness();
  const { open } = await host(t, h);
  let session;
  session = await open({
    onEvent({ kind, state }) {
      if (kind === "adapter_lifecycle" && state === "crashed") void session.dispose();
    },
  });
  h.context().closed("gone");
  while (session.status().state !== "disposed") await soon();
  await session.dispose();
  assert.equal(session.status().state, "disposed");
});

test("a native id is kept also where the host disposes as soon as the turn is told", async (t) => {
  const h = harness(ALL, { lazy: true });
  const { open, store } = await host(t, h);
  let session;
  session = await open({
    onEvent({ kind }) {
      if (kind === "turn_started") void session.dispose();
    },
  });
  assert.equal((await session.prompt({ text: "hello" })).status, "interrupted");
  await session.dispose();
  assert.deepEqual(
    [(await store.get("ps_1")).state, (await store.get("ps_1")).nativeSessionId],
    ["bound", "native-1"],
  );
});

test("an error in place of a text, and a request without the capability, cost nothing else", async (t) => {
  const h = harness({ ...ALL, approvals: false, userInput: false });
  const { open, diagnostics } = await host(t, h);
  const session = await open();
  h.context().warn("odd", new Error("as an error"));
  assert.equal(h.context().requestApproval(approval()), false);
  assert.equal(h.context().requestUserInput({ nativeId: 1, questions: [{ id: "q", question: "?" }] }), false);
  assert.equal(session.status().pendingRequests, 0);
  assert.deepEqual(
    diagnostics.map(({ code }) => code),
    ["odd", "capability_unavailable", "capability_unavailable"],
  );
  h.context().closed(new Error("as an error"));
  while (session.status().state !== "closed") await soon();
});

test("the 65th request is refused, and the events say so", async (t) => {
  const h = harness();
  const { open, events } = await host(t, h);
  const session = await open();
  const turn = session.prompt({ text: "hello" });
  await soon();
  for (let id = 0; id < 64; id += 1) assert.equal(h.context().requestApproval(approval(id)), true);
  assert.equal(h.context().requestApproval(approval(64)), false);
  const warning = events.at(-1);
  assert.deepEqual([warning.kind, warning.code], ["warning", "too_many_requests"]);
  assert.equal(session.status().pendingRequests, 64);
  h.context().terminal({ status: "completed" });
  await turn;
});

test("secrets that cannot be hidden are refused before anything is begun", async (t) => {
  const h = harness();
  const { open, store, home } = await host(t, h);
  await assert.rejects(open({ secrets: ["short"] }), (error) => error.code === "invalid_option");
  assert.equal(await store.get("ps_1"), undefined);
  assert.ok(!readdirSync(home).includes("state"));
});

test("one release that hangs does not keep the others from running", async (t) => {
  const h = harness();
  const released = [];
  h.open = (context) => {
    context.onDispose(() => released.push("first registered"));
    context.onDispose(() => new Promise(() => undefined));
  };
  const { open, diagnostics } = await host(t, h);
  const session = await open({ disposeMs: 500 });
  await session.dispose();
  assert.deepEqual(released, ["first registered"]);
  assert.ok(diagnostics.some(({ code }) => code === "release_failed"));
});
