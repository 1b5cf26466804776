// A task board is no lifecycle: to-dos, `percent: 100` and `status: "done"` change neither state, freshness nor outcome, anywhere.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import {
  LifecycleProjector,
  bridgeAgentEvents,
  createAgentLifecyclePublisher,
  fallbackTodos,
  hostStatus,
  statusReport,
} from "agent-lifecycle";
import { hermesLifecycle, reconcileHermesDelegationStatus } from "agent-lifecycle/hermes";
import { event, note, state } from "./support/events.mjs";

const require = createRequire(import.meta.url);
const { render } = require("../dist/watch/render.js");
const { FIRST_VIEW } = require("../dist/watch/view.js");

const NOW = "2026-05-17T22:31:00Z";
const at = (second) => `2026-05-17T22:30:${String(second).padStart(2, "0")}Z`;

/** What a task board says of work that goes on. */
const BOARDS = [
  ["to-dos that are all done", { todos: [{ content: "Fix the build", status: "completed" }] }],
  ["a percentage", { percent: 100, progress: 1, percentComplete: 100 }],
  ["a status", { status: "done" }],
  ["words of the contract", { state: "completed", kind: "terminal", outcome: "success", terminal: true }],
  [
    "all of it",
    { todos: [{ status: "done" }], percent: 100, status: "done", tasks: { open: 0 }, done: true },
  ],
  ["all of it, below other members", { task: { todos: [], percent: 100, status: "done" }, board: ["done"] }],
];

/** Every display of a projection. */
function displays(projector) {
  const rows = projector.list();
  const screen = render({
    rows,
    hidden: 0,
    view: FIRST_VIEW,
    explanation: [],
    notice: "",
    width: 120,
    height: 24,
    now: Date.parse(NOW),
    color: false,
  });
  return {
    rows,
    tree: projector.tree(),
    report: statusReport(rows, { now: NOW }),
    todos: fallbackTodos(rows, { now: NOW }),
    words: rows.map(hostStatus),
    lines: screen.lines,
  };
}

/** What a row says of a life. */
const life = (projector) =>
  projector
    .list()
    .map(
      ({ childId, state: name, waitingReason, stateSince, freshness, outcome, liveChildren, attention }) => ({
        childId,
        name,
        waitingReason,
        stateSince,
        freshness,
        outcome,
        liveChildren,
        attention,
      }),
    );

const STARTED = [
  event({ observedAt: at(0) }),
  state("e2", "starting", { observedAt: at(1) }),
  state("e3", "running", { observedAt: at(2) }),
];

/** Each kind of event that a running child can have. */
const KINDS = [
  note("e4", "activity", { observedAt: at(3), activity: "works" }),
  note("e4", "heartbeat", { observedAt: at(3) }),
  note("e4", "diagnostic", { observedAt: at(3) }),
  note("e4", "reconciliation", { observedAt: at(3) }),
  state("e4", "running", { observedAt: at(3) }),
  state("e4", "waiting", { observedAt: at(3), waitingReason: "prompt" }),
  state("e4", "failed", { kind: "terminal", observedAt: at(3) }),
];

for (const [what, board] of BOARDS) {
  test(`projector and displays: ${what} is no evidence`, () => {
    for (const last of KINDS) {
      const shown = [undefined, board].map((details) => {
        const projector = new LifecycleProjector();
        for (const given of [...STARTED, { ...last, ...(details && { details }) }])
          assert.equal(projector.apply(given).status, "applied");
        return displays(projector);
      });
      assert.deepEqual(shown[1], shown[0], last.kind);
    }
  });

  test(`projector: a note with ${what} leaves state, freshness and outcome as they were`, () => {
    for (const kind of ["diagnostic", "reconciliation"]) {
      const projector = new LifecycleProjector();
      projector.applyMany(STARTED);
      const before = life(projector);
      projector.apply(note("e4", kind, { observedAt: at(30), details: board }));
      assert.deepEqual(life(projector), before);
      // Nor does it keep a silent child fresh, or make one of its own.
      assert.equal(projector.markStale("2026-05-17T22:32:02Z").length, 1);
      assert.equal(
        projector.apply(note("e5", kind, { childId: "other", details: board })).code,
        "unknown_child",
      );
    }
  });

  test(`projector: details of a snapshot with ${what} change nothing`, () => {
    const shown = [undefined, board].map((details) => {
      const projector = new LifecycleProjector();
      projector.applyMany(STARTED);
      const child = { childId: "child", state: "running", ...(details && { details }) };
      projector.reconcile({
        complete: true,
        source: "source",
        sourceEpoch: "epoch",
        snapshotId: "s1",
        observedAt: at(5),
        coverage: "all",
        children: [child],
      });
      return displays(projector);
    });
    assert.deepEqual(shown[1], shown[0]);
  });

  test(`Hermes: ${what} in an event or a status changes nothing`, () => {
    const { status, kind: _, state: __, ...rest } = board;
    const shown = [{}, rest].map((given) => {
      const projector = new LifecycleProjector();
      const hermes = hermesLifecycle({ source: "hermes/1", sourceEpoch: "1", content: "full" });
      const of = { child_id: "c", session_id: "s", ...given };
      for (const [second, type] of ["spawn_requested", "start", "progress", "tool"].entries())
        projector.applyMany(hermes.push({ type: `subagent.${type}`, ...of, observed_at: at(second) }).events);
      const snapshot = { observedAt: at(10), complete: true, delegations: [{ ...of, status: "running" }] };
      projector.reconcile(hermes.snapshot(snapshot).snapshot);
      const current = [{ childId: "c", sessionId: "s", state: "running", ...given }];
      assert.deepEqual(reconcileHermesDelegationStatus(snapshot, current), { inputs: [], intents: [] });
      return displays(projector);
    });
    assert.equal(shown[0].rows[0].state, "running");
    assert.deepEqual(shown[1], shown[0]);
    if (status === undefined) return;
    // A status of a task board is no status of Hermes: it is refused, and the child stays as it is.
    for (const type of ["progress", "complete"]) {
      const projector = new LifecycleProjector();
      const hermes = hermesLifecycle({ source: "hermes/1", sourceEpoch: "1" });
      const of = { child_id: "c", session_id: "s" };
      projector.applyMany(hermes.push({ type: "subagent.start", ...of, observed_at: at(0) }).events);
      const before = life(projector);
      const made = hermes.push({ type: `subagent.${type}`, ...of, status, observed_at: at(1) });
      assert.deepEqual(
        made.reported.map(({ code }) => code),
        ["invalid_state"],
      );
      projector.applyMany(made.events);
      assert.deepEqual(life(projector), before, type);
    }
  });

  test(`displays: ${what} in a row from any hand is not shown`, () => {
    const projector = new LifecycleProjector();
    projector.applyMany(STARTED);
    const [row] = projector.list();
    const { state: _, outcome: __, ...rest } = board;
    const rows = [{ ...rest, ...row }];
    assert.equal(statusReport(rows, { now: NOW }), statusReport([row], { now: NOW }));
    assert.deepEqual(fallbackTodos(rows, { now: NOW }), fallbackTodos([row], { now: NOW }));
    assert.equal(hostStatus(rows[0]), hostStatus(row));
  });
}

/** Calls of task tools, and what an agent says of its plan: nothing of that is a state. */
const PLANS = [
  [
    "a to-do tool",
    (publisher) =>
      publisher.toolStarted({
        toolId: "t",
        name: "TodoWrite",
        description: "3 of 3 done",
        occurredAt: at(3),
      }),
  ],
  [
    "a plan in a title",
    (publisher) => publisher.metadataChanged({ title: "100 % done, status: completed", occurredAt: at(3) }),
  ],
];

for (const [what, say] of PLANS) {
  test(`bridge: ${what} leaves the agent as it is`, () => {
    const projector = new LifecycleProjector();
    const bridge = bridgeAgentEvents({
      source: "my-agent/1",
      sourceEpoch: "1",
      sessionId: "s1",
      content: "full",
    });
    const publisher = createAgentLifecyclePublisher((given) => projector.applyMany(bridge.push(given)));
    publisher.sessionStarted({ occurredAt: at(0) });
    publisher.turnStarted({ turnId: "t1", occurredAt: at(1) });
    say(publisher);
    publisher.toolFinished({ toolId: "t", outcome: "success", occurredAt: at(4) });
    const [row] = projector.list();
    assert.deepEqual(
      [row.state, row.turn, row.outcome.terminal, row.freshness.at],
      ["running", { turnId: "t1", open: true }, null, at(4)],
    );
    assert.equal(hostStatus(row), "working");
    assert.match(statusReport([row], { now: NOW }), /outcome: none yet/);
    assert.equal(fallbackTodos([row], { now: NOW })[0].status, "in_progress");
  });
}

test("bridge: an agent event with members of a task board is refused, and changes nothing", () => {
  for (const [what, board] of BOARDS) {
    const projector = new LifecycleProjector();
    const bridge = bridgeAgentEvents({ source: "my-agent/1", sourceEpoch: "1", sessionId: "s1" });
    projector.applyMany(bridge.push({ kind: "turn.started", turnId: "t1", occurredAt: at(1) }));
    const before = displays(projector);
    const agent = { ...board, kind: "tool.started", toolId: "t", name: "Bash", occurredAt: at(2) };
    assert.throws(() => projector.applyMany(bridge.push(agent)), { code: "unknown_field" }, what);
    assert.deepEqual(displays(projector), before, what);
  }
});
