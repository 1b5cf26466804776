// The audit of a reconciler, its journal, its callbacks and its options.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { JsonlLifecycleJournal, LifecycleError, LifecycleProjector, createReconciler } from "agent-lifecycle";
import { life, made, running, settled, time } from "./support/reconciler.mjs";

test("the audit can be queried, and says whether it is complete", async (t) => {
  const { reconciler, projector, requests, pass, snapshot } = made(t);
  const lineage = { rootChildId: "child", parentChildId: "child", attempt: 1, external: false };
  projector.applyMany(life.map((event) => ({ ...event, source: "another" })));
  projector.reconcile(snapshot([{ ...running, state: "waiting" }], { source: "another" }));
  for (const [at, states] of [
    [1000, ["waiting", "running"]],
    [2000, ["running", "completed"]],
  ]) {
    await pass(1000);
    const asked = reconciler.reconnected();
    const children = ["child", "below"].map((childId, index) => ({ childId, lineage, state: states[index] }));
    requests.at(-1).answer(snapshot(children, { snapshotId: `at ${at}` }));
    await asked;
  }
  const found = (query) =>
    reconciler.audit(query).entries.map(({ childId, from, to }) => `${childId} ${from}>${to}`);
  const all = [
    "child running>waiting",
    "below null>running",
    "child waiting>running",
    "below running>completed",
  ];
  for (const [query, expected] of [
    [undefined, all],
    [{}, all],
    [{ childId: "below" }, [all[1], all[3]]],
    [{ snapshotId: "at 1000" }, all.slice(0, 2)],
    [{ reason: "authoritative_snapshot" }, all],
    [{ reason: "reconciliation_failed" }, []],
    [{ since: time(2000) }, all.slice(2)],
    [{ since: time(1000), childId: "child" }, [all[0], all[2]]],
    [{ since: time(2001) }, []],
  ]) {
    assert.deepEqual(found(query), expected, JSON.stringify(query));
  }
  assert.equal(reconciler.audit().complete, true);
  assert.throws(() => reconciler.audit({ since: "yesterday" }), { code: "invalid_timestamp", path: "since" });
  assert.throws(() => reconciler.audit({ child: "x" }), { code: "invalid_option", path: "child" });
  assert.throws(() => reconciler.audit({ childId: 5 }), { code: "invalid_argument", path: "childId" });
  // The ring of the projection holds 256.
  const children = Array.from({ length: 300 }, (_, index) => ({
    childId: `c${index}`,
    lineage,
    state: "running",
  }));
  const asked = reconciler.reconnected();
  requests.at(-1).answer(snapshot(children, { coverage: children.map(({ childId }) => childId) }));
  await asked;
  assert.deepEqual([reconciler.audit().complete, reconciler.audit().entries.length], [false, 256]);
});

test("the journal has every correction once, and a replay comes to the same", async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "reconciler-"));
  const journal = new JsonlLifecycleJournal(path.join(folder, "journal.jsonl"));
  t.after(async () => {
    await journal.close();
    fs.rmSync(folder, { recursive: true });
  });
  const { reconciler, projector, requests, audited, told, pass, snapshot, clock } = made(t, { journal });
  // Here and below events are applied and journalled in the same turn.
  const writing = journal.appendMany(life);
  const opened = reconciler.sessionOpened();
  requests[0].answer(snapshot([{ ...running, state: "waiting" }]));
  await opened;
  await pass(10_000);
  projector.markStale(clock());
  await pass(1000);
  requests[1].fail(new Error("down"));
  await settled();
  await pass(1000);
  requests[2].answer(snapshot([{ ...running, state: "failed" }]));
  await settled();
  await reconciler.close();
  await writing;
  const operations = [];
  for await (const { events, problems } of journal.replay()) {
    assert.deepEqual(problems, []);
    for (const { kind, details } of events)
      if (kind === "reconciliation") operations.push(details.lifecycle.op);
  }
  assert.deepEqual(operations, ["agree", "correct", "stale", "request", "unanswered", "agree", "correct"]);
  const other = new LifecycleProjector({ staleAfterMs: 10_000 });
  await journal.replayInto(other);
  assert.deepEqual(other.list(), projector.list());
  assert.deepEqual(other.snapshot("source", "child"), projector.snapshot("source", "child"));
  assert.deepEqual(other.audit(), projector.audit());
  assert.deepEqual(audited, projector.audit().recent);
  assert.equal(audited.length, 2);
  assert.deepEqual(
    told.map(({ code }) => code),
    ["snapshot_unanswered"],
  );
});

test("a journal that refuses is told of, and nothing else comes of it", async (t) => {
  const refusal = { status: "refused", error: new LifecycleError("invalid_event", "no") };
  for (const [appendMany, text] of [
    [
      () => Promise.reject(new LifecycleError("journal_closed", "it was closed")),
      /^2 corrections .* it was closed/,
    ],
    [
      () => {
        throw new Error("broken");
      },
      /^2 corrections .* broken/,
    ],
    [(events) => Promise.resolve([events[0], refusal]), /^1 corrections .* no$/],
  ]) {
    const { reconciler, requests, told, snapshot, row } = made(t, { journal: { appendMany } });
    const asked = reconciler.sessionOpened();
    requests[0].answer(snapshot([{ ...running, state: "waiting" }]));
    assert.equal((await asked).status, "answered");
    assert.equal(row().state, "waiting");
    assert.equal(told.length, 1);
    assert.equal(told[0].code, "journal_failed");
    assert.match(told[0].message, text);
  }
});

test("what callbacks throw is told and costs nothing; secrets in errors are not shown", async (t) => {
  const token = ["ghp", "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6"].join("_");
  const { reconciler, requests, told, snapshot, row } = made(t, {
    onAudit() {
      throw new Error(`refused ${token}`);
    },
    onReconciled: () => Promise.reject(new Error(`refused later: ${token}`)),
  });
  const asked = reconciler.sessionOpened();
  requests[0].answer(snapshot([{ ...running, state: "waiting" }]));
  assert.equal((await asked).status, "answered");
  await settled();
  const again = reconciler.reconnected();
  requests[1].fail(new Error(`https://api.test/?token=${token}`));
  await again;
  assert.deepEqual(
    told.map(({ code }) => code),
    ["callback_failed", "callback_failed", "snapshot_unanswered"],
  );
  for (const { message } of told) {
    assert.match(message, /\[REDACTED\]/);
    assert.ok(!message.includes(token));
  }
  assert.equal(row().state, "waiting");
});

test("without onDiagnostic the first of each code is a process warning", async (t) => {
  const warned = [];
  t.mock.method(process, "emitWarning", (message, type, code) => warned.push([type, code]));
  const { reconciler, requests } = made(t, { onDiagnostic: undefined });
  for (let turn = 0; turn < 3; turn += 1) {
    const asked = reconciler.reconnected();
    requests.at(-1).fail(new Error("down"));
    await asked;
  }
  assert.deepEqual(warned, [["LifecycleWarning", "snapshot_unanswered"]]);
});

test("options are judged by name", () => {
  const projector = new LifecycleProjector();
  const given = { projector, source: "source", fetchSnapshot() {}, intervalMs: 1000 };
  for (const [changes, code, member] of [
    [{ projector: undefined }, "invalid_option", "projector"],
    [{ projector: { reconcile() {} } }, "invalid_option", "projector"],
    [{ source: undefined }, "invalid_argument", "source"],
    [{ source: " " }, "invalid_option", "source"],
    [{ fetchSnapshot: undefined }, "invalid_option", "fetchSnapshot"],
    [{ fetchSnapshot: "x" }, "invalid_option", "fetchSnapshot"],
    [{ intervalMs: undefined }, "invalid_option", "intervalMs"],
    [{ intervalMs: 0 }, "invalid_option", "intervalMs"],
    [{ intervalMs: Infinity }, "invalid_option", "intervalMs"],
    [{ deadlineMs: -1 }, "invalid_option", "deadlineMs"],
    [{ graceSnapshots: 0 }, "invalid_option", "graceSnapshots"],
    [{ graceSnapshots: 1.5 }, "invalid_option", "graceSnapshots"],
    [{ onAudit: 5 }, "invalid_option", "onAudit"],
    [{ onReconciled: 5 }, "invalid_option", "onReconciled"],
    [{ onDiagnostic: 5 }, "invalid_option", "onDiagnostic"],
    [{ journal: {} }, "invalid_option", "journal"],
    [{ journal: null }, "invalid_option", "journal"],
    [{ journal: { appendMany() {} } }, "invalid_option", "journal"],
    [{ automatic: 1 }, "invalid_option", "automatic"],
    [{ clock: 5 }, "invalid_option", "clock"],
    [{ clock: () => "x" }, "invalid_option", "clock"],
    [{ interval: 5 }, "invalid_option", "interval"],
  ]) {
    assert.throws(
      () => createReconciler({ ...given, ...changes }),
      (error) => error instanceof LifecycleError && error.code === code && error.path === member,
      JSON.stringify(changes),
    );
  }
  assert.throws(() => createReconciler(5), { code: "invalid_argument", path: "options" });
  assert.throws(() => projector.questions(5), { code: "invalid_argument", path: "source" });
  // A refused one owns nothing.
  void createReconciler(given).close();
});

const empty = (snapshotId, ms) => ({
  complete: true,
  source: "source",
  sourceEpoch: "epoch",
  snapshotId,
  observedAt: time(ms),
  coverage: "all",
  children: [],
});

test("grace belongs to the call, and is judged", () => {
  const projector = new LifecycleProjector();
  projector.applyMany(life);
  for (const graceSnapshots of [0, 1.5, -1, "2"])
    assert.throws(() => projector.reconcile(empty("s0", 1), { graceSnapshots }), {
      code: "invalid_option",
      path: "graceSnapshots",
    });
  assert.deepEqual(projector.reconcile(empty("s1", 1), { graceSnapshots: 3 }).results, []);
  assert.deepEqual(projector.reconcile(empty("s2", 2), { graceSnapshots: 3 }).results, []);
  assert.equal(projector.reconcile(empty("s3", 3), { graceSnapshots: 3 }).results[0].status, "stale");
});
