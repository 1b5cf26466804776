// What has to be seen before a host trusts lifecycle evidence: each point end to end, through the public API alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  JsonlLifecycleParser,
  LifecycleError,
  LifecycleProjector,
  createHermesDelegationReconciler,
  createReconciler,
  statusReport,
} from "agent-lifecycle";

const START = Date.parse("2026-05-17T12:00:00Z");
const at = (seconds) => new Date(START + seconds * 1000).toISOString().replace(".000Z", "Z");
const lineage = { rootChildId: "worker", attempt: 1, external: false };
const identity = { schemaVersion: 1, source: "host", sourceEpoch: "boot-1", childId: "worker", lineage };
const KINDS = {
  created: "created",
  completed: "terminal",
  failed: "terminal",
  cancelled: "terminal",
  lost: "terminal",
};

/** A state event of the child, observed as many seconds after the start as its number. */
const state = (number, name, more = {}) => ({
  ...identity,
  eventId: `e${number}`,
  sequence: number,
  observedAt: at(number),
  kind: KINDS[name] ?? "state_changed",
  state: name,
  ...more,
});
const say = (number, kind, more = {}) => ({
  ...identity,
  eventId: `e${number}`,
  sequence: number,
  observedAt: at(number),
  kind,
  ...more,
});
const path = (...names) => names.map((name, index) => state(index + 1, name));
const snapshot = (snapshotId, seconds, children, more = {}) => ({
  complete: true,
  source: "host",
  sourceEpoch: "boot-1",
  snapshotId,
  observedAt: at(seconds),
  coverage: "all",
  children,
  ...more,
});

const results = async (asked) =>
  (await asked).result.results.map(({ status, code, record }) => [
    record.childId,
    status,
    code,
    record.state,
  ]);
const line = (event) => `${JSON.stringify(event)}\n`;

test("verification 1: a legal path to a terminal state; invalid transitions are rejected", () => {
  const projector = new LifecycleProjector();
  const walked = path("created", "starting", "running", "waiting", "running", "completed").map((event) => {
    const { status, record } = projector.apply(event);
    assert.equal(projector.list()[0].state, event.state);
    return [status, record.state];
  });
  assert.deepEqual(walked, [
    ["applied", "created"],
    ["applied", "starting"],
    ["applied", "running"],
    ["applied", "waiting"],
    ["applied", "running"],
    ["applied", "completed"],
  ]);
  for (const [way, next] of [
    [["created"], "running"],
    [["created"], "waiting"],
    [["created"], "completed"],
    [["created", "starting"], "completed"],
    [["created", "starting", "running"], "starting"],
    [["created", "starting", "waiting"], "starting"],
  ]) {
    const other = new LifecycleProjector();
    other.applyMany(path(...way));
    const from = way.at(-1);
    const event = state(way.length + 1, next);
    assert.throws(
      () => other.apply(event),
      (error) =>
        error instanceof LifecycleError &&
        error.code === "illegal_transition" &&
        error.message.includes("Illegal transition") &&
        error.message.includes(from) &&
        error.message.includes(next),
      `${from} -> ${next}`,
    );
    const { status, error } = other.tryApply(event);
    assert.deepEqual([status, error.code], ["refused", "illegal_transition"]);
    // A refused event leaves no trace: its number is free.
    assert.equal(other.snapshot("host", "worker").state, from);
    assert.equal(other.apply(say(way.length + 1, "heartbeat")).status, "applied");
  }
  for (const end of ["completed", "failed", "cancelled", "lost"]) {
    const ended = new LifecycleProjector();
    ended.applyMany(path("created", "starting", "running", end));
    for (const [offset, next] of [
      "running",
      "waiting",
      "completed",
      "failed",
      "cancelled",
      "lost",
    ].entries()) {
      const { status, record } = ended.apply(state(5 + offset, next));
      assert.deepEqual([status, record.state], ["terminal_immutable", end], `${end} -> ${next}`);
    }
    assert.equal(ended.list()[0].outcome.terminal, end);
  }
});

test("verification 2: duplicates, identity conflicts, an old sequence and a gap have results of their own", () => {
  const projector = new LifecycleProjector();
  projector.applyMany(path("created", "starting", "running"));
  const result = (event) => {
    const { status, code, record } = projector.apply(event);
    return [status, code, record.state, record.gapDetected];
  };
  for (const [what, event, expected] of [
    ["an exact duplicate", state(3, "running"), ["deduplicated", undefined, "running", false]],
    [
      "the number with other content",
      state(3, "waiting"),
      ["conflict", "identity_conflict", "running", false],
    ],
    ["a gap", say(6, "activity", { activity: "tests" }), ["provisional", "sequence_gap", "running", true]],
    ["an old number", state(4, "waiting"), ["out_of_order", "late_sequence", "running", true]],
    ["that again", state(4, "waiting"), ["deduplicated", undefined, "running", true]],
    ["the last that was missing", say(5, "heartbeat"), ["out_of_order", "late_sequence", "running", false]],
    ["the next", state(7, "completed"), ["applied", undefined, "completed", false]],
    ["after the end", say(8, "heartbeat"), ["terminal_immutable", "late_evidence", "completed", false]],
  ]) {
    assert.deepEqual(result(event), expected, what);
  }
  // Without a sequence the identity is the id.
  const unsequenced = { ...say(1, "heartbeat", { childId: "other" }), sequence: undefined };
  projector.apply({ ...unsequenced, eventId: "a", kind: "created", state: "created" });
  const heartbeat = { ...unsequenced, eventId: "b" };
  assert.deepEqual(
    [heartbeat, heartbeat, { ...heartbeat, kind: "activity", activity: "x" }].map(
      (event) => projector.apply(event).status,
    ),
    ["applied", "deduplicated", "conflict"],
  );
});

test("verification 3: silence makes stale first; only one failed reconciliation makes lost, once", async () => {
  let now = START;
  const pass = (seconds) => (now = START + seconds * 1000);
  const projector = new LifecycleProjector({ staleAfterMs: 30_000, reconcileDeadlineMs: 10_000 });
  projector.applyMany([...path("created", "starting", "running"), say(10, "heartbeat", { sequence: 4 })]);
  const row = () => projector.list()[0];
  const seen = () => [row().state, row().freshness.stale, row().freshness.reconcile];
  const reconciler = createReconciler({
    projector,
    source: "host",
    fetchSnapshot: () => Promise.reject(new Error("nobody is there")),
    intervalMs: 1000,
    automatic: false,
    clock: () => now,
    onDiagnostic() {},
  });
  pass(39);
  assert.deepEqual([projector.markStale(at(39)), seen()], [[], ["running", false, null]]);
  // Nothing is open: there is no reconciliation that could have failed.
  assert.equal(projector.reconciliationFailed("host", "worker", at(39)).status, "deduplicated");
  pass(40);
  assert.deepEqual(
    projector.markStale(at(40)).map(({ status, code }) => [status, code]),
    [["stale", "silence"]],
  );
  assert.deepEqual(seen(), ["running", true, "unavailable"]);
  // Nobody answers, for an hour: it stays stale.
  for (let seconds = 41; seconds < 3600; seconds += 61) {
    pass(seconds);
    assert.equal((await reconciler.reconcileIfDue()).status, "unanswered");
    assert.deepEqual([projector.markStale(at(seconds)), seen()], [[], ["running", true, "unanswered"]]);
  }
  // The authority answers that it is gone.
  const lost = projector.reconciliationFailed("host", "worker", at(3600));
  assert.deepEqual([lost.status, lost.code, lost.record.state], ["applied", "reconciliation_failed", "lost"]);
  assert.equal(projector.reconciliationFailed("host", "worker", at(3601)).status, "deduplicated");
  assert.deepEqual(
    reconciler.audit().entries.map(({ from, to, reason }) => [from, to, reason]),
    [["running", "lost", "reconciliation_failed"]],
  );
  assert.equal(projector.apply(say(3602, "heartbeat", { sequence: 5 })).status, "terminal_immutable");
  assert.equal(row().outcome.terminal, "lost");
  await reconciler.close();
  // Before the deadline of the question even that is too early, and a heartbeat answers what silence asked.
  const other = new LifecycleProjector({ staleAfterMs: 30_000, reconcileDeadlineMs: 10_000 });
  other.applyMany(path("created", "starting", "running"));
  other.markStale(at(40));
  assert.equal(other.reconciliationFailed("host", "worker", at(49)).status, "provisional");
  const back = other.apply(say(50, "heartbeat", { sequence: 4 }));
  assert.deepEqual([back.record.state, back.record.stale], ["running", false]);
  assert.equal(other.reconciliationFailed("host", "worker", at(60)).status, "deduplicated");
});

test("verification 4: a complete snapshot corrects and is audited; a terminal state it does not alter", async () => {
  let now = START + 60_000;
  const projector = new LifecycleProjector();
  projector.applyMany([
    ...path("created", "starting", "running"),
    ...path("created", "starting", "running", "failed").map((event) => ({ ...event, childId: "done" })),
  ]);
  const snapshots = [
    snapshot("s1", 60, [
      { childId: "worker", state: "waiting", waitingReason: "permission" },
      { childId: "done", state: "running" },
    ]),
    snapshot("s2", 61, [
      { childId: "worker", state: "completed" },
      { childId: "done", state: "completed" },
    ]),
    snapshot("s3", 62, [
      { childId: "worker", state: "running" },
      { childId: "done", state: "failed" },
    ]),
  ];
  const audited = [];
  const reconciler = createReconciler({
    projector,
    source: "host",
    fetchSnapshot: () => snapshots.shift(),
    intervalMs: 1000,
    automatic: false,
    clock: () => now,
    onAudit: (entry) => audited.push(entry),
  });
  assert.deepEqual(await results(reconciler.sessionOpened()), [
    ["worker", "applied", "authoritative_snapshot", "waiting"],
    ["done", "terminal_immutable", "end_contradicted", "failed"],
  ]);
  now += 1000;
  assert.deepEqual(await results(reconciler.reconcileIfDue()), [
    ["worker", "applied", "authoritative_snapshot", "completed"],
    ["done", "terminal_immutable", "end_contradicted", "failed"],
  ]);
  now += 1000;
  assert.deepEqual(await results(reconciler.reconnected()), [
    ["worker", "terminal_immutable", "end_contradicted", "completed"],
    ["done", "terminal_immutable", undefined, "failed"],
  ]);
  const entry = { source: "host", childId: "worker", reason: "authoritative_snapshot" };
  const expected = [
    { ...entry, from: "running", to: "waiting", snapshotId: "s1", observedAt: at(60) },
    { ...entry, from: "waiting", to: "completed", snapshotId: "s2", observedAt: at(61) },
  ];
  assert.deepEqual(audited, expected);
  assert.deepEqual(reconciler.audit(), { entries: expected, complete: true });
  assert.throws(() => projector.reconcile(snapshot("s4", 63, [], { complete: false })), {
    code: "incomplete_snapshot",
  });
  // Nor does any event alter it: the child is not created again.
  assert.equal(projector.apply({ ...state(9, "created"), eventId: "again" }).status, "terminal_immutable");
  await reconciler.close();
});

test("verification 5: valid lines around malformed, oversized and truncated ones remain; faults are bounded and redacted", () => {
  const secret = ["sk", "a1b2c3d4e5f6g7h8i9j0a1b2c3d4e5f6"].join("-");
  const [created, starting, running] = path("created", "starting", "running");
  const stream = [
    line(created),
    `{"eventId": "broken", "api_key": "${secret}\n`,
    line(starting),
    line({ ...state(3, "running"), activity: "x".repeat(3000) }),
    `listening on port 80, Authorization: Bearer ${secret}\n`,
    line({ ...running, state: "idle", details: { password: secret } }),
    line(running),
    line(state(4, "completed")).slice(0, 120),
  ].join("");
  const codes = ["malformed", "oversize", "malformed", "invalid_event", "truncated"];
  const bytes = new TextEncoder().encode(stream);
  for (const size of [1, 7, 64, bytes.length]) {
    const parser = new JsonlLifecycleParser({ maxLineBytes: 2000 });
    for (let from = 0; from < bytes.length; from += size) parser.push(bytes.subarray(from, from + size));
    const { records, diagnostics } = parser.end();
    assert.deepEqual(
      records.map(({ eventId, state: name }) => [eventId, name]),
      [
        ["e1", "created"],
        ["e2", "starting"],
        ["e3", "running"],
      ],
      `${size}`,
    );
    assert.deepEqual(
      diagnostics.map(({ code }) => code),
      codes,
      `${size}`,
    );
    for (const { raw, message, offset, length } of diagnostics) {
      assert.ok(raw.length <= 512);
      assert.ok(!`${raw}${message}`.includes(secret.slice(3, 20)), raw);
      assert.ok(length > 0 && offset + length <= bytes.length);
    }
  }
  // However many there are, at most 32 are kept and all are counted.
  const many = new JsonlLifecycleParser();
  many.push("no event\n".repeat(1000));
  assert.deepEqual([many.end().diagnostics.length, many.diagnosticCount], [32, 1000]);
  // And a projection takes what is valid, no more.
  const projector = new LifecycleProjector();
  const applied = projector.applyJsonl(bytes, { end: true });
  assert.deepEqual([projector.list()[0].state, applied.total], ["running", 4]);
  assert.ok(!JSON.stringify([applied, projector.list(), statusReport(projector.list())]).includes(secret));
});

test("verification 6: Hermes is asked at session open, reconnect and the interval; only complete omission counts, at the grace", async () => {
  let now = START;
  const status = (complete, ...delegations) => ({
    // Each is newer than the one before.
    observedAt: new Date((now += 1)).toISOString(),
    complete,
    delegations,
  });
  const running = { child_id: "worker", session_id: "s1", status: "active", current_tool: "bash" };
  let answer = status(true, running);
  const reasons = [];
  const records = new Map();
  const made = [];
  const reconciler = createHermesDelegationReconciler({
    clock: () => now,
    intervalMs: 5000,
    missingGraceSnapshots: 3,
    async fetchStatus(reason) {
      reasons.push(reason);
      return answer;
    },
    current: () => records.values(),
    onReconciled({ inputs, intents }) {
      // As a host does that keeps its own records.
      for (const { childId, sessionId, state: to } of inputs)
        records.set(childId, { childId, sessionId, state: to });
      made.push(intents.map(({ kind, to, reason }) => [kind, to ?? reason]));
    },
  });
  assert.deepEqual((await reconciler.sessionOpened()).inputs.length, 1);
  assert.deepEqual(records.get("worker"), { childId: "worker", sessionId: "s1", state: "running" });
  await reconciler.reconnected();
  now += 4999;
  assert.equal(await reconciler.reconcileIfDue(), undefined);
  now += 1;
  await Promise.all([reconciler.reconcileIfDue(), reconciler.reconnected()]);
  assert.deepEqual(reasons, ["session_open", "reconnect", "periodic"]);
  made.length = 0;
  // An incomplete answer that leaves it out does nothing, however often.
  answer = status(false);
  for (let turn = 0; turn < 5; turn += 1) await reconciler.reconnected();
  assert.deepEqual(made.flat(), []);
  // Complete ones mark it at the third in a row: the second row of three is one.
  for (const delegations of [[], [], [running], [], []]) {
    answer = status(true, ...delegations);
    await reconciler.reconnected();
  }
  assert.deepEqual(made.flat(), []);
  answer = status(false);
  await reconciler.reconnected();
  answer = status(true);
  await reconciler.reconnected();
  assert.deepEqual(made.flat(), [["mark_stale_unknown", "complete_snapshot_missing"]]);
  // It was never ended by that, and it is corrected when it is seen again.
  assert.equal(records.get("worker").state, "running");
  answer = status(true, { ...running, status: "completed" });
  assert.deepEqual(
    (await reconciler.reconnected()).intents.map(({ from, to, reason }) => [from, to, reason]),
    [["running", "completed", "authoritative_snapshot"]],
  );
  answer = status(true, running);
  assert.deepEqual(await reconciler.reconnected(), { inputs: [], intents: [] });
  answer = status(true);
  for (let turn = 0; turn < 5; turn += 1) assert.deepEqual((await reconciler.reconnected()).intents, []);
});
