// A monitor that watches a Hermes: its status on a schedule, and its events.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { setTimeout as wait } from "node:timers/promises";
import { openMonitor } from "agent-lifecycle";

const entry = path.join(import.meta.dirname, "..", "index.js");
const ago = (ms) => new Date(Date.now() - ms).toISOString();
const now = () => ago(0);
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

for (const [what, source, code = "invalid_option", member = `.${Object.keys(source)[0]}`] of [
  ["no fetchStatus", { fetchStatus: undefined }],
  ["events that are none", { events: 5 }],
  ["no interval", { intervalMs: 0 }],
  ["a deadline that is text", { deadlineMs: "1" }],
  ["a misspelt member", { intervalms: 5 }],
  ["an epoch that is no text", { sourceEpoch: 2 }, "invalid_argument"],
  ["an empty epoch", { sourceEpoch: "" }, "invalid_id"],
  ["a capability that there is not", { capabilities: { cancels: "known" } }, "invalid_option", ".cancels"],
]) {
  test(`a source with ${what} is refused, and its place is named`, async () => {
    const given = [hermes(() => status([])), hermes(() => status([]), { source: "hermes/2", ...source })];
    await assert.rejects(openMonitor({ sources: given }), {
      name: "LifecycleError",
      code,
      path: `sources[1]${member}`,
    });
  });
}

for (const [what, events, says] of [
  [
    "throws",
    () => {
      throw new Error("refused, token sk-abcdefghijklmnopqrstuvwx1234");
    },
    /Error: refused, token \[REDACTED\]$/u,
  ],
  [
    "rejects",
    async () => {
      throw new Error("refused");
    },
    /Error: refused$/u,
  ],
  ["gives what cannot be iterated", () => 5, /events gave what cannot be iterated/u],
  ["promises what cannot be iterated", async () => ({}), /events gave what cannot be iterated/u],
]) {
  test(`an opener that ${what} is told, and asked again`, async (t) => {
    let count = 0;
    const reasons = [];
    const opener = () => {
      count += 1;
      return count === 1 ? events() : Promise.resolve([event("start", "a")]);
    };
    const fetchStatus = (reason) => {
      reasons.push(reason);
      return status([]);
    };
    const { told, states } = await opened(t, [hermes(fetchStatus, { events: opener })]);
    await until("the stream that opens", () => states()["a@s"] === "running");
    assert.equal(told[0].code, "source_failed");
    assert.match(told[0].message, says);
    assert.deepEqual(reasons.slice(0, 2), ["session_open", "reconnect"]);
  });
}

test("an event that comes while the status is fetched is applied after it", async (t) => {
  // A stream that holds nothing for who does not read yet.
  const readers = [];
  const events = () => ({
    [Symbol.asyncIterator]: () => ({ next: () => new Promise((resolve) => readers.push(resolve)) }),
  });
  let answer;
  const before = now();
  const fetchStatus = () => new Promise((resolve) => (answer = resolve));
  const opening = opened(t, [hermes(fetchStatus, { events })]);
  await until("the status is asked for", () => answer !== undefined);
  assert.equal(readers.length, 1, "the stream is read before");
  readers[0]({ done: false, value: event("complete", "a", { status: "completed" }) });
  // The status is of before the end. Without it the child would be unknown, and its end reported only.
  answer({ observedAt: before, complete: true, delegations: [delegation("a", "active")] });
  const { told, states } = await opening;
  await until("the end is not lost", () => states()["a@s"] === "completed");
  assert.deepEqual(told, []);
});

test("while the status is fetched no more than 1,024 events are kept, and none is lost", async (t) => {
  let given = 0;
  async function* events() {
    for (; given < 1500;) {
      given += 1;
      yield event("start", `c${given}`);
    }
  }
  let answer;
  const fetchStatus = () => new Promise((resolve) => (answer = resolve));
  const opening = opened(t, [hermes(fetchStatus, { events: events() })]);
  await until("it is read", () => given >= 1024);
  await wait(20);
  assert.equal(given, 1024);
  answer(status([]));
  const { monitor } = await opening;
  await until("the rest", () => monitor.rows().length === 1500);
});

test("a status that hangs does not keep a script alive, nor end it in the middle of its wait", async () => {
  const source = `{ type: "hermes", source: "h", sourceEpoch: "1", fetchStatus: () => new Promise(() => {}), deadlineMs: 3600000 }`;
  const script = `
    import entry from ${JSON.stringify(pathToFileURL(entry).href)};
    const monitor = await entry.openMonitor({ sources: [${source}] });
    process.exitCode = monitor.rows().length === 0 ? 7 : 8;`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" });
  const timer = setTimeout(() => child.kill("SIGKILL"), 60_000);
  const [exit, killed] = await new Promise((resolve) => child.on("exit", (...how) => resolve(how)));
  clearTimeout(timer);
  assert.deepEqual([exit, killed], [7, null]);
});

test("a first status that is older than the last of the epoch before is without effect, and the next enters", async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), "hermes-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const journal = path.join(folder, "monitor.jsonl");
  const before = { ...status([delegation("a", "active")]), observedAt: ago(1000) };
  const first = await opened(t, [hermes(() => before)], { journal });
  await first.monitor.close();
  const answers = [{ ...before, observedAt: ago(60_000) }, before];
  const fetchStatus = () => answers.shift() ?? status([delegation("a", "waiting")]);
  const second = await opened(t, [hermes(fetchStatus, { sourceEpoch: "2", intervalMs: 10 })], { journal });
  await until("the epoch is entered", () => second.states()["a@s"] === "waiting");
  assert.deepEqual(second.told, []);
});

test("a source has one owner", async () => {
  const source = hermes(() => status([]));
  await assert.rejects(openMonitor({ sources: [source, source] }), {
    code: "invalid_option",
    path: "sources",
  });
});
