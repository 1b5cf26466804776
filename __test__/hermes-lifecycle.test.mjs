// hermesLifecycle through the public API: its shape, its refusals, and docs/hermes.md. The table of stories is the core's.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { LifecycleProjector } from "agent-lifecycle";
import {
  hermesLifecycle,
  normalizeHermesDelegationEvent,
  reconcileHermesDelegationStatus,
} from "agent-lifecycle/hermes";
import { coded, rows, section } from "./support/markdown.mjs";

const root = path.dirname(import.meta.dirname);
const read = (file) => fs.readFileSync(path.join(root, file), "utf8");
const page = read("docs/hermes.md");

const at = (second) => new Date(Date.UTC(2026, 4, 17, 12, 0, second)).toISOString();
const message = (type, second, rest) => ({
  type: `subagent.${type}`,
  child_id: "c",
  session_id: "s",
  observed_at: at(second),
  ...rest,
});
const lifecycle = (changes) => hermesLifecycle({ source: "hermes/1", sourceEpoch: "1", ...changes });

/** Gives a projector all of it. */
function taker(hermes, projector) {
  return ({ snapshot, events, questions, reported }) => {
    if (snapshot)
      for (const { record } of projector.reconcile(snapshot).results) if (record) hermes.corrected(record);
    const results = projector.applyMany(events);
    for (const { source, childId, reason, now } of questions)
      projector.requestReconciliation(source, childId, reason, now);
    return { statuses: results.map(({ status }) => status), reported: reported.map(({ code }) => code) };
  };
}

test("events, inputs and intents of a snapshot, for a host that keeps records of its own", () => {
  const projector = new LifecycleProjector();
  const hermes = lifecycle();
  const take = taker(hermes, projector);
  take(hermes.push(normalizeHermesDelegationEvent(message("spawn_requested", 0))));
  take(hermes.push(message("start", 1)));
  const current = [{ childId: "c", sessionId: "s", state: "running" }];
  const delegations = [{ child_id: "c", session_id: "s", status: "waiting" }];
  const first = reconcileHermesDelegationStatus({ observedAt: at(2), complete: true, delegations }, current);
  for (const asked of [...first.inputs, ...first.intents]) take(hermes.push(asked, { now: at(2) }));
  assert.equal(projector.snapshot("hermes/1", "c@s").state, "waiting");
  const second = reconcileHermesDelegationStatus(
    { observedAt: at(3), complete: true, delegations: [] },
    [{ ...current[0], state: "waiting" }],
    { missingGraceSnapshots: 1 },
  );
  for (const asked of [...second.inputs, ...second.intents]) take(hermes.push(asked, { now: at(3) }));
  const record = projector.snapshot("hermes/1", "c@s");
  assert.deepEqual([record.state, record.reconciliation.reason], ["waiting", "complete_snapshot_missing"]);
});

test("a raw event and the normalised one are the same event", () => {
  const raw = lifecycle().push(message("start", 1, { goal: "fix" }));
  const normalised = lifecycle().push(normalizeHermesDelegationEvent(message("start", 1, { goal: "fix" })));
  assert.deepEqual(raw, normalised);
  assert.equal(raw.events[0].eventId.length, 32);
});

test("only what a host says of itself is a capability", () => {
  const [event] = lifecycle({ capabilities: { snapshot: "known" } }).push(message("start", 1)).events;
  const unknown = "unknown";
  assert.deepEqual(event.capabilities, {
    history: unknown,
    heartbeat: unknown,
    snapshot: "known",
    cancel: unknown,
    terminalCause: unknown,
  });
});

test("the time of an intent is the clock's, where it is not given", () => {
  const hermes = lifecycle();
  hermes.push(message("start", 1));
  const before = Date.now();
  const { questions } = hermes.push({
    kind: "mark_stale_unknown",
    childId: "c",
    sessionId: "s",
    from: "running",
  });
  assert.ok(Date.parse(questions[0].now) >= before && Date.parse(questions[0].now) <= Date.now());
});

test("a new epoch is entered by the first complete snapshot", () => {
  const projector = new LifecycleProjector();
  const delegations = [{ child_id: "c", session_id: "s", status: "running" }];
  for (const [sourceEpoch, second] of [
    ["1", 1],
    ["2", 2],
  ]) {
    const hermes = lifecycle({ sourceEpoch });
    const take = taker(hermes, projector);
    take(hermes.snapshot({ observedAt: at(second), complete: true, delegations }));
    assert.equal(projector.epoch("hermes/1"), sourceEpoch);
    assert.deepEqual(take(hermes.push(message("thinking", second + 1))).statuses, ["applied"]);
  }
});

test("an incomplete snapshot is heartbeats, and ends nothing", () => {
  const projector = new LifecycleProjector();
  const hermes = lifecycle();
  const take = taker(hermes, projector);
  take(hermes.push(message("start", 1)));
  const made = hermes.snapshot({
    observedAt: at(130),
    complete: false,
    delegations: [{ child_id: "c", session_id: "s", status: "active" }],
  });
  assert.deepEqual([made.snapshot, made.events.map(({ kind }) => kind)], [undefined, ["heartbeat"]]);
  take(made);
  assert.deepEqual(projector.markStale(at(200)), []);
  take(hermes.snapshot({ observedAt: at(210), complete: false, delegations: [] }));
  assert.equal(projector.snapshot("hermes/1", "c@s").state, "running");
});

for (const [what, options, code] of [
  ["nothing", undefined, "invalid_argument"],
  ["no source", { sourceEpoch: "1" }, "invalid_argument"],
  ["a blank source", { source: " ", sourceEpoch: "1" }, "invalid_id"],
  ["an epoch that is too long", { source: "h", sourceEpoch: "x".repeat(513) }, "invalid_id"],
  ["a root with a NUL", { source: "h", sourceEpoch: "1", rootChildId: "\0" }, "invalid_id"],
  ["another content", { source: "h", sourceEpoch: "1", content: "some" }, "invalid_option"],
  [
    "a capability that is a guess",
    { source: "h", sourceEpoch: "1", capabilities: { cancel: "maybe" } },
    "invalid_option",
  ],
  ["a cause", { source: "h", sourceEpoch: "1", capabilities: { terminalCause: "known" } }, "invalid_option"],
  ["a misspelt option", { source: "h", sourceEpoch: "1", epoch: "2" }, "invalid_option"],
]) {
  test(`a lifecycle with ${what} is refused`, () => {
    assert.throws(() => hermesLifecycle(options), { name: "LifecycleError", code });
  });
}

for (const [what, call, code] of [
  ["nothing", (hermes) => hermes.push(undefined), "invalid_event"],
  ["an unknown kind", (hermes) => hermes.push({ kind: "guess" }), "invalid_kind"],
  [
    "an intent without a state",
    (hermes) => hermes.push({ kind: "correct_projection", childId: "c", sessionId: "s" }),
    "invalid_state",
  ],
  [
    "an input that is lost",
    (hermes) => hermes.push({ kind: "snapshot_reconciled", childId: "c", sessionId: "s", state: "lost" }),
    "invalid_state",
  ],
  ["a NUL in an id", (hermes) => hermes.push(message("start", 1, { child_id: "a\0" })), "invalid_id"],
  ["a time that is none", (hermes) => hermes.push(message("start", 1), { now: "noon" }), "invalid_timestamp"],
  ["a snapshot that is none", (hermes) => hermes.snapshot({}), "invalid_timestamp"],
  [
    "a record without a state",
    (hermes) => hermes.corrected({ source: "h", childId: "c" }),
    "invalid_argument",
  ],
  [
    "a record with another state",
    (hermes) => hermes.corrected({ source: "h", childId: "c", state: "idle", stateSince: at(1) }),
    "invalid_argument",
  ],
]) {
  test(`${what} is refused`, () => {
    assert.throws(() => call(lifecycle()), { name: "LifecycleError", code });
  });
}

test("the tables of the page are what is so", () => {
  const [types, statuses] = section(page, "## Delegation events").split("\n| status |");
  const given = rows(types).flatMap(([names, kind, state]) =>
    coded(names).map((name) => [name, coded(kind)[0], coded(state)[0]]),
  );
  assert.equal(given.length, 7);
  for (const [type, kind, state] of given) {
    const made = normalizeHermesDelegationEvent({ ...message("", 1), type });
    assert.deepEqual([made.kind, made.state], [kind, state], type);
  }
  const [words, members] = statuses.split("\n| member |");
  const meanings = rows(`| status |${words}`).flatMap(([names, state]) =>
    coded(names).map((name) => [name, coded(state)[0]]),
  );
  assert.equal(meanings.length, 8);
  for (const [status, state] of meanings)
    assert.equal(normalizeHermesDelegationEvent(message("complete", 1, { status })).state, state);
  for (const [cell, from] of rows(`| member |${members}`)) {
    const names = coded(from).length === 0 || coded(cell).length > 1 ? coded(cell) : coded(from);
    for (const name of names) {
      const value = { observed_at: at(1), status: "active" }[name] ?? "x";
      const bare = message("start", 1);
      if (coded(cell)[0] === "childId") delete bare.child_id;
      if (coded(cell)[0] === "sessionId") delete bare.session_id;
      const made = normalizeHermesDelegationEvent({ ...bare, [name]: value });
      const member = coded(cell).length > 1 ? name : coded(cell)[0];
      assert.equal(made[member], value, `${name} is ${member}`);
    }
  }
  const [, codes] = /export type HermesReportCode =([^;]*);/.exec(read("ts/hermes-lifecycle.ts"));
  assert.deepEqual(
    rows(section(page, "## The lifecycle").split("\n| reported |")[1]).map(([code]) => coded(code)[0]),
    [...codes.matchAll(/"(\w+)"/g)].map(([, code]) => code),
  );
  const [, shape] = /interface HermesMonitorSource \{([\s\S]*?)\n\}/.exec(read("ts/hermes-source.ts"));
  const options = [...shape.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name]) => name);
  assert.deepEqual(
    rows(section(page, "## A monitor")).flatMap(([cell]) => coded(cell)),
    options.filter((name) => name !== "type"),
  );
});
