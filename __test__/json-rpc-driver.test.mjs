// The neutral driver against programs that use ids again, say wrong types, or ask for what they do not advertise.
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { BindingStore, createRuntimeRegistry, jsonRpcDriver, openRuntimeSession } from "agent-lifecycle";
import { until } from "./support/adapter.mjs";

const child = path.join(import.meta.dirname, "support", "neutral-child.mjs");

async function neutral(t, capabilities, options = {}) {
  const folder = fs.mkdtempSync(path.join(tmpdir(), "agent-lifecycle-"));
  const store = await BindingStore.open(path.join(folder, "bindings.db"));
  const environment = [`CAPABILITIES=${JSON.stringify(capabilities)}`];
  const config = { command: process.execPath, args: [child], environment };
  const [events, diagnostics] = [[], []];
  const session = await openRuntimeSession({
    store,
    registry: createRuntimeRegistry({
      drivers: [jsonRpcDriver({ adapterId: "neutral", capabilities, ...options })],
      instances: [{ runtimeInstanceId: "main", adapterId: "neutral", config }],
    }),
    productSessionId: "ps_1",
    runtimeInstanceId: "main",
    workspace: folder,
    publish: false,
    onEvent: (event) => events.push(event),
    onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
  });
  t.after(async () => {
    await session.dispose();
    await store.close();
    fs.rmSync(folder, { recursive: true });
  });
  return {
    events,
    session,
    prompt: (turn) => session.prompt({ text: JSON.stringify(turn) }),
    /** What the program was answered. */
    answers: () =>
      events.filter(({ kind }) => kind === "assistant_message").map(({ text }) => JSON.parse(text)),
    codes: () => diagnostics.map(({ code }) => code),
  };
}

const approval = (id, detail, more = {}) => ({
  id,
  method: "approval/request",
  params: {
    kind: "command",
    detail,
    decisions: [
      { id: "allow", label: "Allow" },
      { id: "deny", label: "Deny" },
    ],
    ...more,
  },
});

test("a name that is used for another request ends the first, and the second is answered", async (t) => {
  const { session, prompt, answers, events } = await neutral(t, { approvals: true });
  const prompted = prompt({ send: [approval(0, "one"), approval(0, "two")], answers: 2 });
  await until("the second", () => session.status().pendingApproval?.detail === "two");
  const { pendingApproval, pendingRequests } = session.status();
  assert.equal(pendingRequests, 1);
  await session.respondToApproval(pendingApproval.requestId, "allow");
  assert.equal((await prompted).status, "completed");
  assert.deepEqual(answers(), [
    [
      [0, -32002],
      [0, "allow"],
    ],
  ]);
  const ends = events.filter(({ kind }) => kind === "approval_resolved").map(({ outcome }) => outcome);
  assert.deepEqual(ends, ["cleared", "responded"]);
});

test("what repeats a request gets its answer, and nothing waits afterwards", async (t) => {
  const { session, prompt, answers } = await neutral(t, { approvals: true });
  // As many as a process may have pending.
  const prompted = prompt({
    send: Array.from({ length: 128 }, () => approval("a", "one")),
    answers: 128,
  });
  // One that comes when the answer is on its way is asked again.
  await until("the last answer", async () => {
    const { pendingApproval, pendingRequests, state } = session.status();
    assert.ok(pendingRequests <= 1);
    if (pendingApproval !== null) await session.respondToApproval(pendingApproval.requestId, "deny");
    return state === "idle";
  });
  await prompted;
  assert.deepEqual(answers(), [Array.from({ length: 128 }, () => ["a", "deny"])]);
  const next = prompt({ send: [approval("b", "two")], answers: 1 });
  await until("the next request", () => session.status().pendingApproval !== null);
  await session.respondToApproval(session.status().pendingApproval.requestId, "allow");
  await next;
  assert.deepEqual(answers()[1], [["b", "allow"]]);
});

test("the same request after its answer is asked again, however soon it comes", async (t) => {
  const { session, prompt, answers, events } = await neutral(t, { approvals: true });
  for (let turns = 0; turns < 5; turns += 1) {
    const prompted = prompt({ send: [approval(0, "same")], afterAnswer: [approval(0, "same")], answers: 2 });
    for (const decision of ["allow", "deny"]) {
      await until("a request", () => session.status().pendingApproval !== null);
      await session.respondToApproval(session.status().pendingApproval.requestId, decision);
    }
    assert.equal((await prompted).status, "completed");
    assert.deepEqual(answers()[turns], [
      [0, "allow"],
      [0, "deny"],
    ]);
  }
  assert.equal(events.filter(({ kind }) => kind === "approval_requested").length, 10);
});

test("repeats of a request that the harness withdraws are all ended", async (t) => {
  const { prompt, answers } = await neutral(t, { approvals: true });
  const cleared = { method: "request/cleared", params: { nativeId: 4 } };
  await prompt({ send: [approval(4, "one"), approval(4, "one"), cleared], answers: 2 });
  assert.deepEqual(answers(), [
    [
      [4, -32002],
      [4, -32002],
    ],
  ]);
});

test("a request with a wrong type is refused as such, and said", async (t) => {
  const { session, prompt, answers, codes } = await neutral(t, { approvals: true });
  const wrong = [{ nativeTurnId: 5 }, { scope: null }, { scope: ["a"] }, { nativeTurnId: null }];
  const send = [
    ...wrong.map((more, at) => approval(at, "one", more)),
    approval("x".repeat(100_000), "an id that nobody keeps"),
    { id: 9, method: "approval/request", params: [] },
  ];
  await prompt({ send, answers: send.length });
  assert.deepEqual(
    answers()[0].map(([, code]) => code),
    send.map(() => -32602),
  );
  assert.deepEqual(
    codes(),
    send.map(() => "invalid_request"),
  );
  assert.equal(session.status().pendingRequests, 0);
});

test("a request that the driver does not advertise is refused, and said", async (t) => {
  const { session, prompt, answers, codes, events } = await neutral(t, { approvals: true });
  const questions = [{ id: "q", question: "Which?" }];
  await prompt({ send: [{ id: 1, method: "input/request", params: { questions } }], answers: 1 });
  assert.deepEqual(answers(), [[[1, -32001]]]);
  assert.deepEqual(codes(), ["request_not_advertised"]);
  assert.equal(session.status().pendingRequests, 0);
  assert.ok(!events.some(({ kind }) => kind === "user_input_requested"));
});

test("an answer to a prompt without the id of its turn rejects it", async (t) => {
  const { prompt } = await neutral(t, {}, { nativeTurnIds: true });
  for (const nativeTurnId of [null, 7, ["turn"]])
    await assert.rejects(prompt({ accept: { nativeTurnId } }), ({ code, message, cause }) => {
      assert.equal(code, "turn_rejected");
      assert.match(message, /nativeTurnId in the answer to turn\/prompt must be text, or be left out/);
      assert.equal(cause.code, "protocol_violation");
      return true;
    });
  assert.equal((await prompt({ accept: { nativeTurnId: "t1" } })).status, "completed");
});

test("an id of a turn that is left out comes with turn_started", async (t) => {
  const { prompt } = await neutral(t, {}, { nativeTurnIds: true });
  const started = { method: "observation", params: { kind: "turn_started", nativeTurnId: "t1" } };
  const ended = { method: "turn/ended", params: { status: "completed", nativeTurnId: "t1" } };
  assert.equal((await prompt({ send: [started, ended], answers: 1 })).status, "completed");
});
