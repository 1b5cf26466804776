// A monitor that watches a Hermes: its status on a schedule, and its events.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { openMonitor } from "agent-lifecycle";

const now = () => new Date().toISOString();
const delegation = (child_id, status, rest) => ({ child_id, session_id: "s", status, ...rest });
const event = (type, child_id, rest) => ({
  type: `subagent.${type}`,
  child_id,
  session_id: "s",
  observed_at: now(),
  ...rest,
});
const hermes = (fetchStatus, rest) => ({
  type: "hermes",
  source: "hermes/1",
  sourceEpoch: "1",
  fetchStatus,
  ...rest,
});
const status = (delegations, complete = true) => ({ observedAt: now(), complete, delegations });

/** Waits until `holds` is true. */
async function until(what, holds) {
  const end = Date.now() + 20_000;
  while (!holds()) {
    assert.ok(Date.now() < end, what);
    await wait(5);
  }
}

async function opened(t, sources, rest) {
  const told = [];
  const monitor = await openMonitor({
    sources,
    onDiagnostic: (diagnostic) => told.push(diagnostic),
    ...rest,
  });
  t.after(() => monitor.close());
  const states = () => Object.fromEntries(monitor.rows().map((row) => [row.childId, row.state]));
  return { monitor, told, states };
}

/** A stream that a test writes. */
function stream() {
  const waiting = [];
  let wake;
  let end;
  return {
    push(...items) {
      waiting.push(...items);
      wake?.();
    },
    end(error) {
      end = { error };
      wake?.();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        if (waiting.length > 0) yield waiting.shift();
        else if (end?.error) throw end.error;
        else if (end) return;
        else await new Promise((resolve) => (wake = resolve));
      }
    },
  };
}

test("the status at the opening is there when the monitor is open; then come events and further ones", async (t) => {
  const events = stream();
  const reasons = [];
  let delegations = [delegation("a", "active", { current_tool: "bash" }), delegation("b", "completed")];
  const fetchStatus = (reason) => {
    reasons.push(reason);
    return status(delegations);
  };
  const { monitor, states } = await opened(t, [hermes(fetchStatus, { events, intervalMs: 40 })]);
  assert.deepEqual(states(), { "a@s": "running", "b@s": "completed" });
  assert.equal(reasons[0], "session_open");
  assert.equal(monitor.rows()[0].capabilities.snapshot, "known");
  assert.equal(monitor.rows()[0].provider, "hermes");
  events.push(event("spawn_requested", "c"), event("start", "c"));
  delegations = [delegation("a", "waiting"), delegation("c", "running")];
  await until(
    "the next status corrects",
    () => states()["a@s"] === "waiting" && states()["c@s"] === "running",
  );
  assert.ok(reasons.slice(1).every((reason) => reason === "periodic"));
  events.push(event("complete", "c", { status: "failed" }));
  await until("the end is told", () => states()["c@s"] === "failed");
  assert.equal(states()["b@s"], "completed", "what a status leaves out stays as it ended");
});

test("a child that complete statuses leave out is stale, asked about, and never lost", async (t) => {
  const reasons = [];
  let delegations = [delegation("a", "active"), delegation("b", "active")];
  const fetchStatus = (reason) => {
    reasons.push(reason);
    return status(delegations);
  };
  const { monitor, states } = await opened(t, [hermes(fetchStatus, { intervalMs: 20 })]);
  delegations = [delegation("b", "active")];
  const row = () => monitor.rows().find(({ childId }) => childId === "a@s");
  await until("left out twice", () => row().freshness.stale);
  assert.equal(row().freshness.reason, "complete_snapshot_missing");
  await until("asked, without an answer", () => row().freshness.reconcile === "unanswered");
  assert.ok(reasons.includes("question"));
  assert.deepEqual(states(), { "a@s": "running", "b@s": "running" });
});

test("a status that does not come ends nothing, and is told", async (t) => {
  const error = new Error("no connection, token sk-abcdefghijklmnopqrstuvwx1234");
  const { told, states } = await opened(t, [
    hermes(() => Promise.reject(error), { events: [event("start", "a")] }),
  ]);
  await until("the event is read", () => states()["a@s"] === "running");
  assert.deepEqual(
    told.map(({ code, path: where, message }) => [code, where, message]),
    [
      [
        "snapshot_unanswered",
        null,
        "hermes/1: no status (asked for: session_open): Error: no connection, token [REDACTED]",
      ],
    ],
  );
});

test("an incomplete status refreshes, and corrects nothing", async (t) => {
  let count = 0;
  const fetchStatus = () => {
    count += 1;
    return count === 1 ? status([delegation("a", "active")]) : status([delegation("a", "failed")], false);
  };
  const { states } = await opened(t, [hermes(fetchStatus, { intervalMs: 10 })]);
  await until("some were asked for", () => count > 3);
  assert.deepEqual(states(), { "a@s": "running" });
});

test("a status that is not understood is a diagnostic on its row, told once", async (t) => {
  let count = 0;
  const fetchStatus = () => {
    count += 1;
    return status([
      delegation("a", count === 1 ? "active" : "exploded"),
      delegation("b", count > 2 ? "waiting" : "active"),
    ]);
  };
  const { monitor, told, states } = await opened(t, [hermes(fetchStatus, { intervalMs: 10 })]);
  await until("others are corrected", () => states()["b@s"] === "waiting" && count > 5);
  assert.deepEqual(states(), { "a@s": "running", "b@s": "waiting" });
  assert.deepEqual(
    told.map(({ code }) => code),
    ["invalid_state"],
  );
  assert.match(told[0].message, /^hermes\/1: "a" of session "s": status is not one that is understood/);
  assert.deepEqual(
    monitor.rows().map((row) => [row.childId, row.diagnostics]),
    [
      ["a@s", { invalid_state: 1 }],
      ["b@s", {}],
    ],
  );
});

test("a stream that is opened by a function is opened again, with a status", async (t) => {
  const streams = [stream(), stream()];
  const reasons = [];
  const fetchStatus = (reason) => {
    reasons.push(reason);
    return status(reasons.length === 1 ? [] : [delegation("missed", "active")]);
  };
  let count = 0;
  const { told, states } = await opened(t, [
    hermes(fetchStatus, { events: () => streams[count++] ?? stream() }),
  ]);
  streams[0].push(event("start", "a"));
  await until("an event", () => states()["a@s"] === "running");
  streams[0].end(new Error("cut"));
  await until("the status after the reconnect", () => states()["missed@s"] === "running");
  assert.deepEqual(reasons, ["session_open", "reconnect"]);
  streams[1].push(event("complete", "a"));
  await until("an event of the next stream", () => states()["a@s"] === "completed");
  assert.deepEqual(
    told.map(({ code }) => code),
    ["source_failed"],
  );
});

test("an event that is refused is told, and the others are read", async (t) => {
  const events = [
    { type: "subagent.guess" },
    event("start", "a"),
    event("complete", "b"),
    event("start", "c"),
  ];
  const { told, states } = await opened(t, [hermes(() => status([]), { events })]);
  await until("the last event", () => states()["c@s"] === "running");
  assert.deepEqual(states(), { "a@s": "running", "c@s": "running" });
  assert.deepEqual(
    told.map(({ code }) => code),
    ["event_refused", "unknown_child"],
  );
});

test("after a restart the journal goes on in the next epoch", async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), "hermes-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const journal = path.join(folder, "monitor.jsonl");
  const first = await opened(
    t,
    [hermes(() => status([delegation("a", "active"), delegation("b", "active")]))],
    { journal },
  );
  await first.monitor.close();
  const after = { sourceEpoch: "2", events: [event("complete", "a", { status: "completed" })] };
  const delegations = [delegation("a", "active"), delegation("b", "waiting")];
  const second = await opened(t, [hermes(() => status(delegations), after)], { journal });
  await until("the end, in the new epoch", () => second.states()["a@s"] === "completed");
  assert.deepEqual(second.states(), { "a@s": "completed", "b@s": "waiting" });
});

test("a host's authority is asked too, and its word counts", async (t) => {
  const asked = [];
  const reconcile = ({ source, childId }) => {
    asked.push([source, childId]);
    return "gone";
  };
  let delegations = [delegation("a", "active")];
  const rest = { reconcile, reconcileDeadlineMs: 30 };
  const { states } = await opened(t, [hermes(() => status(delegations), { intervalMs: 20 })], rest);
  delegations = [];
  await until("lost by an authority's word", () => states()["a@s"] === "lost");
  assert.deepEqual(asked[0], ["hermes/1", "a@s"]);
});

for (const [what, source] of [
  ["no fetchStatus", { fetchStatus: undefined }],
  ["events that are none", { events: 5 }],
  ["no interval", { intervalMs: 0 }],
  ["a deadline that is text", { deadlineMs: "1" }],
]) {
  test(`a source with ${what} is refused`, async () => {
    await assert.rejects(openMonitor({ sources: [hermes(() => status([]), source)] }), {
      name: "LifecycleError",
      code: "invalid_option",
    });
  });
}

test("a source has one owner", async () => {
  const source = hermes(() => status([]));
  await assert.rejects(openMonitor({ sources: [source, source] }), {
    code: "invalid_option",
    path: "sources",
  });
});
