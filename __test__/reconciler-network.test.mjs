// A host behind a network that loses, delays, repeats and reorders: what it knows comes to the truth, and each correction is seen.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { JsonlLifecycleJournal, LifecycleProjector, createReconciler } from "agent-lifecycle";
import * as fc from "fast-check";
import { settled } from "./support/reconciler.mjs";
import { agenda, isEnd, networkOf, randomOf, serverOf } from "./support/simulated-network.mjs";

const START = Date.parse("2026-05-17T12:00:00Z");
const TICK_MS = 200;

/** The host of one life of the simulation; `journal` is where it writes, if it does. */
class Host {
  constructor({ clock, network, server, count, journal }) {
    Object.assign(this, { clock, network, server, count, journal });
    /** What is known of each child, as results and answers gave it. */
    this.known = new Map();
    this.audited = new Set();
    this.open(new LifecycleProjector({ staleAfterMs: 12_000, corrections: journal !== undefined }));
  }
  open(projector) {
    this.projector = projector;
    this.reconciler = createReconciler({
      projector,
      source: "server",
      fetchSnapshot: (reason) => {
        this.count(`asked: ${reason}`);
        return this.network.fetch(() => this.server.snapshot());
      },
      intervalMs: 10_000,
      deadlineMs: 5000,
      onAudit: (entry) => {
        const name = `${entry.snapshotId ?? entry.to} ${entry.childId ?? ""}`;
        assert.ok(!this.audited.has(name), `${name} is audited twice`);
        this.audited.add(name);
        this.count(
          entry.childId === undefined ? "epoch advanced" : entry.from === null ? "admitted" : "corrected",
        );
      },
      onReconciled: (result) => this.compare(result),
      onDiagnostic: ({ code, error }) => {
        this.count(code);
        if (code !== "snapshot_unanswered") this.fault = error;
      },
      journal: this.journal,
      clock: this.clock,
    });
  }
  now() {
    return new Date(this.clock()).toISOString();
  }
  /** The states as they are now; one that ended is as before. */
  states() {
    const states = new Map(this.projector.list().map(({ childId, state }) => [childId, state]));
    for (const [childId, state] of this.known)
      if (isEnd(state)) assert.equal(states.get(childId), state, childId);
    return states;
  }
  /** What an answer changed is what was audited, each once. */
  compare({ audit, diagnostics }) {
    const states = this.states();
    const changes = Array.from(states, ([childId, to]) => ({
      childId,
      from: this.known.get(childId) ?? null,
      to,
    }));
    assert.deepEqual(
      audit
        .filter(({ childId }) => childId !== undefined)
        .map(({ childId, from, to }) => `${childId} ${from} ${to}`)
        .toSorted(),
      changes
        .filter(({ from, to }) => from !== to)
        .map(({ childId, from, to }) => `${childId} ${from} ${to}`)
        .toSorted(),
    );
    for (const { code } of diagnostics) this.count(code);
    this.known = states;
  }
  take(event) {
    const receivedAt = this.now();
    // Applied and journalled in one turn.
    const { status, code } = this.projector.tryApply(event, { receivedAt });
    void this.journal?.append(event, { receivedAt });
    this.count(code === undefined ? status : `${status} ${code}`);
    this.known = this.states();
  }
  look() {
    const marked = this.projector.markStale(this.now());
    void this.journal?.appendMany(this.projector.takeCorrections());
    for (const _ of marked) this.count("stale");
    const states = this.states();
    assert.deepEqual(states, this.known, "silence changes no state");
    for (const { freshness } of this.projector.list())
      if (freshness.reconcile === "unanswered") this.count("unanswered");
  }
  /** Another process reads the journal: it knows the same. */
  async restart(journal) {
    this.count("host restart");
    await this.reconciler.close();
    await this.journal.close();
    this.journal = journal();
    const replayed = new LifecycleProjector({ staleAfterMs: 12_000, corrections: true });
    const { problems } = await this.journal.replayInto(replayed);
    assert.deepEqual(problems, []);
    this.same(replayed);
    this.open(replayed);
  }
  same(replayed) {
    assert.deepEqual(replayed.list(), this.projector.list());
    assert.deepEqual(replayed.audit(), this.projector.audit());
    for (const { childId } of replayed.list())
      assert.deepEqual(replayed.snapshot("server", childId), this.projector.snapshot("server", childId));
  }
}

/** Runs one story, and then looks whether the host came to the truth. */
async function story(t, { seed, seconds, journal: opened }, count) {
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const random = randomOf(seed);
  t.mock.method(Math, "random", random);
  let now = START;
  const clock = () => now;
  const { later, run } = agenda();
  const newest = new Map();
  const network = networkOf({
    random,
    now: clock,
    later,
    count,
    deliver(event) {
      const number = Number(event.eventId.slice(1));
      if (number < (newest.get(event.childId) ?? 0)) count("event out of order");
      newest.set(event.childId, Math.max(number, newest.get(event.childId) ?? 0));
      host.take(event);
    },
  });
  const server = serverOf({
    random,
    now: clock,
    emit: (event) => later(now, () => network.event(event)),
    count,
  });
  const host = new Host({ clock, network, server, count, journal: opened?.() });
  const pass = async (ms) => {
    for (let passed = 0; passed < ms; passed += TICK_MS) {
      now += TICK_MS;
      run(now);
      t.mock.timers.tick(TICK_MS);
      await settled();
    }
  };
  void host.reconciler.sessionOpened();
  for (let tick = 0; tick < seconds * 5; tick += 1) {
    await pass(TICK_MS);
    server.live();
    if (random() < 0.008) server.restart();
    if (network.isConnected ? random() < 0.006 : random() < 0.04) {
      network.isConnected = !network.isConnected;
      if (network.isConnected) void host.reconciler.reconnected();
      count(network.isConnected ? "reconnect" : "disconnect");
    }
    if (tick % 5 === 0) host.look();
    if (opened !== undefined && random() < 0.006) await host.restart(opened);
  }
  // What is under way arrives, also what is late; then nothing is lost any more.
  network.isCalm = true;
  network.isConnected = true;
  await pass(30_000);
  assert.equal(network.underway, 0);
  const asked = host.reconciler.reconnected();
  await pass(TICK_MS * 2);
  assert.equal((await asked).status, "answered");
  return { host, server, pass };
}

/** One complete snapshot made the host know the truth; more make it know what the server has forgotten. */
async function converged({ host, server, pass }, count) {
  for (const again of [false, true]) {
    const rows = new Map(host.projector.list().map((row) => [row.childId, row]));
    for (const { childId, state, isForgotten } of server.children.values()) {
      const row = rows.get(childId);
      rows.delete(childId);
      if (isForgotten && row?.state !== state) {
        // Nobody says how it ended: it is not concluded, and not kept quiet.
        if (row === undefined || !again) continue;
        count("end unknown");
        const { stale, reason } = row.freshness;
        assert.deepEqual([isEnd(row.state), stale, reason], [false, true, "complete_snapshot_missing"]);
        continue;
      }
      assert.equal(row?.state, state, childId);
      const { stale, reconcile } = row.freshness;
      assert.deepEqual([stale, reconcile, row.gapDetected && !isEnd(state)], [false, null, false], childId);
      count(isEnd(state) ? "ended" : "lives");
    }
    assert.deepEqual([...rows.keys()], []);
    for (let snapshot = 0; snapshot < 2; snapshot += 1) {
      const asked = host.reconciler.reconnected();
      await pass(TICK_MS * 2);
      assert.equal((await asked).status, "answered");
    }
  }
  assert.ifError(host.fault);
  assert.ok(host.projector.list().every(({ state }) => state !== "lost"));
  const { entries, complete } = host.reconciler.audit();
  if (complete) assert.equal(entries.length, host.audited.size);
}

const counter = () => {
  const counts = new Map();
  return { counts, count: (word) => counts.set(word, (counts.get(word) ?? 0) + 1) };
};

const TROUBLE = [
  "event lost",
  "event twice",
  "event delayed",
  "event out of order",
  "snapshot lost",
  "snapshot too late",
  "snapshot failed",
  "snapshot incomplete",
  "snapshot of before",
  "snapshot out of order",
  "server restart",
  "server forgot an end",
  "disconnect",
  "reconnect",
];
const SEEN = [
  "applied",
  "deduplicated",
  "provisional sequence_gap",
  "out_of_order late_sequence",
  "out_of_order epoch_retired",
  "conflict epoch_conflict",
  "conflict unknown_child",
  "terminal_immutable late_evidence",
  "refused",
  "asked: session_open",
  "asked: reconnect",
  "asked: periodic",
  "asked: question",
  "snapshot_unanswered",
  "snapshot_repeated",
  "snapshot_outdated",
  "complete_snapshot_missing",
  "epoch advanced",
  "admitted",
  "corrected",
  "stale",
  "unanswered",
  "lives",
  "ended",
  "end unknown",
];

function occurred(counts, words, least) {
  for (const word of words) assert.ok((counts.get(word) ?? 0) >= least, `${word}: ${counts.get(word) ?? 0}`);
}

const stories = (most) => fc.record({ seed: fc.integer(), seconds: fc.integer({ min: 20, max: most }) });

test("whatever the network did, the next complete snapshot brings the truth; each correction is audited once", async (t) => {
  const { counts, count } = counter();
  await fc.assert(
    fc.asyncProperty(stories(240), async (plan) => {
      const told = await story(t, plan, count);
      await converged(told, count);
      await told.host.reconciler.close();
    }),
    { seed: 20_260_517, numRuns: 60 },
  );
  occurred(counts, [...TROUBLE, ...SEEN], 10);
});

test("with a journal, a host that is started again knows what the one before knew", async (t) => {
  const { counts, count } = counter();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "reconciler-network-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  let files = 0;
  await fc.assert(
    fc.asyncProperty(stories(120), async (plan) => {
      const file = path.join(folder, `${(files += 1)}.jsonl`);
      const journal = () => new JsonlLifecycleJournal(file, { durability: "os" });
      const told = await story(t, { ...plan, journal }, count);
      await converged(told, count);
      await told.host.restart(journal);
      await told.host.reconciler.close();
      await told.host.journal.close();
    }),
    { seed: 20_260_518, numRuns: 25 },
  );
  occurred(counts, [...TROUBLE, ...SEEN, "host restart"], 1);
});
