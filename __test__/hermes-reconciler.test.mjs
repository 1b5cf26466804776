// When Hermes is asked for its delegations, and what is counted across its answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createHermesDelegationReconciler, LifecycleError } from "agent-lifecycle";
import * as hermes from "agent-lifecycle/hermes";
import { settled } from "./support/reconciler.mjs";

const record = (childId, state, more = {}) => ({ childId, sessionId: "s", state, ...more });
/** Each is observed a second after the one before, where it does not say when. */
let second = 0;
const time = (seconds) => new Date(Date.parse("2026-05-17T12:00:00Z") + seconds * 1000).toISOString();
const snapshot = (delegations, complete = true, observedAt = time((second += 1))) => ({
  observedAt,
  complete,
  delegations: Object.entries(delegations).map(([child_id, status]) => ({
    child_id,
    session_id: "s",
    status,
  })),
});

/** A reconciler each of whose requests is answered by the test. */
function made(t, options = {}) {
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const [requests, reconciled, told] = [[], [], []];
  const records = [record("a", "running")];
  const reconciler = createHermesDelegationReconciler({
    clock: () => now,
    intervalMs: 1000,
    fetchStatus: (reason, { signal }) =>
      new Promise((answer, fail) => requests.push({ reason, signal, answer, fail })),
    current: () => records,
    onReconciled: (result, reason) => reconciled.push([result, reason]),
    onDiagnostic: (diagnostic) => told.push(diagnostic),
    ...options,
  });
  const answered = async (asked, answer) => {
    requests.at(-1).answer(answer);
    return asked;
  };
  return { reconciler, requests, reconciled, told, records, answered, pass: (ms) => (now += ms) };
}

test("it is one function, from both entries", () => {
  assert.equal(hermes.createHermesDelegationReconciler, createHermesDelegationReconciler);
});

test("requests that overlap share the first one, whose answer is given once", async (t) => {
  const { reconciler, requests, reconciled } = made(t);
  const asked = [reconciler.sessionOpened(), reconciler.reconnected(), reconciler.reconcileIfDue()];
  assert.deepEqual(
    requests.map(({ reason }) => reason),
    ["session_open"],
  );
  requests[0].answer(snapshot({ a: "waiting" }, true, "2026-05-17T12:00:00Z"));
  const input = {
    kind: "snapshot_reconciled",
    childId: "a",
    sessionId: "s",
    state: "waiting",
    observedAt: "2026-05-17T12:00:00Z",
    status: "waiting",
  };
  const intent = {
    kind: "correct_projection",
    childId: "a",
    sessionId: "s",
    from: "running",
    to: "waiting",
    reason: "authoritative_snapshot",
  };
  const expected = { inputs: [input], intents: [intent] };
  for (const one of asked) assert.deepEqual(await one, expected);
  assert.deepEqual(reconciled, [[expected, "session_open"]]);
});

test("it is due at first, after the interval, and after a failure", async (t) => {
  const { reconciler, requests, reconciled, told, pass, answered } = made(t);
  await answered(reconciler.reconcileIfDue(), snapshot({ a: "running" }));
  assert.equal(await reconciler.reconcileIfDue(), undefined);
  pass(999);
  assert.equal(await reconciler.reconcileIfDue(), undefined);
  pass(1);
  const failed = reconciler.reconcileIfDue();
  requests[1].fail(new Error("offline"));
  await assert.rejects(failed, /^Error: offline$/);
  assert.deepEqual([reconciled.length, told.map(({ code }) => code)], [1, ["snapshot_unanswered"]]);
  await answered(reconciler.reconcileIfDue(), snapshot({ a: "running" }));
  assert.equal(await reconciler.reconcileIfDue(), undefined);
  await answered(reconciler.reconnected(), snapshot({ a: "running" }));
  assert.deepEqual(
    requests.map(({ reason }) => reason),
    ["periodic", "periodic", "periodic", "reconnect"],
  );
  assert.equal(reconciled.length, 4 - 1);
});

test("no answer in time, and a snapshot that is none, are failures; nobody has to wait for them", async (t) => {
  const { reconciler, requests, reconciled, told } = made(t, { deadlineMs: 500 });
  void reconciler.sessionOpened();
  t.mock.timers.tick(500);
  await settled();
  assert.equal(requests[0].signal.aborted, true);
  requests[0].answer(snapshot({ a: "failed" }));
  for (const answer of [
    undefined,
    {},
    { ...snapshot({}), complete: "yes" },
    { ...snapshot({}), observedAt: "now" },
  ]) {
    void reconciler.reconcileIfDue();
    requests.at(-1).answer(answer);
    await settled();
  }
  assert.equal(requests.length, 5);
  assert.deepEqual(reconciled, []);
  assert.deepEqual(
    told.map(({ error }) => error.name),
    ["TimeoutError", "LifecycleError", "LifecycleError", "LifecycleError", "LifecycleError"],
  );
});

test("misses are counted across answers by child and session, and begin anew where it is named", async (t) => {
  const { reconciler, answered, records } = made(t, { missingGraceSnapshots: 3 });
  records.push(record("b", "waiting"), record("ended", "completed"), {
    ...record("a", "running"),
    sessionId: "other",
  });
  const stale = async (delegations, complete) => {
    const { intents } = await answered(reconciler.reconnected(), snapshot(delegations, complete));
    return intents.map(({ kind, childId, sessionId }) => `${kind} ${childId}@${sessionId}`);
  };
  assert.deepEqual(await stale({ b: "waiting" }), []);
  assert.deepEqual(await stale({ b: "waiting" }), []);
  // An incomplete one counts nothing, and forgets nothing.
  assert.deepEqual(await stale({}, false), []);
  assert.deepEqual(await stale({ b: "waiting" }), ["mark_stale_unknown a@s", "mark_stale_unknown a@other"]);
  assert.deepEqual(await stale({ a: "running" }), ["mark_stale_unknown a@other"]);
  assert.deepEqual(await stale({ b: "waiting" }), ["mark_stale_unknown a@other"]);
  assert.deepEqual(await stale({ b: "waiting" }), ["mark_stale_unknown a@other"]);
  assert.deepEqual(await stale({ b: "waiting" }), ["mark_stale_unknown a@s", "mark_stale_unknown a@other"]);
});

test("a failure between answers counts nothing", async (t) => {
  const { reconciler, requests, answered } = made(t);
  assert.deepEqual((await answered(reconciler.sessionOpened(), snapshot({}))).intents, []);
  const failed = reconciler.reconnected();
  requests.at(-1).fail(new Error("offline"));
  await assert.rejects(failed);
  const { intents } = await answered(reconciler.reconcileIfDue(), snapshot({}));
  assert.deepEqual(
    intents.map(({ kind }) => kind),
    ["mark_stale_unknown"],
  );
});

test("a status that is not understood is told of; the others count", async (t) => {
  const { reconciler, told, records, answered } = made(t);
  records.push(record("b", "running"));
  const { inputs, intents } = await answered(
    reconciler.sessionOpened(),
    snapshot({ a: "exploded", b: "completed" }),
  );
  assert.deepEqual(
    [inputs.map(({ childId }) => childId), intents.map(({ to }) => to)],
    [["b"], ["completed"]],
  );
  assert.deepEqual(
    told.map(({ code, error }) => [code, error.childId]),
    [["invalid_state", "a"]],
  );
});

test("records may be a list, a Map, or a function, and are looked at when the answer is there", async (t) => {
  const list = [record("a", "running")];
  for (const current of [list, new Map([["any", list[0]]]), () => new Set(list)]) {
    const { reconciler, answered } = made(t, { current });
    const { intents } = await answered(reconciler.sessionOpened(), snapshot({ a: "failed" }));
    assert.deepEqual([intents[0].from, intents[0].to], ["running", "failed"]);
  }
  const { reconciler, records, answered } = made(t);
  const asked = reconciler.sessionOpened();
  records[0] = record("a", "failed");
  assert.deepEqual(await answered(asked, snapshot({ a: "running" })), { inputs: [], intents: [] });
});

test("what onReconciled throws is told and costs nothing; a clock may be an object", async (t) => {
  let now = 0;
  const { reconciler, told, answered } = made(t, {
    clock: { now: () => now },
    onReconciled() {
      throw new Error("broken");
    },
  });
  const { intents } = await answered(reconciler.sessionOpened(), snapshot({ a: "failed" }));
  assert.deepEqual([intents.length, told.map(({ code }) => code)], [1, ["callback_failed"]]);
  now = 999;
  assert.equal(await reconciler.reconcileIfDue(), undefined);
  now = 1000;
  assert.notEqual(await answered(reconciler.reconcileIfDue(), snapshot({ a: "failed" })), undefined);
});

const at = (fraction) => `2026-05-17T12:00:01${fraction}Z`;

test("a snapshot that was seen before, or is older than the last, has no effect and counts no miss", async (t) => {
  const named = { b: "running" };
  for (const [what, next] of [
    ["the same", snapshot(named, true, at(".5"))],
    ["older by a second", snapshot(named, true, "2026-05-17T12:00:00.5Z")],
    ["older by a nanosecond", snapshot(named, true, at(".499999999"))],
    ["older without a fraction", snapshot(named, true, at(""))],
    ["older, and it would correct", snapshot({ a: "failed", b: "exploded" }, true, at(".4"))],
  ]) {
    const { reconciler, told, reconciled, answered } = made(t);
    const nothing = { inputs: [], intents: [] };
    const first = await answered(reconciler.sessionOpened(), snapshot({ b: "running" }, true, at(".5")));
    assert.deepEqual([first.inputs.length, first.intents], [1, []], what);
    assert.deepEqual(await answered(reconciler.reconnected(), next), nothing, what);
    assert.deepEqual([reconciled.length, told], [2, []], what);
    // The next one that is newer is the second miss of `a`.
    const { intents } = await answered(reconciler.reconnected(), snapshot(named, true, at(".500000001")));
    assert.deepEqual(
      intents.map(({ kind, childId }) => [kind, childId]),
      [["mark_stale_unknown", "a"]],
      what,
    );
  }
});

test("another snapshot of the same time counts", async (t) => {
  const { reconciler, answered } = made(t);
  await answered(reconciler.sessionOpened(), snapshot({ a: "running" }, true, at("")));
  const { intents } = await answered(reconciler.reconnected(), snapshot({ a: "failed" }, true, at("")));
  assert.equal(intents[0].to, "failed");
});

test("a snapshot is read once, as JSON would write it", async (t) => {
  const { reconciler, answered } = made(t);
  const written = snapshot({});
  const answer = { complete: false, toJSON: () => written };
  assert.deepEqual((await answered(reconciler.sessionOpened(), answer)).intents, []);
  let reads = 0;
  const changing = Object.defineProperty(snapshot({}), "complete", {
    enumerable: true,
    get: () => (reads += 1) === 1,
  });
  const { intents } = await answered(reconciler.reconnected(), changing);
  assert.deepEqual([reads, intents.map(({ kind }) => kind)], [1, ["mark_stale_unknown"]]);
});

test("a clock that fails is told of once, and every call settles", async (t) => {
  for (const broken of [
    () => {
      throw new Error("no clock");
    },
    () => Number.NaN,
    () => "5",
    () => Infinity,
  ]) {
    const { reconciler, told, answered } = made(t, { clock: broken, intervalMs: 3_600_000 });
    await answered(reconciler.sessionOpened(), snapshot({ a: "running" }));
    assert.equal(await reconciler.reconcileIfDue(), undefined, "an hour of real time is not over");
    await answered(reconciler.reconnected(), snapshot({ a: "running" }));
    assert.deepEqual(
      told.map(({ code, message }) => [code, message.startsWith("clock failed")]),
      [["callback_failed", true]],
      String(broken),
    );
  }
});

test("options are judged by name", () => {
  const given = { intervalMs: 1000, fetchStatus() {}, current: [] };
  createHermesDelegationReconciler(given);
  for (const [changes, member] of [
    [{ intervalMs: undefined }, "intervalMs"],
    [{ intervalMs: 0 }, "intervalMs"],
    [{ intervalMs: -5 }, "intervalMs"],
    [{ intervalMs: Infinity }, "intervalMs"],
    [{ intervalMs: Number.NaN }, "intervalMs"],
    [{ intervalMs: "5" }, "intervalMs"],
    [{ deadlineMs: 0 }, "deadlineMs"],
    [{ fetchStatus: undefined }, "fetchStatus"],
    [{ fetchStatus: {} }, "fetchStatus"],
    [{ current: undefined }, "current"],
    [{ current: "abc" }, "current"],
    [{ current: {} }, "current"],
    [{ clock: 5 }, "clock"],
    [{ clock: {} }, "clock"],
    [{ clock: null }, "clock"],
    [{ onReconciled: 5 }, "onReconciled"],
    [{ onDiagnostic: 5 }, "onDiagnostic"],
    [{ missingGraceSnapshots: 0 }, "missingGraceSnapshots"],
    [{ missingGraceSnapshots: 1.5 }, "missingGraceSnapshots"],
    [{ missingGraceSnapshots: "2" }, "missingGraceSnapshots"],
    [{ interval: 5 }, "interval"],
  ]) {
    assert.throws(
      () => createHermesDelegationReconciler({ ...given, ...changes }),
      (error) => error instanceof LifecycleError && error.code === "invalid_option" && error.path === member,
      JSON.stringify(changes),
    );
  }
});
