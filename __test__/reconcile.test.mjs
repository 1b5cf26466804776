// Stale, questions and answers, snapshots, replay and changes through the addon.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LifecycleError, LifecycleProjector } from "agent-lifecycle";
import { event, note, state } from "./support/events.mjs";

const life = [state("e1", "created"), state("e2", "starting"), state("e3", "running")];
const at = (seconds) =>
  new Date(Date.parse("2026-05-17T22:29:21Z") + seconds * 1000).toISOString().replace(".000Z", "Z");

const snapshot = (snapshotId, seconds, children, changes = {}) => ({
  complete: true,
  source: "source",
  sourceEpoch: "epoch",
  snapshotId,
  observedAt: at(seconds),
  coverage: "all",
  children,
  ...changes,
});

function running(options) {
  const projector = new LifecycleProjector(options);
  projector.applyMany(life);
  return projector;
}

function replayed(events) {
  const projector = new LifecycleProjector();
  for (const written of events) projector.replay(JSON.parse(JSON.stringify(written)));
  return [projector.list(), projector.snapshot("source", "child")];
}

test("S1: running, its owner gone, no more events: stale after the window, lost after the failed question", () => {
  const projector = running();
  assert.equal(projector.reconciliationFailed("source", "child", at(500)).status, "deduplicated");
  assert.equal(projector.markStale(at(120))[0].status, "stale");
  const early = projector.reconciliationFailed("source", "child", at(149));
  assert.deepEqual([early.status, early.code], ["provisional", "reconciliation_pending"]);
  const lost = projector.reconciliationFailed("source", "child", at(150));
  assert.deepEqual([lost.status, lost.code, lost.record.state], ["applied", "reconciliation_failed", "lost"]);
  assert.equal(projector.reconciliationFailed("source", "child", at(151)).status, "deduplicated");
  assert.equal(projector.list()[0].outcome.terminal, "lost");
});

test("S4: no answer is no end, and the row says what came of asking", () => {
  const projector = running();
  const reconcile = () => projector.list()[0].freshness.reconcile;
  assert.equal(reconcile(), null);
  projector.markStale(at(179));
  assert.equal(reconcile(), "unavailable");
  const asked = projector.requestReconciliation("source", "child", "silent", at(180));
  assert.equal(asked.status, "applied");
  assert.equal(asked.record.reconciliation.asked, "pending");
  assert.equal(reconcile(), "pending");
  const silent = projector.reconciliationUnanswered("source", "child", at(210));
  assert.equal(silent.code, "reconciliation_unanswered");
  assert.equal(reconcile(), "unanswered");
  const again = projector.apply(note("e4", "heartbeat", { observedAt: at(211) }));
  assert.deepEqual([again.record.state, again.record.stale], ["running", false]);
  assert.equal(reconcile(), null);
});

test("a snapshot corrects, admits and reports, and every change is audited", () => {
  const projector = running();
  const lineage = { rootChildId: "child", parentChildId: "child", attempt: 1, external: false };
  const children = [
    { childId: "child", state: "waiting", waitingReason: "prompt" },
    { childId: "admitted", state: "running", lineage },
    { childId: "discovered", state: "running" },
  ];
  const { results, audit, discovered, diagnostics } = projector.reconcile(snapshot("s1", 10, children));
  assert.deepEqual(
    results.map(({ status, code, record }) => [status, code, record.childId, record.state]),
    [
      ["applied", "authoritative_snapshot", "child", "waiting"],
      ["applied", "snapshot_admitted", "admitted", "running"],
    ],
  );
  const entry = { source: "source", snapshotId: "s1", observedAt: at(10), reason: "authoritative_snapshot" };
  const audited = [
    { ...entry, childId: "child", from: "running", to: "waiting" },
    { ...entry, childId: "admitted", from: null, to: "running" },
  ];
  assert.deepEqual(audit, audited);
  assert.deepEqual(projector.audit(), { count: 2, recent: audit });
  assert.deepEqual(discovered, [{ childId: "discovered", state: "running" }]);
  assert.deepEqual(
    diagnostics.map(({ code }) => code),
    ["authoritative_snapshot", "snapshot_admitted"],
  );
  const again = projector.reconcile(snapshot("s1", 11, [{ childId: "child", state: "failed" }]));
  assert.deepEqual(again.results, []);
  assert.equal(again.diagnostics[0].code, "snapshot_repeated");
  assert.equal(projector.snapshot("source", "child").state, "waiting");
});

test("omission makes stale at the grace count, and nothing else", () => {
  const projector = running({ graceSnapshots: 3 });
  assert.deepEqual(projector.reconcile(snapshot("s1", 1, [])).results, []);
  assert.deepEqual(projector.reconcile(snapshot("s2", 2, [])).results, []);
  assert.deepEqual(projector.reconcile(snapshot("s3", 3, [], { coverage: [] })).results, []);
  const [missing] = projector.reconcile(snapshot("s4", 4, [])).results;
  assert.deepEqual([missing.status, missing.code], ["stale", "complete_snapshot_missing"]);
  assert.deepEqual([missing.record.state, missing.record.stale], ["running", true]);
  assert.equal(projector.list()[0].freshness.reconcile, "pending");
});

test("an invalid snapshot throws, names the member and changes nothing", () => {
  const projector = running();
  const child = { childId: "child", state: "failed" };
  for (const [given, code, path] of [
    [snapshot("s1", 1, [child], { complete: false }), "incomplete_snapshot", "$.complete"],
    [snapshot("s1", 1, [child, { childId: "x", state: "idle" }]), "invalid_state", "$.children[1].state"],
    [snapshot("s1", 1, [child], { coverage: ["child", "x"] }), "invalid_snapshot", "$.coverage"],
    [snapshot("s1", 1, [child], { sourceEpoch: "other" }), "epoch_mismatch", "$.sourceEpoch"],
    [undefined, "invalid_snapshot", "$"],
    [{ a: 1n }, "invalid_snapshot", "$"],
  ]) {
    assert.throws(
      () => projector.reconcile(given),
      (error) => error instanceof LifecycleError && error.code === code && error.path === path,
      code,
    );
  }
  assert.equal(projector.snapshot("source", "child").state, "running");
  const advanced = projector.reconcile(
    snapshot("s1", 1, [child], { sourceEpoch: "other", advancesEpoch: true }),
  );
  assert.deepEqual(
    advanced.audit.map(({ reason }) => reason),
    ["epoch_advanced", "authoritative_snapshot"],
  );
});

test("S10: a gap wants a snapshot, and so does a child that is not known", () => {
  const projector = new LifecycleProjector();
  assert.equal(projector.apply(state("e0", "running", { childId: "unknown" })).wantsSnapshot, true);
  assert.equal(projector.apply(state("e1", "created", { sequence: 10 })).wantsSnapshot, undefined);
  const gap = projector.apply(state("e3", "starting", { sequence: 12 }));
  assert.deepEqual([gap.status, gap.record.gapDetected, gap.wantsSnapshot], ["provisional", true, true]);
});

test("S13: an idle session whose process lives is not stale", () => {
  const projector = running();
  projector.apply(state("e4", "waiting", { waitingReason: "prompt" }));
  assert.equal(projector.setProcess("source", "child", { pid: 7, alive: "yes" }), true);
  assert.equal(projector.setProcess("source", "nobody", { pid: 7 }), false);
  assert.deepEqual(projector.markStale(at(9999)), []);
  assert.deepEqual(projector.list()[0].evidence, { pid: 7, processAlive: "yes" });
  projector.setProcess("source", "child", { pid: 7 });
  assert.equal(projector.markStale(at(9999)).length, 1);
  projector.setProcess("source", "child", undefined);
  assert.deepEqual(projector.list()[0].evidence, { pid: null, processAlive: "unknown" });
  for (const [given, path] of [
    [{}, "pid"],
    [{ pid: 0 }, "pid"],
    [{ pid: 1.5 }, "pid"],
    [{ pid: 2 ** 40 }, "pid"],
    [{ pid: "7" }, "pid"],
    [{ pid: 7, alive: "perhaps" }, "alive"],
    [{ pid: 7, alive: true }, "alive"],
  ]) {
    assert.throws(() => projector.setProcess("source", "child", given), { code: "invalid_option", path });
  }
});

test("changesSince tells what changed, by cursor", () => {
  const projector = running();
  const first = projector.changesSince();
  assert.deepEqual([first.reset, first.upserted.length, first.removed], [true, 1, []]);
  assert.deepEqual(projector.changesSince(first.cursor), { ...first, upserted: [], reset: false });
  const lineage = { rootChildId: "child", parentChildId: "child", attempt: 1, external: false };
  projector.apply(state("b1", "created", { childId: "below", lineage }));
  const second = projector.changesSince(first.cursor);
  assert.deepEqual(
    second.upserted.map((row) => [row.childId, row.liveChildren]),
    [
      ["child", 1],
      ["below", 0],
    ],
  );
  projector.apply(event({ eventId: "b2", childId: "below", lineage, kind: "terminal", state: "failed" }));
  projector.forget({ terminalBefore: at(1) });
  const third = projector.changesSince(second.cursor);
  assert.deepEqual(
    third.upserted.map((row) => row.childId),
    ["child"],
  );
  assert.deepEqual(third.removed, [second.upserted[1].key]);
  assert.equal(projector.changesSince(new LifecycleProjector().changesSince().cursor).reset, true);
});

test("what is journalled gives the same projection again, and so does a checkpoint", () => {
  const projector = running({ corrections: true });
  const journal = [...life];
  projector.markStale(at(120));
  projector.reconcile(snapshot("s1", 121, [{ childId: "child", state: "waiting" }]));
  projector.requestReconciliation("source", "child", "process dead", at(122));
  projector.reconciliationUnanswered("source", "child", at(123));
  projector.advanceEpoch({ source: "source", from: "epoch", to: "second", observedAt: at(124) });
  journal.push(...projector.takeCorrections());
  assert.deepEqual(projector.takeCorrections(), []);
  assert.deepEqual(
    journal.slice(life.length).map(({ details }) => details.lifecycle.op),
    ["stale", "agree", "correct", "request", "unanswered", "advance_epoch"],
  );
  assert.equal(new Set(journal.map(({ eventId }) => eventId)).size, journal.length);
  projector.reconciliationFailed("source", "child", at(152));
  journal.push(...projector.takeCorrections());
  const live = [projector.list(), projector.snapshot("source", "child")];
  assert.equal(live[1].state, "lost");
  assert.deepEqual(replayed(journal), live);
  assert.deepEqual(replayed(projector.checkpoint(at(200))), live);
  // A plain reader keeps corrections as notes.
  const plain = new LifecycleProjector();
  plain.applyMany(journal);
  assert.equal(plain.snapshot("source", "child").state, "running");
});

test("arguments of the wrong type are refused by name", () => {
  const projector = running();
  for (const [run, path] of [
    [() => projector.requestReconciliation("source", "child", 5, at(0)), "reason"],
    [() => projector.requestReconciliation("source", "child", "why", new Date()), "now"],
    [() => projector.reconciliationFailed("source", 5, at(0)), "childId"],
    [() => projector.reconciliationUnanswered(5, "child", at(0)), "source"],
    [() => projector.changesSince(5), "cursor"],
    [() => projector.setProcess("source", "child", 7), "process"],
    [() => projector.checkpoint(), "now"],
    [() => projector.reconcile(snapshot("s", 1, []), { receivedAt: 5 }), "receivedAt"],
  ]) {
    assert.throws(run, { name: "LifecycleError", code: "invalid_argument", path });
  }
  assert.throws(() => new LifecycleProjector({ graceSnapshots: 0 }), { code: "invalid_option" });
  assert.throws(() => projector.reconciliationFailed("source", "child", "x"), { code: "invalid_timestamp" });
});

test("a loss is in the audit", () => {
  const projector = running();
  projector.requestReconciliation("source", "child", "gone?", at(10));
  assert.equal(projector.reconciliationFailed("source", "child", at(11)).status, "provisional");
  assert.deepEqual(projector.audit(), { count: 0, recent: [] });
  projector.reconciliationFailed("source", "child", at(40));
  const entry = {
    source: "source",
    childId: "child",
    from: "running",
    to: "lost",
    observedAt: at(40),
    reason: "reconciliation_failed",
  };
  assert.deepEqual(projector.audit(), { count: 1, recent: [entry] });
});

test("what an authority does not know is graver than silence", () => {
  const projector = running({ staleAfterMs: 10_000 });
  assert.equal(projector.markStale(at(60))[0].code, "silence");
  assert.deepEqual(projector.reconcile(snapshot("s1", 61, [])).results, []);
  const { results, diagnostics } = projector.reconcile(snapshot("s2", 62, []));
  assert.deepEqual(
    results.map(({ status, code }) => [status, code]),
    [["stale", "complete_snapshot_missing"]],
  );
  assert.deepEqual(
    diagnostics.map(({ code, childId }) => [code, childId]),
    [["complete_snapshot_missing", "child"]],
  );
  const { staleReason, reconciliation } = projector.snapshot("source", "child");
  assert.deepEqual([staleReason, reconciliation.reason], Array(2).fill("complete_snapshot_missing"));
  // Once, and silence takes nothing back.
  assert.deepEqual(projector.reconcile(snapshot("s3", 63, [])).results, []);
  assert.deepEqual(projector.markStale(at(999)), []);
  // Evidence between the two marks answers only the lesser one.
  projector.apply(note("b1", "heartbeat", { observedAt: at(62) }));
  assert.equal(projector.snapshot("source", "child").stale, true);
  projector.apply(note("b2", "heartbeat", { observedAt: at(63) }));
  assert.equal(projector.snapshot("source", "child").stale, false);
});

test("messages name the present epoch, redacted and cut; a question about nobody says so", () => {
  const projector = running();
  assert.deepEqual([projector.epoch("source"), projector.epoch("nobody")], ["epoch", undefined]);
  assert.equal(projector.snapshot("source", "child").sourceEpoch, "epoch");
  const foreign = projector.apply(note("x1", "heartbeat", { sourceEpoch: "other" }));
  assert.match(foreign.diagnostics[0].message, /; its present epoch is epoch$/);
  assert.equal(foreign.record.sourceEpoch, "epoch");
  const advance = (from, to) => projector.advanceEpoch({ source: "source", from, to, observedAt: at(1) });
  assert.throws(() => advance("x", "y"), /which is epoch$/);
  const secret = ["sk", "abcdefghijklmnopqrstuvwxyz0123456789abcd"].join("-");
  advance("epoch", `${secret} ${"x".repeat(100)}`);
  assert.throws(
    () => advance("x", "y"),
    ({ message }) => !message.includes("abcdefgh") && /which is \[REDACTED\] x+\.\.\.$/.test(message),
  );
  for (const result of [
    projector.requestReconciliation("source", "nobody", "why", at(2)),
    projector.reconciliationFailed("nobody", "child", at(2)),
    projector.reconciliationUnanswered("source", "nobody", at(2)),
  ]) {
    assert.deepEqual(
      [result.status, result.code, result.wantsSnapshot],
      ["conflict", "unknown_child", undefined],
    );
    assert.match(result.diagnostics[0].message, /^no child of this source and id is known/);
  }
});
