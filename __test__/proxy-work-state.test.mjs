// To-dos, percentages and words about work are no evidence: with them and without, every way and every display say the same.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import {
  LifecycleError,
  LifecycleProjector,
  bridgeAgentEvents,
  fallbackTodos,
  hostStatus,
  normalizeHermesDelegationEvent,
  openMonitor,
  reconcileHermesDelegationStatus,
  statusReport,
} from "agent-lifecycle";
import { createRowStore } from "agent-lifecycle/client";
import { render } from "../dist/watch/render.js";
import { FIRST_VIEW } from "../dist/watch/view.js";
import { event, note, state } from "./support/events.mjs";

const NOW = "2026-05-17T22:30:00Z";
const todos = [
  { content: "write it", status: "completed" },
  { content: "test it", status: "done", percent: 100 },
];
const CLAIMS = [
  { todos },
  { percent: 100 },
  { status: "done" },
  { state: "completed", outcome: "success", terminal: "completed", ended: true },
  { kind: "terminal", exitCode: 0, progress: 1, percentComplete: 100 },
  { tasks: todos, kanban: { done: todos }, plan: [{ step: "all", status: "completed" }] },
  { facts: { todos, percent: 100, status: "done", state: "completed" } },
  { todos, percent: 100, status: "done", stale: false, reconcile: null, freshness: { stale: true } },
  // As if a snapshot or a correction had said it.
  { lifecycle: { state: "completed", percent: 100, todos } },
];

/** A child that works, in each state that is no end; `details` are put into every event of it. */
const STORIES = ["created", "starting", "running", "waiting"].map((last, end, names) => (details) => [
  ...names
    .slice(0, end + 1)
    .map((name, at) => state(`e${at}`, name, { observedAt: `2026-05-17T22:29:2${at}Z`, details })),
  note("a1", "activity", { activity: "half done", observedAt: "2026-05-17T22:29:30Z", details }),
  note("h1", "heartbeat", { observedAt: "2026-05-17T22:29:31Z", details }),
  note("d1", "diagnostic", { observedAt: "2026-05-17T22:29:50Z", details }),
  note("r1", "reconciliation", { observedAt: "2026-05-17T22:29:51Z", details }),
]);

/** Everything that shows rows, as text. */
function shown(rows) {
  const store = createRowStore();
  store.apply({ cursor: "1", upserted: rows, removed: [], reset: true });
  const screen = {
    hidden: 0,
    view: FIRST_VIEW,
    explanation: [],
    notice: "",
    width: 100,
    height: 20,
    color: false,
  };
  return [
    statusReport(rows, { now: NOW }),
    JSON.stringify(fallbackTodos(rows, { now: NOW })),
    rows.map(hostStatus).join(),
    render({ rows, now: Date.parse(NOW), ...screen }).lines.join("\n"),
    JSON.stringify(
      store.snapshot().map(({ state: literal, freshness, outcome }) => [literal, freshness, outcome]),
    ),
  ];
}

/** The rows of each way that events take into a projection. */
async function ways(t, events) {
  const applied = new LifecycleProjector();
  for (const one of events) applied.apply(one);
  const bytes = new LifecycleProjector();
  bytes.applyJsonl(events.map((one) => `${JSON.stringify(one)}\n`).join(""), { end: true });
  const replayed = new LifecycleProjector();
  for (const one of events) replayed.replay(one);
  const monitor = await openMonitor({ sources: [] });
  t.after(() => monitor.close());
  monitor.apply(events);
  return { applied: applied.list(), bytes: bytes.list(), replayed: replayed.list(), monitor: monitor.rows() };
}

test("what details claim changes no row and no display, in any state, whichever way it comes", async (t) => {
  for (const story of STORIES) {
    const bare = await ways(t, story());
    assert.notEqual(bare.applied[0].state, "completed");
    const display = shown(bare.applied);
    for (const details of CLAIMS) {
      const claimed = await ways(t, story(details));
      for (const [way, rows] of Object.entries(claimed)) {
        assert.deepEqual(rows, bare[way], `${way}: ${JSON.stringify(details)}`);
        assert.equal(rows.length, 1);
      }
      assert.deepEqual(shown(claimed.applied), display, JSON.stringify(details));
    }
  }
});

test("a note that claims something leaves a silent child as stale as it was", () => {
  for (const details of CLAIMS) {
    const projector = new LifecycleProjector({ staleAfterMs: 1000 });
    projector.applyMany(STORIES[2]());
    projector.markStale(NOW);
    const before = projector.list();
    assert.deepEqual([before[0].state, before[0].freshness.stale], ["running", true]);
    for (const kind of ["diagnostic", "reconciliation"])
      assert.equal(
        projector.apply(note(`late ${kind}`, kind, { observedAt: NOW, details })).status,
        "applied",
      );
    assert.deepEqual(projector.list(), before, JSON.stringify(details));
  }
});

test("a snapshot's details claim nothing beside its state; an end is not made better by them", () => {
  for (const details of CLAIMS) {
    const projector = new LifecycleProjector();
    projector.applyMany(STORIES[2]());
    const snapshot = {
      complete: true,
      source: "source",
      sourceEpoch: "epoch",
      snapshotId: "s1",
      observedAt: NOW,
      coverage: "all",
      children: [{ childId: "child", state: "waiting", waitingReason: "permission", details }],
    };
    projector.reconcile(snapshot);
    const [row] = projector.list();
    assert.deepEqual([row.state, row.outcome.terminal], ["waiting", null]);
    projector.apply(event({ eventId: "end", kind: "terminal", state: "failed", observedAt: NOW, details }));
    const [ended] = projector.list();
    assert.deepEqual([ended.state, ended.outcome.terminal], ["failed", "failed"]);
    assert.ok(statusReport([ended], { now: NOW }).includes("failed"));
    assert.equal(fallbackTodos([ended], { now: NOW }).at(-1).status, "pending");
  }
});

test("rows that carry claims are shown as without them", () => {
  const projector = new LifecycleProjector();
  projector.applyMany(STORIES[2]());
  const [row] = projector.list();
  for (const claim of CLAIMS) {
    assert.deepEqual(shown([{ ...claim, ...row, details: claim }]), shown([row]), JSON.stringify(claim));
  }
});

test("the bridge: a list of to-dos that is all done ends nothing, and claims in an agent event are refused", () => {
  const bridge = bridgeAgentEvents({ source: "agent/1", sourceEpoch: "1", sessionId: "1", content: "full" });
  const projector = new LifecycleProjector();
  const push = (one) => {
    for (const made of bridge.push({ occurredAt: "2026-05-17T22:29:21Z", ...one })) projector.apply(made);
    return projector.list()[0];
  };
  push({ kind: "session.started", title: "100 % done, status: completed" });
  push({ kind: "turn.started", turnId: "t1" });
  push({ kind: "tool.started", toolId: "w1", name: "TodoWrite", description: "5 of 5 completed, 100 %" });
  const row = push({ kind: "tool.finished", toolId: "w1", outcome: "success" });
  assert.deepEqual([row.state, row.outcome.terminal, row.turn.open], ["running", null, true]);
  for (const claim of CLAIMS) {
    const { kind: _, ...members } = claim;
    if (Object.keys(members).length === 0) continue;
    const given = { kind: "tool.finished", toolId: "w2", ...members };
    assert.throws(() => push(given), LifecycleError, JSON.stringify(claim));
    assert.deepEqual(projector.list()[0], row, JSON.stringify(claim));
  }
  const done = push({
    kind: "agent.done",
    outcome: "success",
    summary: "All to-dos are completed. status: done",
  });
  assert.deepEqual([done.state, done.waitingReason, done.outcome.terminal], ["waiting", "prompt", null]);
});

test("Hermes: claims beside a status are dropped, and a word that is no status is refused, never guessed", () => {
  const given = { type: "subagent.progress", child_id: "c", session_id: "s", observed_at: NOW };
  const bare = normalizeHermesDelegationEvent(given);
  assert.deepEqual([bare.kind, bare.state], ["activity", "running"]);
  const snapshot = (more) => ({
    observedAt: NOW,
    complete: true,
    delegations: [{ child_id: "c", session_id: "s", status: "active", ...more }],
  });
  const records = [{ childId: "c", sessionId: "s", state: "running" }];
  for (const claim of CLAIMS) {
    const { status: _, ...more } = claim;
    for (const claims of [{ ...more, details: claim }, { details: claim }])
      assert.deepEqual(normalizeHermesDelegationEvent({ ...given, ...claims }), bare, JSON.stringify(claims));
    const { inputs, intents } = reconcileHermesDelegationStatus(
      snapshot({ ...more, details: claim }),
      records,
    );
    assert.deepEqual([inputs, intents], [[], []], JSON.stringify(claim));
  }
  for (const type of ["subagent.complete", "subagent.progress"])
    assert.throws(() => normalizeHermesDelegationEvent({ ...given, type, status: "done" }), {
      code: "invalid_state",
    });
  assert.throws(() => reconcileHermesDelegationStatus(snapshot({ status: "done" }), records), {
    code: "invalid_state",
  });
});

test("the command prints the same with claims and without", (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "claims-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, "events.jsonl");
  const printed = (details, args) => {
    const lines = STORIES.flatMap((story, index) =>
      story(details).map((one) => JSON.stringify({ ...one, source: `source/${index}` })),
    );
    fs.writeFileSync(file, `${lines.join("\n")}\n`);
    const command = ["dist/cli/main.js", "status", file, "--now", NOW, ...args];
    const { status, stdout, stderr } = spawnSync(process.execPath, command, {
      cwd: path.dirname(import.meta.dirname),
      encoding: "utf8",
    });
    assert.deepEqual([status, stderr], [0, ""]);
    return stdout;
  };
  const all = Object.assign({}, ...CLAIMS);
  for (const args of [[], ["--json"]]) {
    const bare = printed(undefined, args);
    assert.ok(bare.includes("running") && !bare.includes("completed"));
    assert.equal(printed(all, args), bare);
  }
});
