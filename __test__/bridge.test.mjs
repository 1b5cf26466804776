// bridgeAgentEvents: agent events to schema-v1 events and on to rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  JsonlLifecycleParser,
  LifecycleProjector,
  bridgeAgentEvents,
  createAgentLifecyclePublisher,
  createJsonlRecordDecoder,
  redact,
  statusReport,
} from "../index.js";

const at = (second) => `2026-03-02T08:00:${String(second).padStart(2, "0")}Z`;
const options = { source: "my-agent/1", sourceEpoch: "e1", sessionId: "s" };

const refused = (code, path, call) =>
  assert.throws(
    call,
    (error) => error.code === code && error.path === path && error.name === "LifecycleError",
  );

/** Bridges and applies each event; every one must be taken. */
function play(story, given = options, projector = new LifecycleProjector()) {
  const bridge = bridgeAgentEvents(given);
  story.forEach(([event, context], second) => {
    for (const made of bridge.push(event, { at: at(second), ...context })) {
      const { status } = projector.apply(made);
      assert.ok(["applied", "deduplicated", "terminal_immutable"].includes(status), status);
    }
  });
  return projector;
}

const turn = (turnId) => ({ kind: "turn.started", turnId });
const done = (outcome) => ({ kind: "agent.done", outcome });
const started = { kind: "session.started", title: "Tidy up" };
const child = { kind: "subagent.started", subagentId: "c", title: "Look" };
const ofChild = (event) => ({ ...event, agentId: "c" });
const childDone = (outcome) => ({ kind: "subagent.done", subagentId: "c", outcome });

const cases = [
  ["a session that has started", [started], "starting", null],
  ["a turn that goes on", [started, turn("t")], "running", null],
  ["a turn's end is no session's end", [started, turn("t"), done("error")], "waiting", "prompt"],
  ["a live child keeps it from idling", [started, turn("t"), child, done("success")], "waiting", "child"],
  [
    "a wait for a permission",
    [
      started,
      turn("t"),
      { kind: "wait.started", waitId: "w", state: "waiting", reason: "permission" },
      { kind: "tool.started", toolId: "x", name: "Bash" },
    ],
    "waiting",
    "permission",
  ],
  [
    "a wait that is over",
    [
      started,
      turn("t"),
      { kind: "wait.started", waitId: "w", state: "blocked" },
      { kind: "wait.finished", waitId: "w" },
    ],
    "running",
    null,
  ],
  [
    "an exit after a turn has that turn's outcome, not the code's",
    [started, turn("t"), done("cancelled"), { kind: "agent.exited", exitCode: 0 }],
    "cancelled",
    null,
  ],
  [
    "an exit with a code in an open turn",
    [started, turn("t"), { kind: "agent.exited", exitCode: 1 }],
    "failed",
    null,
  ],
  [
    "an exit without a code in an open turn says nothing about it",
    [started, turn("t"), { kind: "agent.exited", exitCode: 0 }],
    "running",
    null,
  ],
  ["a stop without a turn ever", [started, { kind: "session.stopped" }], "cancelled", null],
];
for (const [name, story, state, waitingReason] of cases) {
  test(name, () => {
    const [root] = play(story.map((event) => [event])).list();
    assert.deepEqual([root.key, root.state, root.waitingReason], ["my-agent/1#s", state, waitingReason]);
    assert.deepEqual([root.provider, root.title], ["my-agent", "Tidy up"]);
  });
}

test("a session that goes on after its end is a second life with the same name", () => {
  const story = [started, turn("t"), done("success"), { kind: "agent.exited", exitCode: 0 }, turn("t2")];
  const rows = play(story.map((event) => [event])).list();
  assert.deepEqual(
    rows.map((row) => [row.childId, row.attempt, row.state, row.title, row.turns.count]),
    [["s#2", 2, "running", "Tidy up", 1]],
  );
});

test("events of a sub-agent change its own turn, and only its end ends it", () => {
  const story = [started, turn("t"), child, ofChild(turn("ct")), ofChild(done("success"))];
  const running = play(story.map((event) => [event])).list();
  assert.deepEqual([running[0].liveChildren, running[0].turn.open], [1, true]);
  assert.deepEqual([running[1].state, running[1].turn.open, running[1].title], ["running", false, "Look"]);
  const ended = play([...story, childDone("error")].map((event) => [event])).list();
  assert.deepEqual([ended[0].liveChildren, ended[1].state], [0, "failed"]);
});

test("the same records say nothing twice; what comes from nowhere is said each time", () => {
  const records = [started, turn("t"), done("success")].map((event, place) => [event, { uuid: `u${place}` }]);
  const lines = [started, turn("t"), done("success")].map((event, offset) => [
    event,
    { offset, journal: "j" },
  ]);
  for (const story of [records, lines]) {
    const projector = play(story);
    const before = projector.list();
    play(story, options, projector);
    assert.deepEqual(projector.list(), before);
  }
  const bridge = bridgeAgentEvents(options);
  const [first] = bridge.push(started, { at: at(0) });
  const [again] = bridge.push(started, { at: at(0) });
  assert.notEqual(first.eventId, again.eventId);
});

test("content levels, lineage and time", () => {
  const prompt = { kind: "turn.started", turnId: "t", promptText: "my words" };
  for (const [content, title, text] of [
    ["none", undefined, undefined],
    ["titles", "Tidy up", undefined],
    ["full", "Tidy up", "my words"],
  ]) {
    const bridge = bridgeAgentEvents({ ...options, content });
    const opened = bridge.push(started, { at: at(0) });
    assert.equal(opened[0].details.agent.title, title);
    assert.equal(bridge.push(prompt, { at: at(1) })[0].details.agent.promptText, text);
    assert.deepEqual(opened[0].lineage, { rootChildId: "s", attempt: 1, external: false });
  }
  const adopted = bridgeAgentEvents({ ...options, external: true, history: false });
  const [created] = adopted.push({ ...started, occurredAt: "2026-03-02T09:00:00+01:00" });
  assert.equal(created.observedAt, "2026-03-02T08:00:00.000Z");
  assert.equal(created.lineage.adoptedAt, "2026-03-02T08:00:00.000Z");
  assert.equal(created.capabilities.history, "unknown");
});

test("what is wrong is refused by name", () => {
  refused("invalid_id", "sourceEpoch", () => bridgeAgentEvents({ ...options, sourceEpoch: " " }));
  refused("invalid_argument", "source", () => bridgeAgentEvents({}));
  refused("invalid_option", "content", () => bridgeAgentEvents({ ...options, content: "all" }));
  refused("invalid_option", "external", () => bridgeAgentEvents({ ...options, external: 1 }));
  const bridge = bridgeAgentEvents(options);
  refused("invalid_outcome", "$.outcome", () => bridge.push({ kind: "agent.done" }));
  for (const time of ["now", "2026", "2026-02-30T08:00:00+01:00", "2026-03-02 08:00:00"]) {
    refused("invalid_timestamp", "at", () => bridge.push(started, { at: time }));
  }
  refused("invalid_option", "offset", () => bridge.push(started, { at: at(0), offset: -1 }));
});

/** What a wait for `reason` comes to: of the row, and of the open wait. */
const waits = (reason, content = "titles") => {
  const wait = { kind: "wait.started", waitId: "w", state: "waiting", ...(reason && { reason }) };
  const [row] = play([[started], [turn("t")], [wait]], { ...options, content }).list();
  return [row.waitingReason, ...row.waits.map((open) => [open.reason, open.text])];
};

test("a reason is a word in whatever case; any other text is shown, redacted", () => {
  assert.deepEqual(waits(" Permission\n"), ["permission", ["permission", undefined]]);
  assert.deepEqual(waits("QUESTION", "none"), ["question", ["question", undefined]]);
  assert.deepEqual(waits(undefined), ["other", ["other", undefined]]);
  assert.deepEqual(waits("permission to push"), ["other", ["other", "permission to push"]]);
  assert.deepEqual(waits("permission to push", "none"), ["other", ["other", undefined]]);
  assert.deepEqual(waits("needs token=abcdefgh12345678"), ["other", ["other", "needs token=[REDACTED]"]]);
});

test("an exit says code and signal, and that the process is dead; what begins later takes that back", () => {
  const exited = { kind: "agent.exited", exitCode: 3, signal: "SIGTERM" };
  const [ended] = play([[started], [turn("t")], [done("success")], [exited]]).list();
  assert.deepEqual(ended.outcome, {
    terminal: "completed",
    exitCode: 3,
    signal: "SIGTERM",
    cause: "unknown",
  });
  assert.deepEqual(ended.evidence, { pid: null, processAlive: "no" });
  const story = [[started], [turn("t")], [{ kind: "agent.exited" }]];
  const projector = play(story);
  const [open] = projector.list();
  assert.deepEqual([open.state, open.evidence.processAlive, open.outcome.terminal], ["running", "no", null]);
  assert.deepEqual([open.freshness.stale, open.freshness.reconcile], [false, "unavailable"]);
  const { reconciliation } = projector.snapshot("my-agent/1", "s");
  assert.deepEqual(reconciliation, { reason: "exit_with_open_turn", deadlineAt: at(32) });
  assert.match(
    statusReport([open], { now: at(3) }),
    /freshness: process dead, last evidence .*; there is nobody to ask/,
  );
  projector.setProcess("my-agent/1", "s", { pid: 7, alive: "yes" });
  assert.equal(projector.list()[0].evidence.processAlive, "yes");
  const [again] = play([...story, [{ kind: "tool.started", toolId: "x", name: "Bash" }]]).list();
  assert.deepEqual([again.evidence.processAlive, again.freshness.reconcile], ["unknown", null]);
});

test("the code of an exit in an open turn, live and replayed", () => {
  const bridge = bridgeAgentEvents(options);
  const events = [started, turn("t"), { kind: "session.stopped" }].flatMap((event, second) =>
    bridge.push(event, { at: at(second) }),
  );
  const [live, replayed] = [new LifecycleProjector(), new LifecycleProjector()];
  const result = events.map((event) => live.apply(event)).at(-1);
  assert.deepEqual([result.status, result.code], ["applied", "exit_with_open_turn"]);
  for (const event of events) replayed.replay(event);
  assert.deepEqual(replayed.list(), live.list());
  assert.deepEqual(replayed.snapshot("my-agent/1", "s"), live.snapshot("my-agent/1", "s"));
  // A stop is no proof of a death.
  assert.equal(live.list()[0].evidence.processAlive, "unknown");
});

test("nobody is called to a sub-agent whose session is over", () => {
  const wait = ofChild({ kind: "wait.started", waitId: "w", state: "waiting", reason: "permission" });
  const story = [[started], [turn("t")], [child], [ofChild(turn("ct"))], [wait]];
  const [, asking] = play(story).list();
  assert.deepEqual([asking.state, asking.attention.kind], ["waiting", "permission"]);
  const ended = [...story, [done("success")], [{ kind: "agent.exited" }]];
  const [root, left] = play(ended).list();
  assert.deepEqual(
    [root.state, left.state, left.waitingReason, left.attention],
    ["completed", "waiting", "permission", null],
  );
});

/** A second process that goes on with what the projector knows. */
const resumed = (projector, sourceEpoch) => ({ ...options, sourceEpoch, resume: projector });

test("a session that is resumed is its next attempt in the new epoch", () => {
  const projector = play([[started], [turn("t")], [done("success")]]);
  play([[started], [turn("t2")]], resumed(projector, "e2"), projector);
  assert.equal(projector.epoch("my-agent/1"), "e2");
  assert.deepEqual(
    projector.list().map((row) => [row.childId, row.attempt, row.state]),
    [["s#2", 2, "running"]],
  );
  const former = projector.snapshot("my-agent/1", "s");
  assert.deepEqual([former.state, former.sourceEpoch], ["completed", "e2"]);
  // Killed in its turn: that is no end, and its row stays beside the next.
  play([[turn("t3")]], resumed(projector, "e3"), projector);
  assert.deepEqual(
    projector.list().map((row) => [row.childId, row.state, row.freshness.reconcile]),
    [
      ["s#2", "running", "unavailable"],
      ["s#3", "running", null],
    ],
  );
  // Where nothing is known it is an ordinary start; another session of the source only enters the epoch.
  assert.deepEqual(
    play([[started]], resumed(new LifecycleProjector(), "e1"))
      .list()
      .map((row) => row.childId),
    ["s"],
  );
  play([[started]], { ...resumed(projector, "e4"), sessionId: "other" }, projector);
  assert.equal(projector.snapshot("my-agent/1", "other").sourceEpoch, "e4");
  refused("invalid_option", "sourceEpoch", () => bridgeAgentEvents(resumed(projector, "e4")));
});

test("options that there are not are refused by name, those of others too", () => {
  const projector = new LifecycleProjector();
  const bridge = bridgeAgentEvents(options);
  const event = bridge.push(started)[0];
  for (const [path, call] of [
    ["sesionId", () => bridgeAgentEvents({ ...options, sesionId: "s" })],
    ["time", () => bridge.push(turn("t"), { time: at(0) })],
    ["staleAfter", () => new LifecycleProjector({ staleAfter: 1 })],
    ["recievedAt", () => projector.apply(event, { recievedAt: at(0) })],
    ["final", () => projector.applyJsonl("", { final: true })],
    ["at", () => statusReport([], { at: at(0) })],
    ["maxBytes", () => createJsonlRecordDecoder({ maxBytes: 1 })],
    ["maxBytes", () => new JsonlLifecycleParser({ maxBytes: 1 })],
    ["fits", () => createAgentLifecyclePublisher(() => undefined, { fits: true })],
    ["secret", () => redact("x", { secret: [] })],
    ["\ufffd[2J", () => statusReport([], { "\u001b[2J": 1 })],
  ]) {
    refused("invalid_option", path, call);
  }
  assert.equal(new LifecycleProjector({ staleAfter: undefined }).list().length, 0);
  refused("invalid_option", "end", () => projector.applyJsonl("", { end: 1 }));
  refused("invalid_option", "corrections", () => new LifecycleProjector({ corrections: 1 }));
});

test("version and place reach the row of the session, and of nobody else", () => {
  const given = { ...options, agentVersion: "1.4.0", cwd: "/work/place" };
  const rows = play(
    [[ofChild({ kind: "tool.started", toolId: "x", name: "Bash" })], [started], [child]],
    given,
  ).list();
  assert.deepEqual(
    rows.map(({ childId, agentVersion, place }) => [childId, agentVersion, place.cwd]).toSorted(),
    [
      ["c", null, null],
      ["s", "1.4.0", "/work/place"],
    ],
  );
  refused("invalid_argument", "cwd", () => bridgeAgentEvents({ ...options, cwd: 1 }));
});

/** A bridge and the projection of its events: pushes, and says what became of each event. */
function pair() {
  const bridge = bridgeAgentEvents(options);
  const projector = new LifecycleProjector({ staleAfterMs: 5_000, reconcileDeadlineMs: 5_000 });
  const say = (second, event) =>
    bridge.push(event, { at: at(second) }).map((made) => {
      const result = projector.tryApply(made);
      return result.status === "refused" ? result.error.code : result.status;
    });
  const rows = () =>
    projector.list().map((row) => `${row.childId} ${row.state}/${row.waitingReason} ${row.attempt}`);
  return { bridge, projector, say, rows };
}

const applied = (results) => results.length > 0 && results.every((status) => status === "applied");

test("what was lost and works again is the next attempt, for a session and for a sub-agent", () => {
  const { bridge, projector, say, rows } = pair();
  for (const [second, event] of [started, turn("t"), child, ofChild(turn("u"))].entries()) say(second, event);
  projector.markStale(at(10));
  for (const childId of ["s", "c"]) {
    const { status, record } = projector.reconciliationFailed("my-agent/1", childId, at(15));
    assert.equal(status, "applied");
    assert.equal(bridge.corrected(record), true);
    assert.equal(bridge.corrected(record), false, "it has ended already");
  }
  assert.deepEqual(rows(), ["s lost/null 1", "c lost/null 1"]);
  // What it did before that is history; only what it does after shows a new life.
  assert.deepEqual(say(14, turn("before")), ["terminal_immutable"]);
  assert.deepEqual(rows(), ["s lost/null 1", "c lost/null 1"]);
  assert.ok(applied(say(20, turn("t2"))));
  assert.ok(applied(say(21, child)));
  assert.ok(applied(say(22, ofChild(turn("u2")))));
  assert.deepEqual(rows(), ["s#2 running/null 2", "c#2 running/null 2"]);
});

test("a bridge goes on from the state that an authority set", () => {
  for (const state of ["created", "starting", "running", "waiting"]) {
    const { bridge, projector, say, rows } = pair();
    say(0, started);
    say(1, turn("t"));
    const children = [{ childId: "s", state, ...(state === "waiting" ? { waitingReason: "question" } : {}) }];
    const { results } = projector.reconcile({
      complete: true,
      source: "my-agent/1",
      sourceEpoch: "e1",
      snapshotId: "n",
      observedAt: at(2),
      coverage: "all",
      children,
    });
    for (const { record } of results) assert.equal(bridge.corrected(record), true);
    for (const [second, event, expected] of [
      [
        3,
        { kind: "tool.started", toolId: "x", name: "Bash" },
        `${state}/${state === "waiting" ? "question" : null}`,
      ],
      [
        4,
        { kind: "wait.started", waitId: "w", state: "waiting", reason: "permission" },
        "waiting/permission",
      ],
      [5, { kind: "wait.finished", waitId: "w" }, "running/null"],
      [6, done("success"), "waiting/prompt"],
      [7, turn("t2"), "running/null"],
    ]) {
      assert.ok(applied(say(second, event)), `${state}: ${event.kind}`);
      assert.deepEqual(rows(), [`s ${expected} 1`], `${state}: ${event.kind}`);
    }
  }
});

test("a bridge goes on from no other record than its own", () => {
  const { bridge, projector, say, rows } = pair();
  for (const [second, event] of [started, turn("t"), child].entries()) say(second, event);
  const record = projector.snapshot("my-agent/1", "c");
  const lost = { ...record, state: "lost", stateSince: at(5) };
  for (const [other, value] of [
    ["source", "my-agent/2"],
    ["childId", "d"],
    ["childId", "c#2"],
    ["childId", "c#1"],
    ["childId", "#c"],
  ]) {
    assert.equal(bridge.corrected({ ...lost, [other]: value }), false, value);
  }
  assert.ok(applied(say(6, ofChild(turn("u")))), "none of them was its");
  assert.deepEqual(rows(), ["s running/null 1", "c running/null 1"]);
  refused("invalid_argument", "record", () => bridge.corrected(null));
  refused("invalid_argument", "record.source", () => bridge.corrected());
  refused("invalid_argument", "record.state", () => bridge.corrected({ ...lost, state: "gone" }));
  refused("invalid_argument", "record.waitingReason", () =>
    bridge.corrected({ ...lost, waitingReason: "x" }),
  );
  refused("invalid_timestamp", "record.stateSince", () => bridge.corrected({ ...lost, stateSince: "now" }));
});
