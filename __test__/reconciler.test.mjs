// When a reconciler asks, what it takes, and what no answer does.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { LifecycleError, LifecycleProjector, createReconciler } from "agent-lifecycle";
import { note } from "./support/events.mjs";
import { life, made, running, settled, time } from "./support/reconciler.mjs";

test("asks at session open, at a reconnect and at the interval, and takes each answer once", async (t) => {
  const { reconciler, requests, audited, told, pass, snapshot, row } = made(t);
  const opened = reconciler.sessionOpened();
  requests[0].answer(snapshot([{ ...running, state: "waiting", waitingReason: "permission" }]));
  const { status, reason, result } = await opened;
  assert.deepEqual([status, reason, result.audit.length], ["answered", "session_open", 1]);
  assert.deepEqual([row().state, row().waitingReason], ["waiting", "permission"]);
  const entry = { source: "source", childId: "child", from: "running", to: "waiting", snapshotId: "s1" };
  assert.deepEqual(audited, [
    { ...entry, observedAt: "2026-05-17T22:29:21Z", reason: "authoritative_snapshot" },
  ]);
  const again = reconciler.reconnected();
  requests[1].answer(snapshot([{ ...running, state: "waiting" }]));
  assert.deepEqual((await again).result.audit, []);
  assert.equal(await reconciler.reconcileIfDue(), undefined);
  await pass(59_000);
  assert.equal(requests.length, 2);
  await pass(1000);
  assert.deepEqual(
    requests.map((request) => request.reason),
    ["session_open", "reconnect", "periodic"],
  );
  assert.deepEqual([audited.length, told], [1, []]);
});

test("whoever asked, the host gets what became of each answer once, children that are not known too", async (t) => {
  const taken = [];
  const { reconciler, requests, pass, snapshot } = made(t, {
    onReconciled: (result, reason) => taken.push([result, reason]),
  });
  const asked = [reconciler.sessionOpened(), reconciler.reconnected()];
  requests[0].answer(snapshot([running, { childId: "foreign", state: "running" }]));
  const { result } = await asked[0];
  assert.deepEqual(taken, [[result, "session_open"]]);
  assert.deepEqual(result.discovered, [{ childId: "foreign", state: "running" }]);
  await pass(60_000);
  requests[1].answer(snapshot([running]));
  await settled();
  assert.deepEqual([taken.length, taken[1][1]], [2, "periodic"]);
  await pass(60_000);
  requests[2].fail(new Error("down"));
  await settled();
  assert.equal(taken.length, 2);
});

test("requests that overlap share one fetch, and what was answered is audited once", async (t) => {
  const { reconciler, requests, audited, snapshot } = made(t);
  const asked = [reconciler.sessionOpened(), reconciler.reconnected(), reconciler.reconcileIfDue()];
  assert.equal(requests.length, 1);
  requests[0].answer(snapshot([{ ...running, state: "waiting" }]));
  const [first, ...others] = await Promise.all(asked);
  for (const other of others) assert.equal(other, first);
  assert.equal(audited.length, 1);
  // The same snapshot again, as a cache would give it, has no effect.
  const again = reconciler.reconnected();
  requests[1].answer(snapshot([{ ...running, state: "failed" }], { snapshotId: "s1" }));
  assert.equal((await again).result.diagnostics[0].code, "snapshot_repeated");
  assert.equal(audited.length, 1);
});

test("no answer, an error, a late answer and a snapshot that is none change no state", async (t) => {
  const { reconciler, requests, told, audited, pass, snapshot, row } = made(t);
  for (const [index, answer] of [
    (request) => request.fail(new Error("no route")),
    () => pass(5000),
    (request) => request.answer(snapshot([{ ...running, state: "idle" }])),
    (request) => request.answer(snapshot([], { complete: false })),
    (request) => request.answer(snapshot([], { sourceEpoch: "other" })),
    (request) => request.answer(undefined),
    (request) => request.answer(snapshot([{ ...running, state: "failed" }], { source: "another" })),
  ].entries()) {
    const asked = reconciler.reconnected();
    const request = requests.at(-1);
    await answer(request);
    const { status } = await asked;
    assert.equal(status, "unanswered", `${index}`);
    request.answer(snapshot([{ ...running, state: "lost" }]));
    await settled();
    assert.deepEqual([row().state, audited], ["running", []], `${index}`);
  }
  assert.ok(told.every(({ code }) => code === "snapshot_unanswered"));
  assert.deepEqual(
    told.map(({ error }) => error.code ?? error.name),
    [
      "Error",
      23,
      "invalid_state",
      "incomplete_snapshot",
      "epoch_mismatch",
      "invalid_snapshot",
      "foreign_snapshot",
    ],
  );
});

test("a snapshot of another source is refused, also where that source is in the projection", async (t) => {
  const { reconciler, projector, requests, snapshot } = made(t);
  projector.applyMany(life.map((event) => ({ ...event, source: "another" })));
  const asked = reconciler.sessionOpened();
  requests[0].answer(snapshot([{ ...running, state: "failed" }], { source: "another" }));
  const { error } = await asked;
  assert.deepEqual([error.name, error.code, error.path], ["LifecycleError", "foreign_snapshot", "$.source"]);
  assert.equal(projector.snapshot("another", "child").state, "running");
  // Ids are trimmed, as everywhere.
  const trimmed = reconciler.reconnected();
  requests[1].answer(snapshot([running], { source: " source " }));
  assert.equal((await trimmed).status, "answered");
});

test("the source is looked at in what is taken: a value that changes is read once", async (t) => {
  const { reconciler, projector, requests, snapshot } = made(t);
  const foreign = snapshot([], { source: "other" });
  let reads = 0;
  const changing = Object.defineProperty(snapshot([]), "source", {
    enumerable: true,
    get: () => ((reads += 1) === 1 ? "other" : "source"),
  });
  for (const answer of [{ ...snapshot([]), toJSON: () => foreign }, changing]) {
    const asked = reconciler.reconnected();
    requests.at(-1).answer(answer);
    const { status, error } = await asked;
    assert.deepEqual([status, error.code], ["unanswered", "foreign_snapshot"]);
  }
  assert.equal(reads, 1);
  assert.equal(projector.epoch("other"), undefined);
});

test("a clock that fails is told of once, and every call settles", async (t) => {
  for (const broken of [
    () => {
      throw new Error("no clock");
    },
    () => Number.NaN,
    () => 1e20,
    () => "x",
  ]) {
    let isBroken = false;
    const clock = () => (isBroken ? broken() : Date.parse("2026-05-17T22:29:25Z"));
    const { reconciler, requests, told, snapshot } = made(t, { clock });
    isBroken = true;
    for (const call of ["sessionOpened", "reconnected"]) {
      const asked = reconciler[call]();
      requests.at(-1).answer(snapshot([running]));
      assert.equal((await asked).status, "answered");
    }
    assert.equal(await reconciler.reconcileIfDue(), undefined);
    await reconciler.close();
    assert.deepEqual(
      told.map(({ code, message }) => [code, message.startsWith("clock failed")]),
      [["callback_failed", true]],
      String(broken),
    );
  }
  for (const clock of [
    () => 1e20,
    () => {
      throw new Error("no clock");
    },
  ])
    assert.throws(() => made(t, { clock }), { code: "invalid_option", path: "clock" });
});

test("a stale child is asked for at once; an answer about it settles the question", async (t) => {
  const { reconciler, projector, requests, pass, snapshot, row, clock } = made(t);
  const opened = reconciler.sessionOpened();
  requests[0].answer(snapshot([running]));
  await opened;
  await pass(10_000);
  assert.equal(requests.length, 1);
  assert.equal(projector.markStale(clock()).length, 1);
  assert.deepEqual(
    projector.questions("source").map(({ childId, asked }) => [childId, asked]),
    [["child", undefined]],
  );
  await pass(1000);
  assert.deepEqual([requests.length, requests[1].reason], [2, "question"]);
  assert.deepEqual([row().freshness.stale, row().freshness.reconcile], [true, "pending"]);
  requests[1].answer(snapshot([running]));
  await settled();
  assert.deepEqual([row().freshness.stale, row().freshness.reconcile], [false, null]);
  await pass(5000);
  assert.equal(requests.length, 2);
});

test("a question without an answer is noted as that, never as a loss, and asked again ever more seldom", async (t) => {
  const { projector, requests, pass, snapshot, row, clock } = made(t, { intervalMs: 3_600_000 });
  await pass(10_000);
  projector.markStale(clock());
  await pass(1000);
  assert.equal(row().freshness.reconcile, "pending");
  const times = [];
  const fail = async (request) => {
    times.push(Date.parse(clock()));
    request.fail(new Error("down"));
    await settled();
    assert.deepEqual([row().state, row().freshness.reconcile], ["running", "unanswered"]);
  };
  await fail(requests[0]);
  while (times.length < 5) {
    await pass(1000);
    if (requests.length > times.length) await fail(requests.at(-1));
  }
  assert.deepEqual(
    times.slice(1).map((at, index) => at - times[index]),
    [1000, 2000, 4000, 8000],
  );
  while (requests.length === 5) await pass(1000);
  assert.equal(row().freshness.reconcile, "unanswered");
  requests[5].answer(snapshot([running]));
  await settled();
  assert.deepEqual([row().state, row().freshness.stale, row().freshness.reconcile], ["running", false, null]);
});

test("an answer that leaves a child out does not answer its question, and is not asked for again at once", async (t) => {
  const { projector, requests, audited, pass, snapshot, row, clock } = made(t, { graceSnapshots: 3 });
  await pass(10_000);
  projector.markStale(clock());
  await pass(1000);
  requests[0].answer(snapshot([]));
  await settled();
  assert.deepEqual(
    [row().state, row().freshness.reason, row().freshness.reconcile],
    ["running", "silence", "unanswered"],
  );
  await pass(59_000);
  assert.equal(requests.length, 1);
  for (const [ms, reason] of [
    [1000, "silence"],
    [60_000, "complete_snapshot_missing"],
  ]) {
    await pass(ms);
    requests.at(-1).answer(snapshot([]));
    await settled();
    assert.deepEqual([row().state, row().freshness.reason], ["running", reason]);
  }
  assert.equal(requests.length, 3);
  // Omission corrects nothing, however long: there is nothing to audit.
  assert.deepEqual(audited, []);
});

test("a question of the host is asked at once, and one asked anew as well", async (t) => {
  const { reconciler, projector, requests, pass, snapshot, clock } = made(t);
  const opened = reconciler.sessionOpened();
  requests[0].answer(snapshot([running]));
  await opened;
  await pass(2000);
  projector.requestReconciliation("source", "child", "process dead", clock());
  await pass(1000);
  assert.equal(requests.length, 2);
  requests[1].answer(snapshot([]));
  await pass(5000);
  assert.equal(requests.length, 2);
  projector.requestReconciliation("source", "child", "still dead", clock());
  void reconciler.reconcileIfDue();
  assert.deepEqual([requests.length, requests[2].reason], [3, "question"]);
});

test("a failure holds questions back, a reconnect does not wait", async (t) => {
  const { reconciler, projector, requests, pass, clock } = made(t);
  await pass(10_000);
  const opened = reconciler.sessionOpened();
  requests[0].fail(new Error("down"));
  await opened;
  projector.markStale(clock());
  assert.equal(await reconciler.reconcileIfDue(), undefined);
  void reconciler.reconnected();
  assert.deepEqual([requests.length, requests[1].reason], [2, "reconnect"]);
  assert.equal(projector.questions("source")[0].asked, "pending");
});

test("a source has one owner, until that is closed", async (t) => {
  const { reconciler, projector, requests } = made(t);
  const second = (changes = {}) =>
    createReconciler({ projector, source: "source", fetchSnapshot() {}, intervalMs: 1000, ...changes });
  for (const source of ["source", " source "]) {
    assert.throws(
      () => second({ source }),
      (error) => {
        assert.ok(error instanceof LifecycleError);
        return error.code === "source_owned" && error.path === "source";
      },
    );
  }
  const others = [second({ source: "another" }), second({ projector: new LifecycleProjector() })];
  const asked = reconciler.sessionOpened();
  const closing = reconciler.close();
  others.push(second());
  assert.equal(requests[0].signal.aborted, true);
  assert.deepEqual(await asked, { status: "closed", reason: "session_open" });
  await closing;
  await reconciler.close();
  assert.deepEqual(await reconciler.reconnected(), { status: "closed", reason: "reconnect" });
  assert.equal(await reconciler.reconcileIfDue(), undefined);
  // The one that is closed does not free what it owns no more.
  assert.throws(() => second(), { code: "source_owned" });
  for (const other of others) await other.close();
});

test("closed while it is asked: the question has got no answer", async (t) => {
  const { reconciler, projector, requests, pass, row, clock } = made(t);
  await pass(10_000);
  projector.markStale(clock());
  await pass(1000);
  assert.equal(row().freshness.reconcile, "pending");
  await reconciler.close();
  assert.equal(row().freshness.reconcile, "unanswered");
  await pass(3_600_000);
  assert.equal(requests.length, 1);
});

test("without timers of its own only the host asks", async (t) => {
  const { reconciler, projector, requests, pass, snapshot, clock } = made(t, { automatic: false });
  await pass(120_000);
  assert.equal(requests.length, 0);
  const first = reconciler.reconcileIfDue();
  requests[0].fail(new Error("down"));
  await first;
  assert.equal(await reconciler.reconcileIfDue(), undefined);
  await pass(1000);
  const second = reconciler.reconcileIfDue();
  requests[1].answer(snapshot([running]));
  assert.equal((await second).status, "answered");
  await pass(10_000);
  assert.equal(await reconciler.reconcileIfDue(), undefined);
  projector.markStale(clock());
  void reconciler.reconcileIfDue();
  assert.deepEqual([requests.length, requests[2].reason], [3, "question"]);
});

test("late and future clocks: an answer counts as evidence from when it came at the latest", async (t) => {
  const { reconciler, projector, requests, snapshot } = made(t);
  const asked = reconciler.sessionOpened();
  requests[0].answer(snapshot([running], { observedAt: time(3_600_000) }));
  await asked;
  assert.equal(projector.snapshot("source", "child").freshAt, "2026-05-17T22:29:21Z");
  assert.equal(projector.markStale(time(10_000)).length, 1);
});

test("a heartbeat while it is asked answers what silence asked; the answer that fails later marks nothing", async (t) => {
  const { projector, requests, pass, row, clock } = made(t);
  await pass(10_000);
  projector.markStale(clock());
  await pass(2000);
  projector.apply(note("h1", "heartbeat", { observedAt: clock() }));
  assert.deepEqual([row().freshness.stale, row().freshness.reconcile], [false, null]);
  requests[0].fail(new Error("down"));
  await settled();
  assert.deepEqual([row().freshness.stale, row().freshness.reconcile], [false, null]);
});

test("an open reconciler keeps no script alive", () => {
  const script = `
    import { LifecycleProjector, createReconciler } from "agent-lifecycle";
    const options = { projector: new LifecycleProjector(), source: "s", intervalMs: 3600000, deadlineMs: 3600000 };
    void createReconciler({ ...options, fetchSnapshot: () => new Promise(() => {}) }).sessionOpened();
    console.log("asked");`;
  const ran = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    cwd: path.dirname(import.meta.dirname),
    encoding: "utf8",
    timeout: 60_000,
  });
  assert.deepEqual([ran.status, ran.stdout], [0, "asked\n"], ran.stderr);
});
