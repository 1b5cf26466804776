// openMonitor: agents that work now, over real files.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import * as consumers from "node:stream/consumers";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { jsonlSession, openMonitor } from "../index.js";
import { fixtureTerminal } from "../testing.js";

const entry = path.join(import.meta.dirname, "..", "index.js");

function temporary(t) {
  const folder = mkdtempSync(path.join(tmpdir(), "monitor-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const line = (session, uuid, record) =>
  `${JSON.stringify({ sessionId: session, uuid, timestamp: new Date().toISOString(), ...record })}\n`;
const prompt = (session, id) =>
  line(session, id, { type: "user", promptId: id, message: { role: "user", content: "Go." } });
const done = (session, id) =>
  line(session, `u-${id}`, { type: "assistant", message: { id, stop_reason: "end_turn", content: [] } });

async function* remote() {
  yield prompt("far", "p1").slice(0, 20);
  yield prompt("far", "p1").slice(20);
}

/** What `String` cannot take. */
const bare = () => Object.create(null);

const refused = (code, given) => assert.rejects(openMonitor(given), { code, name: "LifecycleError" });

/** Waits until `holds` is true. */
async function until(what, holds) {
  const end = Date.now() + 20_000;
  while (!holds()) {
    assert.ok(Date.now() < end, what);
    await wait(5);
  }
}

function append(file, text) {
  mkdirSync(path.dirname(file), { recursive: true });
  appendFileSync(file, text);
}

/** A store as a host keeps one, from changes alone. */
function store() {
  const rows = new Map();
  return {
    rows,
    apply({ upserted, removed, reset }) {
      if (reset) rows.clear();
      for (const key of removed) rows.delete(key);
      for (const row of upserted) rows.set(row.key, row);
    },
  };
}

const fail = () => {
  throw new Error("password=hunter22222");
};

test("the changes add up to the rows, over a session's life", async (t) => {
  const folder = temporary(t);
  const file = path.join(folder, "s.jsonl");
  append(file, prompt("s", "p1"));
  const kept = store();
  const monitor = await openMonitor({
    sources: [folder],
    onChange: (changes) => kept.apply(structuredClone(changes)),
  });
  t.after(() => monitor.close());
  assert.equal(kept.rows.get("claude-code/s").state, "running");
  append(file, done("s", "m1"));
  await until("the turn ends", () => kept.rows.get("claude-code/s").waitingReason === "prompt");
  append(path.join(folder, "other.jsonl"), prompt("other", "p2"));
  await until("another session", () => kept.rows.has("claude-code/other"));
  assert.deepEqual(
    [...kept.rows.values()].map((row) => row.key).toSorted(),
    monitor
      .rows()
      .map((row) => row.key)
      .toSorted(),
  );
  assert.equal(monitor.tree().length, 2);
  const explained = monitor.explain("claude-code/s");
  assert.equal(explained.evidence.at(-1).effect, "waiting prompt");
  assert.equal(explained.evidence.at(-1).journal, file);
  assert.equal(monitor.explain("nobody"), undefined);
  const { cursor } = monitor.changesSince();
  assert.deepEqual(monitor.changesSince(cursor).upserted, []);
  assert.equal(monitor.changesSince("of another").reset, true);
});

test("an authority is asked once about a silent child, and its answer is drawn at the deadline", async (t) => {
  const folder = temporary(t);
  append(path.join(folder, "s.jsonl"), prompt("s", "p1"));
  const asked = [];
  const monitor = await openMonitor({
    sources: [folder],
    staleAfterMs: 1,
    reconcileDeadlineMs: 1,
    onDiagnostic: () => {},
    reconcile: (question) => {
      asked.push(question);
      return "gone";
    },
  });
  t.after(() => monitor.close());
  await until("it is lost", () => monitor.rows()[0].state === "lost");
  assert.deepEqual(
    asked.map(({ source, childId, reason }) => [source, childId, reason]),
    [["claude-code/s", "s", "silence"]],
  );
});

test("an answer that fails is no answer, and is told", async (t) => {
  const folder = temporary(t);
  append(path.join(folder, "s.jsonl"), prompt("s", "p1"));
  const codes = [];
  const monitor = await openMonitor({
    sources: [folder],
    staleAfterMs: 1,
    onDiagnostic: ({ code }) => codes.push(code),
    reconcile: () => Promise.reject(new Error("the server is down")),
  });
  t.after(() => monitor.close());
  await until("it is unanswered", () => monitor.rows()[0].freshness.reconcile === "unanswered");
  assert.deepEqual([monitor.rows()[0].state, codes], ["running", ["reconcile_failed"]]);
});

test("streams and events of the host are rows like any other", async (t) => {
  const folder = temporary(t);
  const monitor = await openMonitor({
    sources: [folder, { type: "stream", readable: remote(), host: "build-7" }],
  });
  t.after(() => monitor.close());
  await until("the stream", () => monitor.rows().length === 1);
  const counts = monitor.apply([
    {
      schemaVersion: 1,
      eventId: "1",
      source: "mine/1",
      sourceEpoch: "e",
      childId: "c",
      kind: "created",
      state: "created",
      lineage: { rootChildId: "c", attempt: 1, external: false },
      observedAt: new Date().toISOString(),
    },
    { not: "an event" },
  ]);
  assert.deepEqual(counts, { applied: 1, refused: 1 });
  assert.deepEqual(monitor.apply([5, null, undefined, "x", {}, [], () => {}]), { refused: 7 });
  assert.deepEqual(monitor.apply([]), {});
  const cycle = {};
  cycle.self = cycle;
  for (const bad of [10n, { details: { a: 10n } }, cycle]) {
    assert.throws(() => monitor.apply([{}, bad]), {
      name: "LifecycleError",
      code: "invalid_event",
      path: "events[1]",
    });
  }
  assert.deepEqual(
    monitor
      .rows()
      .map((row) => row.source)
      .toSorted(),
    ["claude-code/far", "mine/1"],
  );
});

test("a restart goes on from the journal", async (t) => {
  const folder = temporary(t);
  const file = path.join(folder, "sessions", "s.jsonl");
  const journal = path.join(folder, "monitor.jsonl");
  append(file, prompt("s", "p1"));
  const options = { sources: [path.dirname(file)], journal };
  const first = await openMonitor(options);
  await first.close();
  await first.close();
  append(file, done("s", "m1"));
  const second = await openMonitor(options);
  assert.deepEqual([second.rows()[0].turns.count, second.rows()[0].waitingReason], [1, "prompt"]);
  const rows = second.rows();
  await second.close();
  const lines = readFileSync(journal, "utf8").split("\n").length;
  const third = await openMonitor(options);
  assert.deepEqual(third.rows(), rows);
  await third.close();
  assert.equal(readFileSync(journal, "utf8").split("\n").length, lines);
});

test("what is wrong is refused by name", async () => {
  await refused("invalid_option", { sources: [{ type: "fax" }] });
  await refused("invalid_option", { sources: ["/nowhere/at/all"] });
  await refused("invalid_option", { sources: [], content: "all" });
  await refused("invalid_option", { sources: [], activeWithinMs: -1 });
  await refused("invalid_argument", { sources: 7 });
  // The source at fault is named by its place, before anything is opened.
  const bound = { type: "session", session: { state: "bound" }, bridge: {} };
  const session = jsonlSession({ binding: {}, source: remote(), mapRecord() {} });
  for (const [sources, code, at, says] of [
    ["/work", "invalid_option", "sources", /a list/],
    [[""], "invalid_option", "sources[0]", /empty/],
    [["default", "/nowhere/at/all"], "invalid_option", "sources[1]", /is not there/],
    [["default", { type: "stream" }], "invalid_option", "sources[1].readable", /async iterable/],
    [["default", { ...bound, session: 1 }], "invalid_option", "sources[1].session", /jsonlSession/],
    [[{ type: "stream", readable: [], hosts: "x" }], "invalid_option", "sources[0].hosts", /host/],
    [[{ ...bound, session, bridges: 1 }], "invalid_option", "sources[0].bridges", /bridge/],
    [[bound], "invalid_session", "sources[0].session.binding", /bindAgentSession/],
    [[{ ...bound, session, bridge: 1 }], "invalid_option", "sources[0].bridge", /bridgeAgentEvents/],
    [[{ ...bound, session }], "invalid_argument", "sources[0].bridge.source", /must be text/],
    [
      [{ ...bound, session, bridge: { source: "", sourceEpoch: "1", sessionId: "s" } }],
      "invalid_id",
      "sources[0].bridge.source",
      /not blank/,
    ],
  ]) {
    await assert.rejects(openMonitor({ sources }), (error) => {
      assert.deepEqual([error.name, error.code, error.path], ["LifecycleError", code, at]);
      assert.match(error.message, says);
      return true;
    });
  }
  const signal = AbortSignal.abort();
  await assert.rejects(openMonitor({ sources: [], signal }), { name: "AbortError" });
});

test("an option that there is not names the one that was meant", async () => {
  for (const [name, meant] of [
    ["onchange", "onChange"],
    ["sorces", "sources"],
    ["staleAfterMS", "staleAfterMs"],
    ["jorunal", "journal"],
    ["x", undefined],
    ["everything", undefined],
  ]) {
    await assert.rejects(openMonitor({ [name]: 1 }), ({ code, path: at, message }) => {
      assert.deepEqual([code, at], ["invalid_option", name]);
      assert.equal(/did you mean (\w+)/.exec(message)?.[1], meant, message);
      return true;
    });
  }
});

test("options of another type are refused before anything is opened", async (t) => {
  const folder = temporary(t);
  const journal = path.join(folder, "monitor.jsonl");
  const wrong = {
    ref: [1, null],
    signal: [5, null, {}, { aborted: false }],
    onChange: [5, null],
    onDiagnostic: ["x"],
    reconcile: [{}],
  };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const opened = openMonitor({ sources: [folder], journal, [name]: value });
      await assert.rejects(opened, { name: "LifecycleError", code: "invalid_option", path: name });
    }
  }
  for (const readable of [5, undefined, {}])
    await refused("invalid_option", { sources: [{ type: "stream", readable }], journal });
  assert.deepEqual(readdirSync(folder), []);
});

test("a signal that can only be asked closes the monitor", async (t) => {
  const folder = temporary(t);
  const signal = { aborted: false, throwIfAborted: () => undefined };
  let hasReturned = false;
  const readable = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => {}),
      async return() {
        hasReturned = true;
        throw new Error("in return");
      },
    }),
  };
  const monitor = await openMonitor({ sources: [folder, { type: "stream", readable }], signal });
  signal.aborted = true;
  await until("it is closed", () => hasReturned);
  await monitor.close();
});

test("a monitor that is stopped while it opens is closed before that is told", async (t) => {
  const folder = temporary(t);
  append(path.join(folder, "sessions", "s.jsonl"), prompt("s", "p1"));
  const options = { sources: [path.join(folder, "sessions")], journal: path.join(folder, "m.jsonl") };
  const abort = new AbortController();
  const opening = openMonitor({ ...options, signal: abort.signal });
  abort.abort(new Error("stop"));
  await assert.rejects(opening, { message: "stop" });
  // Its journal is free.
  await (await openMonitor(options)).close();
});

test("closing ends streams, also those that wait", async (t) => {
  const readable = new Readable({ read() {} });
  const monitor = await openMonitor({ sources: [temporary(t), { type: "stream", readable }] });
  await monitor.close();
  assert.equal(readable.destroyed, true);
});

test("what callbacks throw or reject with is told, and is no unhandled rejection", async (t) => {
  const folder = temporary(t);
  append(path.join(folder, "s.jsonl"), prompt("s", "p1"));
  const unhandled = [];
  const onUnhandled = (error) => unhandled.push(error);
  process.on("unhandledRejection", onUnhandled);
  t.after(() => process.off("unhandledRejection", onUnhandled));
  const broken = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(bare()) }) };
  for (const fails of [
    () => Promise.reject(new Error("later")),
    () => Promise.reject(bare()),
    () => {
      throw bare();
    },
    () => {
      throw Symbol("x");
    },
  ]) {
    const codes = new Set();
    const monitor = await openMonitor({
      sources: [folder, { type: "stream", readable: broken }],
      staleAfterMs: 1,
      onChange: fails,
      reconcile: fails,
      onDiagnostic({ code }) {
        codes.add(code);
        return fails();
      },
    });
    await until("all is told", () => codes.size === 3);
    assert.deepEqual([...codes].toSorted(), ["callback_failed", "reconcile_failed", "source_failed"]);
    await monitor.close();
  }
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(unhandled, []);
});

test("what is told of it has no secret", async (t) => {
  const folder = temporary(t);
  append(path.join(folder, "s.jsonl"), prompt("s", "p1"));
  const told = new Map();
  const monitor = await openMonitor({
    sources: [folder, { type: "stream", readable: { [Symbol.asyncIterator]: () => ({ next: fail }) } }],
    staleAfterMs: 1,
    onChange: fail,
    reconcile: fail,
    onDiagnostic: ({ code, message }) => void told.set(code, message),
  });
  t.after(() => monitor.close());
  await until("all is told", () => told.size === 3);
  for (const [code, message] of told) assert.match(message, /password=\[REDACTED\]/u, code);
});

test("an authority that never answers has not answered at the deadline", async (t) => {
  const folder = temporary(t);
  append(path.join(folder, "s.jsonl"), prompt("s", "p1"));
  const monitor = await openMonitor({
    sources: [folder],
    staleAfterMs: 1,
    reconcileDeadlineMs: 1,
    reconcile: () => new Promise(() => {}),
  });
  t.after(() => monitor.close());
  await until("it is unanswered", () => monitor.rows()[0].freshness.reconcile === "unanswered");
  assert.equal(monitor.rows()[0].state, "running");
});

test("K3: a script that opens a monitor and never closes it ends", async (t) => {
  const folder = temporary(t);
  const script = `require(${JSON.stringify(entry)}).openMonitor({ sources: [${JSON.stringify(folder)}] });`;
  const child = spawn(process.execPath, ["-e", script], { stdio: "ignore" });
  const timer = setTimeout(() => child.kill("SIGKILL"), 20_000);
  const [code, killed] = await new Promise((resolve) => child.on("exit", (...how) => resolve(how)));
  clearTimeout(timer);
  assert.deepEqual([code, killed], [0, null]);
});

test("workers that start a monitor and go at once neither abort nor hang", async () => {
  // In a process of their own: an abort would take this one along.
  const soak = path.join(import.meta.dirname, "..", "benches", "workers.mjs");
  const child = spawn(process.execPath, [soak, "4", "10"], { stdio: ["ignore", "pipe", "inherit"] });
  const said = await consumers.text(child.stdout);
  assert.match(
    said,
    /^4 of 4 rounds of 10 workers in .* s: it ended with exit code 0\n40 monitors were started/,
  );
  assert.match(said, /^0 workers ended with another exit code than 0/m);
});

/** A watcher that gives this text and ends. */
const chunks = (text) => ({
  async *[Symbol.asyncIterator]() {
    yield { type: "append", bytes: Buffer.from(text) };
  },
});

test("a bad line of a session's journal is told with its source, its sub-agent and its offset", async (t) => {
  const home = temporary(t);
  const session = jsonlSession({
    binding: fixtureTerminal().bindSession(),
    source: chunks('{"a":1}\nnot json\n'),
    childSources: [{ childId: "c1", journal: { id: "j1" }, source: chunks("{}\n{}\n{\n") }],
    mapRecord() {},
  });
  const told = [];
  const bridge = { source: "mine/1", sourceEpoch: "1", sessionId: "s" };
  const monitor = await openMonitor({
    sources: [home, { type: "session", session, bridge }],
    onDiagnostic: ({ code, message }) => told.push([code, message]),
    onChange() {},
  });
  t.after(() => monitor.close());
  await until("both lines are told", () => told.length >= 2);
  assert.deepEqual(
    told.map(([code]) => code),
    ["malformed", "malformed"],
  );
  assert.match(told[0][1], /^sources\[1\], offset 8: /);
  assert.match(told[1][1], /^sources\[1\], sub-agent "c1", offset 6: /);
});
