// A live session: one turn at a time, its end told once, requests answered once, abort and disposal.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { CapabilityUnavailableError, NativeSessionError, ProtocolError, TurnError } from "../index.js";
import { ALL, harness, host, kinds } from "./support/runtime.mjs";

const fails = (type, code) => (error) => {
  assert.ok(error instanceof type, `${error.name}: ${error.message}`);
  assert.equal(error.code, code);
  return true;
};
const NONE = { resume: false, steering: false, abort: false, approvals: false, userInput: false };
const approval = (nativeId = 0, more = {}) => ({
  nativeId,
  kind: "command",
  title: "run it",
  decisions: [
    { id: "yes", label: "Yes" },
    { id: "no", label: "No" },
  ],
  ...more,
});
const soon = () => new Promise(setImmediate);

test("a prompt settles after the end of its turn was told, and there is one turn at a time", async (t) => {
  const h = harness();
  const told = [];
  const { open } = await host(t, h);
  const session = await open({ onEvent: ({ kind }) => told.push(kind) });
  const turn = session.prompt({ text: "hello" }).then((result) => told.push(result.status));
  assert.equal(session.status().state, "streaming");
  await assert.rejects(session.prompt({ text: "again" }), fails(TurnError, "turn_active"));
  await soon();
  h.context().observe({ kind: "assistant", nativeItemId: 1, text: { delta: "hi" }, done: true });
  h.context().terminal({ status: "completed" });
  await turn;
  assert.deepEqual(told.slice(2), [
    "turn_started",
    "assistant_delta",
    "assistant_message",
    "turn_completed",
    "completed",
  ]);
  assert.deepEqual([session.status().state, session.status().turnId], ["idle", null]);
});

test("each end of a turn is what its prompt resolves with", async (t) => {
  const h = harness();
  const { open } = await host(t, h);
  const session = await open();
  for (const status of ["completed", "interrupted", "failed"]) {
    const turn = session.prompt({ text: "hello" });
    await soon();
    h.context().terminal({ status });
    assert.equal((await turn).status, status);
  }
});

test("a turn that the harness does not accept is rejected, and there was none", async (t) => {
  const h = harness();
  const { open, events } = await host(t, h);
  const session = await open();
  h.prompt = () => {
    throw new Error("quota");
  };
  await assert.rejects(session.prompt({ text: "hello" }), fails(TurnError, "turn_rejected"));
  assert.deepEqual(kinds(events), ["starting", "ready"]);
  h.prompt = () => ({});
  const turn = session.prompt({ text: "hello" });
  await soon();
  h.context().terminal({ status: "completed" });
  assert.equal((await turn).status, "completed");
});

test("operations of capabilities that an adapter does not have are not there", async (t) => {
  const h = harness(NONE);
  const { open, registry } = await host(t, h);
  const session = await open();
  assert.deepEqual(
    ["steer", "respondToApproval", "respondToUserInput"].map((name) => name in session),
    [false, false, false],
  );
  assert.throws(
    () => registry.require("main", "steering"),
    fails(CapabilityUnavailableError, "capability_unavailable"),
  );
});

test("steering changes the turn that is on and needs one", async (t) => {
  const h = harness();
  const { open } = await host(t, h);
  const session = await open();
  await assert.rejects(session.steer({ text: "left" }), fails(TurnError, "no_turn"));
  const turn = session.prompt({ text: "hello" });
  await soon();
  await session.steer({ text: "left" });
  assert.deepEqual(h.calls.at(-1), ["steer", "left"]);
  h.context().terminal({ status: "completed" });
  await turn;
});

test("S5 in a session: it waits until the last request is answered", async (t) => {
  const h = harness();
  const { open, events } = await host(t, h);
  const session = await open();
  const turn = session.prompt({ text: "hello" });
  await soon();
  for (const id of [0, "0"]) assert.equal(h.context().requestApproval(approval(id)), true);
  const [first, second] = events
    .filter(({ kind }) => kind === "approval_requested")
    .map(({ request }) => request);
  assert.equal(session.status().pendingRequests, 2);
  assert.deepEqual(session.status().pendingApproval, first);
  await session.respondToApproval(first.requestId, "yes");
  assert.deepEqual(h.calls.at(-1), ["approval", { nativeId: 0 }, "yes"]);
  assert.deepEqual(session.status().pendingApproval, second);
  await assert.rejects(
    session.respondToApproval(first.requestId, "no"),
    fails(TurnError, "already_resolved"),
  );
  await assert.rejects(
    session.respondToApproval(second.requestId, "maybe"),
    fails(TurnError, "invalid_answer"),
  );
  await session.respondToApproval(second.requestId, "no");
  assert.equal(session.status().pendingApproval, null);
  h.context().terminal({ status: "completed" });
  await turn;
});

test("a request that the harness withdraws, or whose turn ends, ends once and the harness is told", async (t) => {
  const h = harness();
  const { open, events } = await host(t, h);
  const session = await open();
  const turn = session.prompt({ text: "hello" });
  await soon();
  h.context().requestApproval(approval(1));
  h.context().requestCleared({ nativeId: 1 });
  h.context().requestApproval(approval(2));
  h.context().terminal({ status: "completed" });
  await turn;
  const ends = events.filter(({ kind }) => kind === "approval_resolved");
  assert.deepEqual(
    ends.map(({ outcome }) => outcome),
    ["cleared", "cleared"],
  );
  assert.deepEqual(
    h.calls.filter(([name]) => name === "ended"),
    [
      ["ended", { nativeId: 1 }, "cleared"],
      ["ended", { nativeId: 2 }, "cleared"],
    ],
  );
  assert.equal(session.status().pendingRequests, 0);
});

test("an answer that cannot be written clears the request and tells who answered", async (t) => {
  const h = harness();
  const { open, events } = await host(t, h);
  const session = await open();
  const turn = session.prompt({ text: "hello" });
  await soon();
  h.context().requestApproval(approval());
  h.reply = () => {
    throw new Error("EPIPE");
  };
  const { requestId } = session.status().pendingApproval;
  await assert.rejects(session.respondToApproval(requestId, "yes"), fails(TurnError, "answer_not_written"));
  assert.equal(events.at(-1).outcome, "cleared");
  h.context().terminal({ status: "completed" });
  await turn;
});

test("abort cancels the turn that is on, and does nothing when idle and after disposal", async (t) => {
  const h = harness();
  const { open, events } = await host(t, h);
  const session = await open();
  await session.abort();
  assert.deepEqual(h.calls, [["open"]]);
  const turn = session.prompt({ text: "hello" });
  await soon();
  h.context().requestApproval(approval());
  h.abort = () => h.context().terminal({ status: "interrupted" });
  await Promise.all([session.abort(), session.abort()]);
  assert.equal((await turn).status, "interrupted");
  assert.equal(h.calls.filter(([name]) => name === "abort").length, 1);
  assert.deepEqual(kinds(events).slice(-3), ["approval_requested", "approval_resolved", "turn_completed"]);
  assert.equal(events.at(-2).outcome, "aborted");
  assert.equal(events.at(-1).confirmed, true);
  const next = session.prompt({ text: "more" });
  await soon();
  h.context().terminal({ status: "completed" });
  assert.equal((await next).status, "completed");
  await session.dispose();
  await session.abort();
});

test("a harness that acknowledges an abort and does not finish is not waited for, and the session goes on", async (t) => {
  for (const capabilities of [ALL, { ...ALL, abort: false }]) {
    const h = harness(capabilities, { nativeTurnIds: true });
    const { open, events, diagnostics } = await host(t, h);
    const session = await open({ abortMs: 20 });
    h.prompt = (_session, { text }) => ({ nativeTurnId: text });
    const turn = session.prompt({ text: "one" });
    await soon();
    await session.abort();
    assert.equal((await turn).status, "interrupted");
    assert.equal(events.at(-1).confirmed, false);
    assert.ok(diagnostics.some(({ code }) => code === "abort_unconfirmed"));
    // Its own end comes late and ends nothing.
    const next = session.prompt({ text: "two" });
    await soon();
    h.context().terminal({ status: "completed", nativeTurnId: "one" });
    assert.equal(session.status().state, "streaming");
    h.context().terminal({ status: "completed", nativeTurnId: "two" });
    assert.equal((await next).status, "completed");
  }
});

test("a harness that is gone ends the turn as failed, and nothing but disposal is left", async (t) => {
  const h = harness();
  const { open, events } = await host(t, h);
  const session = await open();
  const turn = session.prompt({ text: "hello" });
  await soon();
  h.context().requestApproval(approval());
  h.context().closed("the socket was closed");
  assert.equal((await turn).status, "failed");
  assert.deepEqual(kinds(events).slice(-3), ["approval_resolved", "turn_failed", "crashed"]);
  assert.deepEqual([session.status().state, session.status().pendingRequests], ["closed", 0]);
  await assert.rejects(session.prompt({ text: "more" }), fails(TurnError, "session_closed"));
  await session.abort();
  await session.dispose();
});

test("a prompt that the harness never answers ends with the harness", async (t) => {
  const h = harness();
  h.prompt = () => new Promise(() => undefined);
  const { open } = await host(t, h);
  const session = await open();
  const turn = session.prompt({ text: "hello" });
  await soon();
  h.context().closed("gone");
  await assert.rejects(turn, (error) => {
    fails(TurnError, "turn_rejected")(error);
    assert.ok(error.cause instanceof ProtocolError);
    return true;
  });
});

test("dispose ends the turn and its requests, releases everything once, and nothing comes after it", async (t) => {
  const h = harness();
  const released = [];
  h.open = (context) => {
    context.onDispose(() => released.push("credential"));
    context.onDispose(() => {
      released.push("files");
      throw new Error("already gone");
    });
  };
  const { open, events, store, home } = await host(t, h);
  const session = await open();
  const { directory } = h.context();
  assert.ok(existsSync(directory));
  const turn = session.prompt({ text: "hello" });
  await soon();
  h.context().requestApproval(approval());
  const done = session.dispose();
  assert.equal(session.dispose(), done);
  assert.equal((await turn).status, "interrupted");
  await done;
  assert.deepEqual(kinds(events).slice(-4), [
    "approval_requested",
    "approval_resolved",
    "turn_completed",
    "stopped",
  ]);
  assert.deepEqual(released, ["files", "credential"], "the last first");
  const count = events.length;
  h.context().observe({ kind: "warning", message: "late" });
  h.context().terminal({ status: "completed" });
  assert.equal(h.context().requestApproval(approval(9)), false);
  assert.equal(events.length, count);
  assert.equal(existsSync(directory), false);
  assert.deepEqual(readdirSync(path.join(home, "state/agent-lifecycle/generations")), []);
  assert.equal((await store.inspect("ps_1")).owner, undefined);
  await assert.rejects(session.prompt({ text: "more" }), fails(TurnError, "session_disposed"));
  assert.equal(h.calls.filter(([name]) => name === "dispose").length, 1);
});

test("an adapter that never lets go is left behind", async (t) => {
  const h = harness();
  h.driver.dispose = () => new Promise(() => undefined);
  const { open, diagnostics, store } = await host(t, h);
  const session = await open({ disposeMs: 20 });
  await session.dispose();
  assert.ok(diagnostics.some(({ code }) => code === "dispose_failed"));
  assert.equal((await store.inspect("ps_1")).owner, undefined);
});

test("what a listener throws is told, and events that it makes come in order", async (t) => {
  const h = harness();
  const seen = [];
  const { open, diagnostics } = await host(t, h);
  let session;
  session = await open({
    onEvent(event) {
      seen.push(event.sequence);
      if (event.kind === "approval_requested") void session.respondToApproval(event.request.requestId, "yes");
      if (event.kind === "turn_started") h.context().observe({ kind: "warning", message: "from a listener" });
      throw new Error("mine");
    },
  });
  const turn = session.prompt({ text: "hello" });
  await soon();
  h.context().requestApproval(approval());
  await soon();
  h.context().terminal({ status: "completed" });
  await turn;
  assert.deepEqual(
    seen,
    seen.map((_, at) => at + 1),
  );
  assert.ok(diagnostics.every(({ code, message }) => code === "callback_failed" && message.includes("mine")));
});

test("what is no observation costs nothing else", async (t) => {
  const h = harness();
  const { open, diagnostics } = await host(t, h);
  const session = await open();
  const turn = session.prompt({ text: "hello" });
  await soon();
  for (const odd of [{ kind: "dance" }, { kind: 7 }, {}, { kind: "assistant", text: "plain" }])
    h.context().observe(odd);
  h.context().terminal({ status: "perfect" });
  assert.equal(diagnostics.filter(({ code }) => code === "invalid_observation").length, 5);
  h.context().terminal({ status: "completed" });
  assert.equal((await turn).status, "completed");
});

test("another that takes the session over ends it, and its native session is noted", async (t) => {
  const h = harness(ALL, { lazy: true });
  const { open, store, diagnostics } = await host(t, h);
  const first = await open();
  h.next = 1;
  const other = await open({ productSessionId: "ps_2" });
  const turnOfOther = other.prompt({ text: "x" });
  while ((await store.get("ps_2")).state !== "bound") await soon();
  h.next = 1;
  const turn = first.prompt({ text: "hello" });
  assert.equal((await turn).status, "interrupted");
  assert.ok(diagnostics.some(({ code }) => code === "binding_not_written"));
  await first.dispose();
  const changes = (await store.history("ps_1")).map(({ change }) => change);
  assert.ok(changes.includes("orphaned"), changes.join());
  await other.dispose();
  assert.equal((await turnOfOther).status, "interrupted");
});

test("a secret of the configuration, of the host or of the adapter is nowhere", async (t) => {
  const secrets = {
    config: "conf-secret-value",
    host: "host-secret-value",
    adapter: "made-secret-value",
    made: "made-at-the-next-opening",
  };
  const all = [secrets.config, secrets.host, secrets.adapter];
  const h = harness();
  h.open = (context) => {
    context.hide(secrets.adapter);
    assert.equal(context.config.key, secrets.config, "the adapter itself gets it");
  };
  const { open, events, diagnostics, store, registry, file } = await host(t, {
    driver: h.driver,
    config: { key: secrets.config },
  });
  h.driver.diagnose = async () => {
    throw new Error(`cannot log in with ${secrets.config}`);
  };
  const session = await open({ secrets: [secrets.host] });
  const errors = [];
  h.prompt = () => {
    throw new Error(`refused: ${all.join(" ")}`);
  };
  await session.prompt({ text: "hello" }).catch((error) => errors.push(error));
  h.prompt = () => ({});
  const turn = session.prompt({ text: "hello" });
  await soon();
  const { observe, requestApproval, warn, terminal } = h.context();
  for (const secret of all) {
    observe({ kind: "assistant", nativeItemId: secret, text: { delta: `a ${secret.slice(0, 7)}` } });
    observe({ kind: "assistant", nativeItemId: secret, text: { delta: `${secret.slice(7)} b` }, done: true });
    observe({ kind: "native", name: "raw", payload: { body: secret } });
    requestApproval(approval(secret, { detail: secret, arguments: { argument: secret } }));
    warn(secret, secret);
  }
  terminal({ status: "failed", message: all.join(), details: { all } });
  await turn;
  errors.push(
    session.status(),
    await registry.inspect(),
    await store.inspect("ps_1"),
    await store.history("ps_1"),
  );
  await session.dispose();
  h.open = (context) => {
    for (const secret of [secrets.adapter, secrets.made]) context.hide(secret);
    throw Object.assign(new Error(`no: ${[...all, secrets.made].join(" ")}`), { body: { all } });
  };
  await open({ productSessionId: "ps_2", secrets: [secrets.host] }).catch((error) => errors.push(error));
  h.open = (context) => {
    for (const secret of [secrets.adapter, secrets.made]) context.hide(secret);
    throw new NativeSessionError("persistent", "broken", `no: ${[...all, secrets.made].join(" ")}`);
  };
  await open({ productSessionId: "ps_2", secrets: [secrets.host] }).catch((error) => errors.push(error));
  assert.deepEqual(
    errors.filter((error) => error instanceof Error).map(({ code }) => code),
    ["turn_rejected", "open_failed", "binding_error"],
  );
  errors.push(await store.inspect("ps_2"), await store.history("ps_2"));
  // As a log has them, with their causes.
  const logged = errors.map((error) => inspect(error, { depth: 9, showHidden: true }));
  const shown = JSON.stringify([events, diagnostics, errors, errors.map(String), logged]);
  const { readFileSync } = await import("node:fs");
  for (const secret of Object.values(secrets)) {
    assert.ok(!shown.includes(secret), secret);
    assert.ok(!readFileSync(file).includes(secret), `${secret} in the database`);
  }
  assert.ok(shown.includes("[REDACTED]"));
});
