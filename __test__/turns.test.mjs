// The sequencer and the registry as the package exports them: crossing, errors, races, and the way to rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ApprovalRegistry,
  LifecycleError,
  LifecycleProjector,
  TurnSequencer,
  bridgeAgentEvents,
  bridgeSemanticEvents,
  hostStatus,
  validateAgentLifecycleEvent,
} from "agent-lifecycle";

const at = "2026-05-17T12:00:00Z";

function sequencer(options = {}) {
  const turns = new TurnSequencer({
    productSessionId: "ps_1",
    generation: 1,
    nativeTurnIds: false,
    ...options,
  });
  return { turns, say: (...inputs) => inputs.flatMap((input) => turns.push({ at, ...input })) };
}

function inTurn(options) {
  const made = sequencer(options);
  made.say({ input: "begin", turnId: "t1" }, { input: "accepted", turnId: "t1" });
  return made;
}

const seen = (kind, more) => ({ input: "observation", kind, ...more });
const cumulative = (text, more) => seen("assistant", { text: { cumulative: text }, ...more });
const asked = (more = {}) => ({
  ask: "approval",
  nativeId: 0,
  turnId: "t1",
  kind: "command",
  decisions: [
    { id: "yes", label: "Allow" },
    { id: "no", label: "Deny" },
  ],
  ...more,
});

/** A registry that writes at once, and what it told. */
function registry(options = {}) {
  const told = [];
  const written = [];
  const requests = new ApprovalRegistry({
    generation: 1,
    write: (reply) => void written.push(reply),
    onResolved: (resolved) => void told.push(resolved),
    ...options,
  });
  return { requests, told, written };
}

test("inputs go in and events come out", () => {
  const { turns, say } = inTurn();
  assert.deepEqual(turns.push({ at, ...seen("assistant", { text: { delta: "Hello, " } }) }), [
    {
      kind: "assistant_delta",
      contentIndex: 0,
      text: "Hello, ",
      productSessionId: "ps_1",
      generation: 1,
      sequence: 2,
      at,
      turnId: "t1",
    },
  ]);
  const [, message, end] = say(seen("assistant", { text: { delta: "you" }, done: true }), {
    input: "terminal",
    status: "completed",
  });
  assert.deepEqual([message.text, message.truncated], ["Hello, you", undefined]);
  assert.deepEqual([end.kind, end.status, end.confirmed], ["turn_completed", "completed", true]);
  const { turn, events, dropped } = turns.stats();
  assert.deepEqual([turn, events], [null, end.sequence]);
  assert.ok(Object.values(dropped).every((count) => count === 0));
  assert.deepEqual(turns.turnOf(), { isOver: false });
});

test("wrong options and inputs are refused by name, and change nothing", () => {
  const good = { productSessionId: "ps_1", generation: 1, nativeTurnIds: true };
  for (const [options, code, path] of [
    [{ ...good, productSessionId: " " }, "invalid_id", "productSessionId"],
    [{ ...good, productSessionId: 1 }, "invalid_argument", "productSessionId"],
    [{ ...good, generation: -1 }, "invalid_option", "generation"],
    [{ ...good, generation: "1" }, "invalid_option", "generation"],
    [{ ...good, generation: undefined }, "invalid_option", "generation"],
    [{ ...good, nativeTurnIds: 1 }, "invalid_option", "nativeTurnIds"],
    [{ ...good, nativeTurnIds: undefined }, "invalid_option", "nativeTurnIds"],
    [{ ...good, secrets: ["short"] }, "invalid_option", "secrets[0]"],
    [{ ...good, secret: "x" }, "invalid_option", "secret"],
  ]) {
    assert.throws(
      () => new TurnSequencer(options),
      (error) => error instanceof LifecycleError && error.code === code && error.path === path,
      JSON.stringify(options),
    );
  }
  const { turns } = sequencer();
  const cycle = {};
  cycle.self = cycle;
  for (const [input, path] of [
    [undefined, "$"],
    [[], "input"],
    [{ at, input: "begin" }, "turnId"],
    [{ at: "now", input: "close" }, "at"],
    [{ at, ...seen("assistant", { text: "x" }) }, "text"],
    [{ at, ...seen("plan", { plan: cycle }) }, "$"],
  ]) {
    assert.throws(
      () => turns.push(input),
      (error) => error instanceof LifecycleError && error.code === "invalid_argument" && error.path === path,
    );
  }
  assert.throws(() => turns.hide("short"), { code: "invalid_option", path: "secret" });
  assert.equal(turns.stats().events, 0);
});

test("A4: a secret cut at every index over two deltas, in the middle of characters too", () => {
  const secret = "zq7-\u{1F600}Kx!\u{1F601}9vW";
  for (let cut = 0; cut <= secret.length; cut++) {
    const { say } = inTurn({ secrets: [secret] });
    const said = say(
      seen("assistant", { text: { delta: `a ${secret.slice(0, cut)}` } }),
      seen("assistant", { text: { delta: `${secret.slice(cut)} b` }, done: true }),
    );
    assert.equal(said.at(-1).text, "a [REDACTED] b", `cut at ${cut}`);
    const deltas = said.filter(({ kind }) => kind === "assistant_delta").map(({ text }) => text);
    assert.equal(deltas.join(""), "a [REDACTED] b");
  }
  const { say } = inTurn();
  const said = say(cumulative("\u{1F600} \ud83d"), cumulative("\u{1F600} \u{1F601} x", { done: true }));
  assert.equal(said.at(-1).text, "\u{1F600} \u{1F601} x");
});

test("an approval is answered: claimed, written, resolved, told", async () => {
  const { requests, told, written } = registry();
  const { status, approval } = requests.open(asked());
  assert.deepEqual([status, approval.requestId, approval.kind], ["opened", "request-1-1", "command"]);
  assert.deepEqual(requests.pending(), { approvals: [approval], userInputs: [] });
  const resolution = { requestId: "request-1-1", outcome: "responded", decision: "yes" };
  assert.deepEqual(await requests.respondToApproval("request-1-1", "yes"), resolution);
  const native = { turnId: "t1", nativeId: 0 };
  assert.deepEqual(written, [{ requestId: "request-1-1", ask: "approval", native, decision: "yes" }]);
  assert.deepEqual(told, [{ ...resolution, ask: "approval", native }]);
  assert.deepEqual(requests.pending(), { approvals: [], userInputs: [] });
  await assert.rejects(requests.respondToApproval("request-1-1", "yes"), {
    name: "TurnError",
    code: "already_resolved",
    phase: "respond",
    correlationId: "request-1-1",
    details: { outcome: "responded" },
  });
  await assert.rejects(requests.respondToApproval("request-1-7", "yes"), { code: "unknown_request" });
});

test("A1: native ids restart at 0 each turn", async () => {
  const { requests, told } = registry();
  const first = requests.open(asked()).approval.requestId;
  const second = requests.open(asked({ turnId: "t2" })).approval.requestId;
  await requests.respondToApproval(first, "yes");
  assert.deepEqual(
    requests.pending().approvals.map(({ requestId }) => requestId),
    [second],
  );
  assert.equal(told.length, 1);
});

test("A2: a malformed answer is refused, and the request is still pending", async () => {
  const { requests, told, written } = registry();
  const { requestId } = requests.open(asked()).approval;
  for (const decision of ["maybe", "", undefined, 1, {}, null]) {
    await assert.rejects(requests.respondToApproval(requestId, decision), {
      name: "TurnError",
      code: "invalid_answer",
      details: { path: "decision" },
    });
  }
  await assert.rejects(requests.respondToUserInput(requestId, {}), { code: "invalid_answer" });
  assert.deepEqual([requests.pending().approvals.length, told, written], [1, [], []]);
  await requests.respondToApproval(requestId, "no");
});

test("A3: an answer and a deadline race a thousand times: one outcome, and the caller is told that one", async () => {
  const seenOutcomes = new Map();
  for (let round = 0; round < 1000; round++) {
    const { requests, told } = registry({
      // Written at once, in a microtask, or in a later turn of the loop.
      write: () => [undefined, Promise.resolve(), new Promise(setImmediate)][round % 3],
    });
    const { requestId } = requests.open(asked()).approval;
    const expire = async () => {
      for (let wait = 0; wait < round % 7; wait++) await undefined;
      if (round % 5 === 0) await new Promise(setImmediate);
      return requests.expire(requestId)?.outcome;
    };
    const answer = async () => {
      for (let wait = 0; wait < round % 4; wait++) await undefined;
      return requests.respondToApproval(requestId, "yes").then(
        ({ outcome }) => outcome,
        ({ code, details }) => {
          assert.equal(code, "already_resolved");
          return details.outcome;
        },
      );
    };
    const order = round % 2 === 0 ? [expire, answer] : [answer, expire];
    const results = await Promise.all(order.map((run) => run()));
    const [expired, answered] = round % 2 === 0 ? results : results.toReversed();
    assert.equal(told.length, 1);
    const [{ outcome }] = told;
    assert.equal(answered, outcome);
    assert.equal(expired, outcome === "expired" ? "expired" : undefined);
    seenOutcomes.set(outcome, (seenOutcomes.get(outcome) ?? 0) + 1);
  }
  assert.ok(seenOutcomes.get("responded") > 100 && seenOutcomes.get("expired") > 100, [...seenOutcomes]);
});

test("a second answer waits for the first, and is told what became of it", async () => {
  let finish;
  const { requests } = registry({ write: () => new Promise((resolve) => (finish = resolve)) });
  const { requestId } = requests.open(asked()).approval;
  const first = requests.respondToApproval(requestId, "yes");
  const second = requests.respondToApproval(requestId, "no");
  finish();
  assert.equal((await first).decision, "yes");
  await assert.rejects(second, { code: "already_resolved", details: { outcome: "responded" } });
});

test("an answer that cannot be written clears the request; an end while it is written counts", async () => {
  const { requests, told } = registry({
    write: () => {
      throw new Error("pipe");
    },
  });
  const { requestId } = requests.open(asked()).approval;
  await assert.rejects(requests.respondToApproval(requestId, "yes"), (error) => {
    assert.deepEqual([error.code, error.cause.message], ["answer_not_written", "pipe"]);
    assert.ok(!JSON.stringify(error).includes("pipe"));
    return true;
  });
  assert.deepEqual(
    told.map(({ outcome, decision }) => [outcome, decision]),
    [["cleared", undefined]],
  );

  // Nobody waits for a write that never settles; other content under the same key ends a request too.
  const other = registry({ write: () => new Promise(() => {}) });
  const open = other.requests.open(asked()).approval.requestId;
  const answer = other.requests.respondToApproval(open, "yes");
  const second = other.requests.respondToApproval(open, "no");
  assert.deepEqual(other.requests.clear({ turnId: "t1" }, "aborted"), [
    { requestId: open, outcome: "aborted" },
  ]);
  for (const answered of [answer, second]) {
    await assert.rejects(answered, { code: "already_resolved", details: { outcome: "aborted" } });
  }
  const next = other.requests.open(asked()).approval.requestId;
  const late = other.requests.respondToApproval(next, "yes");
  assert.deepEqual(other.requests.open(asked({ detail: "other" })).replaced, {
    requestId: next,
    outcome: "cleared",
  });
  await assert.rejects(late, { code: "already_resolved", details: { outcome: "cleared" } });
  assert.deepEqual(
    other.told.map((end) => [end.requestId, end.outcome]),
    [
      [open, "aborted"],
      [next, "cleared"],
    ],
  );
});

test("a secret that cannot be hidden is not written", async () => {
  const { requests, written } = registry({
    onSecret() {
      throw new Error("full");
    },
  });
  const questions = [{ id: "key", question: "The key?", secret: true }];
  const { userInput } = requests.open({ ask: "userInput", nativeId: 1, questions });
  await assert.rejects(requests.respondToUserInput(userInput.requestId, { key: { text: "correct horse" } }), {
    code: "answer_not_written",
  });
  assert.deepEqual([written, requests.pending().userInputs], [[], []]);
});

test("secret answers are in nothing that is shown, and are hidden from then on", async () => {
  const { turns, say } = inTurn();
  const replies = [];
  const { requests, told } = registry({
    write: (reply) => {
      replies.push(reply);
      throw new Error(`cannot write ${JSON.stringify(reply)}`);
    },
    onSecret: (secret) => turns.hide(secret),
  });
  const { userInput } = requests.open({
    ask: "userInput",
    nativeId: "q",
    turnId: "t1",
    questions: [{ id: "key", question: "The key?", secret: true }],
  });
  const shown = say({ input: "requestOpened", userInput });
  const error = await requests
    .respondToUserInput(userInput.requestId, { key: { text: "correct horse" } })
    .catch((thrown) => thrown);
  assert.equal(replies[0].answers.key.text, "correct horse");
  assert.deepEqual([error.code, error.cause], ["answer_not_written", undefined]);
  shown.push(...say({ input: "requestResolved", ...told[0] }));
  shown.push(...say(seen("assistant", { text: { delta: "I got correct horse " }, done: true })));
  const all = JSON.stringify([shown, told, error, requests.pending(), turns.stats()]);
  assert.ok(!all.includes("horse"), all);
  assert.ok(all.includes("I got [REDACTED] "));
});

test("wrong options and requests of a registry are refused by name", () => {
  const good = { generation: 1, write() {} };
  for (const [options, path] of [
    [{ generation: 1 }, "write"],
    [{ ...good, write: 1 }, "write"],
    [{ ...good, generation: 1.5 }, "generation"],
    [{ ...good, onResolved: 1 }, "onResolved"],
    [{ ...good, onAnswer() {} }, "onAnswer"],
  ]) {
    assert.throws(() => new ApprovalRegistry(options), { code: "invalid_option", path });
  }
  const { requests } = registry();
  assert.throws(() => requests.open(asked({ nativeId: undefined })), {
    code: "invalid_argument",
    path: "nativeId",
  });
  assert.throws(() => requests.clear({}, "responded"), { code: "invalid_argument", path: "outcome" });
  assert.throws(() => requests.clear({ id: "x" }), { code: "invalid_option", path: "id" });
  const { status, code, message } = requests.open(asked({ detail: "x".repeat(4001) }));
  assert.deepEqual([status, code], ["refused", "request_too_large"]);
  assert.match(message, /^detail must have at most 4000/);
});

/** A session from its inputs to its row. */
function session() {
  const { turns } = sequencer();
  const semantic = bridgeSemanticEvents({ title: "Fix the build" });
  const bridge = bridgeAgentEvents({ source: "runtime/1", sourceEpoch: "1", sessionId: "ps_1" });
  const projector = new LifecycleProjector();
  let seconds = 0;
  return {
    row: () => projector.list()[0],
    push(...inputs) {
      for (const input of inputs) {
        const time = new Date(Date.UTC(2026, 4, 17, 12, 0, seconds++)).toISOString();
        for (const event of turns.push({ at: time, ...input }).flatMap((said) => semantic.push(said))) {
          assert.ok(validateAgentLifecycleEvent(event).ok, JSON.stringify(event));
          for (const made of bridge.push(event)) projector.apply(made);
        }
      }
      const row = projector.list()[0];
      return row && [row.state, row.waitingReason, hostStatus(row)];
    },
    after: (more) => (seconds += more),
  };
}

const approval = (requestId, turnId) => ({
  input: "requestOpened",
  approval: { requestId, ...(turnId && { turnId }), kind: "command", decisions: [] },
});
const resolved = (requestId) => ({ input: "requestResolved", requestId, outcome: "responded" });
const begun = (turnId) => [
  { input: "begin", turnId },
  { input: "accepted", turnId },
];

test("a runtime session is a row like any other, from start to exit", () => {
  const { push, row, after } = session();
  assert.deepEqual(push(seen("adapter", { state: "starting" })), ["starting", null, "working"]);
  assert.deepEqual(push(seen("adapter", { state: "ready" })), ["waiting", "prompt", "idle"]);
  assert.deepEqual(push(...begun("t1")), ["running", null, "working"]);
  assert.deepEqual(
    [row().title, row().turn, row().waits],
    ["Fix the build", { turnId: "t1", open: true }, []],
  );
  push(seen("tool_started", { nativeItemId: 7, toolName: "Bash" }));
  assert.deepEqual(
    row().tools.open.map(({ toolId, name }) => [toolId, name]),
    [["tool-1-1", "Bash"]],
  );
  after(20);
  push(seen("assistant", { text: { delta: "long text " } }));
  assert.equal(row().freshness.at, "2026-05-17T12:00:25Z");
  assert.deepEqual(push({ input: "terminal", status: "completed" }), ["waiting", "prompt", "idle"]);
  assert.deepEqual([row().turns.recent, row().tools.open], [[{ turnId: "t1", outcome: "success" }], []]);
  push(...begun("t2"), { input: "abort" }, { input: "terminal", status: "interrupted" });
  push(...begun("t3"), { input: "terminal", status: "failed" });
  assert.deepEqual(
    row().turns.recent.map(({ outcome }) => outcome),
    ["success", "cancelled", "error"],
  );
  assert.deepEqual(push({ input: "close" }), ["failed", null, "done"]);
});

test("an exit in a turn fails it, and a process that starts again is the next attempt", () => {
  const { push, row } = session();
  push(seen("adapter", { state: "starting" }), ...begun("t1"));
  assert.deepEqual(push({ input: "exit", exitCode: 3221225477 }), ["failed", null, "done"]);
  assert.equal(row().outcome.signal, "exit code 3221225477");
  push(seen("adapter", { state: "starting" }), seen("adapter", { state: "ready" }));
  assert.deepEqual([row().attempt, row().lateEvidence], [1, 0]);
  assert.deepEqual(push(...begun("t2")), ["running", null, "working"]);
  assert.equal(row().attempt, 2);
});

test("S5: two approvals, a tool of another call, and running at once when both are resolved", () => {
  const { push, row } = session();
  push(...begun("t1"));
  const waiting = ["waiting", "permission", "waiting"];
  assert.deepEqual(push(approval("a1", "t1")), waiting);
  assert.deepEqual(push(approval("a2", "t1")), waiting);
  assert.deepEqual(push(seen("tool_started", { nativeItemId: "other", toolName: "Read" })), waiting);
  assert.deepEqual(push(seen("tool_finished", { nativeItemId: "other" })), waiting);
  assert.deepEqual(push(resolved("a1")), waiting);
  assert.deepEqual(
    row().waits.map(({ waitId, reason }) => [waitId, reason]),
    [["a2", "permission"]],
  );
  assert.deepEqual(push(resolved("a2")), ["running", null, "working"]);
  assert.deepEqual(row().waits, []);
});

test("questions have their reason, and a request of no turn outlives turns", () => {
  const { push } = session();
  const questions = [{ id: "q", question: "Which?" }];
  push(...begun("t1"));
  assert.deepEqual(
    push({ input: "requestOpened", userInput: { requestId: "q1", turnId: "t1", questions } }),
    ["waiting", "question", "waiting"],
  );
  // A turn's end clears what was open in it.
  assert.deepEqual(push({ input: "terminal", status: "completed" }), ["waiting", "prompt", "idle"]);
  assert.deepEqual(push(approval("s1")), ["waiting", "permission", "waiting"]);
  assert.deepEqual(push(...begun("t2")), ["waiting", "permission", "waiting"]);
  assert.deepEqual(push({ input: "terminal", status: "completed" }), ["waiting", "permission", "waiting"]);
  push(...begun("t3"));
  assert.deepEqual(push(resolved("s1")), ["running", null, "working"]);
});
