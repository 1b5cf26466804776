// bridgeAgentEvents: agent events to schema-v1 events and on to rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LifecycleProjector, bridgeAgentEvents } from "../index.js";

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
  refused("invalid_timestamp", "at", () => bridge.push(started, { at: "now" }));
  refused("invalid_option", "offset", () => bridge.push(started, { at: at(0), offset: -1 }));
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
