// What Hermes says of its delegations, through the public functions: the tables of the core, and what only JavaScript can get wrong.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as main from "agent-lifecycle";
import * as hermes from "agent-lifecycle/hermes";

const { normalizeHermesDelegationEvent, reconcileHermesDelegationStatus } = hermes;
const at = "2026-05-17T12:00:00Z";
const event = (changes) => ({
  type: "subagent.start",
  child_id: "c",
  session_id: "s",
  observed_at: at,
  ...changes,
});
const snapshot = (delegations, complete = true) => ({ observedAt: at, complete, delegations });
const delegation = (child_id, status) => ({ child_id, session_id: "s", status });
const record = (childId, state) => ({ childId, sessionId: "s", state });

test("the entry and the main entry give the same functions", () => {
  for (const [name, value] of Object.entries(hermes)) {
    if (!["default", "module.exports", "__esModule"].includes(name)) assert.equal(main[name], value, name);
  }
});

for (const [type, kind, state] of [
  ["subagent.spawn_requested", "created", "created"],
  ["subagent.start", "state_changed", "running"],
  ["subagent.thinking", "activity", "running"],
  ["subagent.tool", "activity", "running"],
  ["subagent.tool.started", "activity", "running"],
  ["subagent.progress", "activity", "running"],
  ["subagent.complete", "state_changed", "completed"],
]) {
  test(`${type} is ${kind}, ${state}`, () => {
    assert.deepEqual(normalizeHermesDelegationEvent(event({ type })), {
      kind,
      childId: "c",
      sessionId: "s",
      state,
      observedAt: at,
    });
  });
}

test("what is passed on comes under its name", () => {
  const given = event({
    tool_name: "bash",
    goal: "fix the build",
    parent_id: "p",
    model: "m",
    status: "active",
    summary: "done",
    duration: 2,
    tokens: { input: 1 },
    files: ["a"],
    output_tail: ["b"],
  });
  const { kind: _, state: __, ...passed } = normalizeHermesDelegationEvent(given);
  assert.deepEqual(passed, {
    childId: "c",
    sessionId: "s",
    observedAt: at,
    currentTool: "bash",
    activity: "fix the build",
    parentId: "p",
    model: "m",
    status: "active",
    summary: "done",
    duration: 2,
    tokens: { input: 1 },
    files: ["a"],
    outputTail: ["b"],
  });
});

for (const [what, value, code, path] of [
  ["nothing", undefined, "invalid_event", "$"],
  ["text", "subagent.start", "invalid_event", "$"],
  ["a cycle", Object.assign(event({}), { self: undefined }), undefined],
  ["a BigInt", event({ tokens: 1n }), "invalid_event", "$"],
  ["an unknown type", event({ type: "subagent.done" }), "invalid_kind", "$.type"],
  ["an unknown status", event({ type: "subagent.complete", status: "timeout" }), "invalid_state", "$.status"],
  ["no child", event({ child_id: undefined }), "invalid_id", "$.child_id"],
  ["a NUL", event({ session_id: "a\0b" }), "invalid_id", "$.session_id"],
  ["a lone surrogate", event({ child_id: "a\ud800" }), "invalid_id", "$.child_id"],
  ["no time", event({ observed_at: undefined }), "invalid_timestamp", "$.observed_at"],
]) {
  if (what === "a cycle") value.self = value;
  test(`an event that is ${what} is refused`, () => {
    const expected = what === "a cycle" ? { code: "invalid_event", path: "$" } : { code, path };
    assert.throws(() => normalizeHermesDelegationEvent(value), { name: "LifecycleError", ...expected });
  });
}

test("a complete snapshot: exactly inputs and intents, each with kind, child and session", () => {
  const result = reconcileHermesDelegationStatus(
    snapshot([delegation("new", "active"), delegation("moved", "waiting"), delegation("same", "running")]),
    [
      record("moved", "running"),
      record("same", "running"),
      record("gone", "running"),
      record("over", "failed"),
    ],
    { missingGraceSnapshots: 1 },
  );
  assert.deepEqual(result, {
    inputs: [
      {
        kind: "snapshot_reconciled",
        childId: "new",
        sessionId: "s",
        state: "running",
        observedAt: at,
        status: "active",
      },
      {
        kind: "snapshot_reconciled",
        childId: "moved",
        sessionId: "s",
        state: "waiting",
        observedAt: at,
        status: "waiting",
      },
    ],
    intents: [
      {
        kind: "correct_projection",
        childId: "moved",
        sessionId: "s",
        from: "running",
        to: "waiting",
        reason: "authoritative_snapshot",
      },
      {
        kind: "mark_stale_unknown",
        childId: "gone",
        sessionId: "s",
        from: "running",
        reason: "complete_snapshot_missing",
      },
    ],
  });
});

for (const [what, current, misses] of [
  ["an array and a Map", [record("a", "running")], new Map([["a\0s", 1]])],
  ["a Map and an object", new Map([["a\0s", record("a", "running")]]), { "a\0s": 1 }],
  ["a Set and an object", new Set([record("a", "running")]), { "a\0s": 1 }],
]) {
  test(`records and misses come as ${what}; the default grace is two`, () => {
    for (const [consecutiveCompleteMisses, marked] of [
      [undefined, 0],
      [misses, 1],
    ]) {
      const { intents } = reconcileHermesDelegationStatus(snapshot([]), current, {
        consecutiveCompleteMisses,
      });
      assert.equal(intents.length, marked);
    }
  });
}

test("an incomplete snapshot only refreshes", () => {
  const { inputs, intents } = reconcileHermesDelegationStatus(
    snapshot([delegation("a", "running"), delegation("b", "failed"), delegation("c", "running")], false),
    [record("a", "running"), record("b", "running"), record("d", "running")],
    { missingGraceSnapshots: 1 },
  );
  assert.deepEqual(
    inputs.map(({ childId, state }) => [childId, state]),
    [["a", "running"]],
  );
  assert.deepEqual(intents, []);
});

test("a status that is not understood refuses the snapshot, or is handed over and concludes nothing", () => {
  const odd = snapshot([delegation("a", "exploded"), delegation("b", "waiting")]);
  const current = [record("a", "running"), record("b", "running")];
  assert.throws(() => reconcileHermesDelegationStatus(odd, current), {
    code: "invalid_state",
    path: "$.delegations[0].status",
  });
  const refused = [];
  const { inputs, intents } = reconcileHermesDelegationStatus(odd, current, {
    missingGraceSnapshots: 1,
    onRefused: (refusal) => refused.push(refusal),
  });
  assert.deepEqual(
    [...inputs, ...intents].map(({ childId }) => childId),
    ["b", "b"],
  );
  assert.deepEqual(
    refused.map(({ childId, sessionId, code, path }) => ({ childId, sessionId, code, path })),
    [{ childId: "a", sessionId: "s", code: "invalid_state", path: "$.delegations[0].status" }],
  );
});

for (const [what, args, code] of [
  ["no snapshot", [undefined, []], "invalid_snapshot"],
  ["no word on completeness", [{ observedAt: at, delegations: [] }, []], "invalid_snapshot"],
  ["no records", [snapshot([]), undefined], "invalid_event"],
  ["records that are text", [snapshot([]), "running"], "invalid_event"],
  ["a record without a state", [snapshot([]), [{ childId: "a", sessionId: "s" }]], "invalid_state"],
  ["a grace of 0", [snapshot([]), [], { missingGraceSnapshots: 0 }], "invalid_option"],
  ["a grace that is text", [snapshot([]), [], { missingGraceSnapshots: "2" }], "invalid_option"],
  ["misses below 0", [snapshot([]), [], { consecutiveCompleteMisses: { a: -1 } }], "invalid_event"],
  ["a misspelt option", [snapshot([]), [], { grace: 2 }], "invalid_option"],
  ["onRefused that is no function", [snapshot([]), [], { onRefused: 1 }], "invalid_option"],
]) {
  test(`a call with ${what} is refused`, () => {
    assert.throws(() => reconcileHermesDelegationStatus(...args), { name: "LifecycleError", code });
  });
}
