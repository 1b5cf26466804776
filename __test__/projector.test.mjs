// The parser and the projector through the addon.
import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonlLifecycleParser, LifecycleError, LifecycleProjector } from "agent-lifecycle";
import { event, note, state } from "./support/events.mjs";

const line = (value) => `${JSON.stringify(value)}\n`;
const life = [state("e1", "created"), state("e2", "starting"), state("e3", "running")];

test("D1: half a line gives nothing, its rest gives one record", () => {
  const parser = new JsonlLifecycleParser();
  const text = line(event());
  assert.deepEqual(parser.push(text.slice(0, 30)), []);
  assert.deepEqual(parser.diagnostics, []);
  assert.equal(parser.push(text.slice(30)).length, 1);
  parser.push('{"complete": "but no event"}\n');
  assert.deepEqual(
    parser.diagnostics.map(({ code, offset }) => ({ code, offset })),
    [{ code: "invalid_event", offset: text.length }],
  );
  assert.equal(parser.records.length, 1);
});

test("D7: the same bytes in any chunks give the same records and diagnostics", () => {
  const bytes = Buffer.from(
    `\ufeff${life.map(line).join("")}{broken\r\n\n  \n${line(note("é😀", "activity"))}${"x".repeat(300_000)}\n${line(note("e9", "heartbeat"))}{"cut":"`,
  );
  const parse = (size) => {
    const parser = new JsonlLifecycleParser();
    for (let at = 0; at < bytes.length; at += size) {
      const chunk = Uint8Array.from(bytes.subarray(at, at + size));
      parser.push(chunk);
      // The chunk is the caller's again.
      chunk.fill(0);
    }
    return parser.end();
  };
  const whole = parse(bytes.length);
  assert.deepEqual(
    whole.records.map((record) => record.eventId),
    ["e1", "e2", "e3", "é😀", "e9"],
  );
  assert.deepEqual(
    whole.diagnostics.map(({ code }) => code),
    ["malformed", "oversize", "truncated"],
  );
  for (const size of [1, 7, 4096, 65_536]) assert.deepEqual(parse(size), whole);
});

test("the parser's limit, its count of faults, and take for long streams", () => {
  const parser = new JsonlLifecycleParser({ maxLineBytes: 400 });
  for (let fault = 0; fault < 40; fault += 1) parser.push("{\n");
  parser.push(line(event({ activity: "x".repeat(300) })));
  parser.push(line(event()));
  assert.equal(parser.diagnostics.length, 32);
  assert.equal(parser.diagnosticCount, 41);
  assert.equal(parser.take().length, 1);
  assert.deepEqual(parser.records, []);
  for (const maxLineBytes of [Number.NaN, 1.5, "x"]) {
    assert.throws(
      () => new JsonlLifecycleParser({ maxLineBytes }),
      (error) =>
        error instanceof LifecycleError && error.code === "invalid_option" && error.path === "maxLineBytes",
    );
  }
  for (const chunk of [null, 5, {}, new Uint8Array(new SharedArrayBuffer(4)), new Uint16Array(2)]) {
    assert.throws(() => parser.push(chunk), { code: "invalid_chunk" });
  }
});

test("a chunk is judged by the memory that is read, whatever it says of itself", () => {
  const parser = new JsonlLifecycleParser();
  const own = Object.defineProperty(new Uint8Array(new SharedArrayBuffer(4)), "buffer", {
    value: new ArrayBuffer(4),
  });
  const Disguised = class extends Uint8Array {
    get buffer() {
      return new ArrayBuffer(4);
    }
  };
  const detached = new Uint8Array(4);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  const resizable = new ArrayBuffer(8, { maxByteLength: 16 });
  const outside = new Uint8Array(resizable, 4, 4);
  resizable.resize(2);
  for (const chunk of [own, new Disguised(new SharedArrayBuffer(4)), detached, outside]) {
    assert.throws(() => parser.push(chunk), { name: "LifecycleError", code: "invalid_chunk" });
  }
  const shown = Object.defineProperty(Buffer.from(line(event())), "buffer", {
    value: new SharedArrayBuffer(4),
  });
  assert.equal(parser.push(new Uint8Array(0)).length, 0);
  assert.equal(parser.push(shown).length, 1);
});

test("text that cuts a character in two is refused, and the parser goes on", () => {
  const parser = new JsonlLifecycleParser();
  const text = line(event({ activity: "a😀b" }));
  const cut = text.indexOf("😀") + 1;
  for (const chunk of [text.slice(0, cut), text.slice(cut), "\ude00\ud83d"]) {
    assert.throws(() => parser.push(chunk), { code: "invalid_chunk", message: /lone surrogate.*bytes/ });
  }
  assert.equal(parser.push(text)[0].activity, "a😀b");
});

test("apply answers with a word, a code, the record and sentences", () => {
  const projector = new LifecycleProjector();
  assert.deepEqual(
    [...life, life[0], note("e4", "activity", { activity: "reads" })].map(
      (given) => projector.apply(given).status,
    ),
    ["applied", "applied", "applied", "deduplicated", "applied"],
  );
  const conflict = projector.apply(note("e4", "activity", { activity: "writes" }));
  assert.equal(conflict.status, "conflict");
  assert.equal(conflict.code, "identity_conflict");
  assert.equal(conflict.diagnostics[0].code, "identity_conflict");
  assert.match(conflict.diagnostics[0].message, /^the same identity came with other content/);
  assert.equal(conflict.record.activity, "reads");
  assert.equal(projector.apply(note("e1", "activity", { childId: "unknown" })).record, undefined);
});

test("an illegal edge names both states, throws from apply and records nothing", () => {
  const projector = new LifecycleProjector();
  projector.apply(life[0]);
  const before = projector.snapshot("source", "child");
  const bad = event({ eventId: "bad", kind: "terminal", state: "completed" });
  assert.throws(
    () => projector.apply(bad),
    (error) =>
      error instanceof LifecycleError &&
      error.code === "illegal_transition" &&
      error.message.startsWith("Illegal transition from created to completed"),
  );
  assert.deepEqual(projector.snapshot("source", "child"), before);
  const refused = projector.tryApply(bad);
  assert.equal(refused.status, "refused");
  assert.ok(refused.error instanceof LifecycleError);
  const results = projector.applyMany([bad, life[1], () => 1, { a: 1n }, life[2]]);
  assert.deepEqual(
    results.map((result) => result.error?.code ?? result.status),
    ["illegal_transition", "applied", "invalid_event", "invalid_event", "applied"],
  );
  assert.deepEqual(projector.applyMany([]), []);
});

test("S11: lost, then a late completion: it stays lost, and the completion is kept and reported", () => {
  const projector = new LifecycleProjector();
  projector.applyMany(life);
  projector.apply(event({ eventId: "lost", kind: "terminal", state: "lost" }));
  const late = projector.apply(event({ eventId: "late", kind: "terminal", state: "completed" }));
  assert.equal(late.status, "terminal_immutable");
  assert.equal(late.record.state, "lost");
  assert.deepEqual(
    late.record.lateEvidence.recent.map(({ eventId, state: said }) => [eventId, said]),
    [["late", "completed"]],
  );
  assert.equal(projector.list()[0].lateEvidence, 1);
});

test("applyJsonl holds what is not complete, reports what is wrong, and goes on", () => {
  const projector = new LifecycleProjector();
  const text = life.map(line).join("");
  const first = projector.applyJsonl(Buffer.from(text.slice(0, -5)));
  assert.deepEqual(first.results, { applied: 2 });
  assert.equal(first.pending, line(life[2]).length - 5);
  const second = projector.applyJsonl(
    `${text.slice(-5)}{"password": "hunter2hunter2"\n${line(event({ eventId: "x" }))}{`,
  );
  assert.deepEqual(second.results, { applied: 1, refused: 1 });
  assert.deepEqual(
    second.rejected.map(({ code, eventId }) => [code, eventId]),
    [["already_created", "x"]],
  );
  assert.deepEqual(
    second.diagnostics.map(({ code }) => code),
    ["malformed"],
  );
  assert.ok(!JSON.stringify(second).includes("hunter2"));
  const last = projector.applyJsonl("", { end: true });
  assert.deepEqual(
    last.diagnostics.map(({ code }) => code),
    ["truncated"],
  );
  assert.equal(projector.snapshot("source", "child").state, "running");
});

test("stale comes once, says so, and goes with fresh evidence", () => {
  const projector = new LifecycleProjector({ staleAfterMs: 1000, reconcileDeadlineMs: 500 });
  projector.applyMany(life);
  assert.deepEqual(projector.markStale("2026-05-17T22:29:21.999Z"), []);
  const [marked] = projector.markStale("2026-05-17T22:29:22Z");
  assert.equal(marked.status, "stale");
  assert.equal(marked.record.state, "running");
  assert.deepEqual(marked.record.reconciliation, {
    reason: "silence",
    deadlineAt: "2026-05-17T22:29:22.500Z",
  });
  assert.deepEqual(projector.markStale("2026-05-17T22:29:23Z"), []);
  const [row] = projector.list();
  assert.deepEqual(row.freshness, {
    at: "2026-05-17T22:29:21Z",
    stale: true,
    reason: "silence",
    reconcile: "unavailable",
  });
  const fresh = projector.apply(note("e4", "heartbeat", { observedAt: "2026-05-17T22:29:24Z" }));
  assert.equal(fresh.record.stale, false);
  // A clock that runs ahead does not help: what counts is when it came.
  projector.apply(note("e5", "heartbeat", { observedAt: "2027-01-01T00:00:00Z" }), {
    receivedAt: "2026-05-17T22:29:25Z",
  });
  assert.equal(projector.markStale("2026-05-17T22:29:26Z").length, 1);
});

test("epochs advance on purpose, are audited, and an unannounced one is a conflict", () => {
  const projector = new LifecycleProjector();
  projector.applyMany(life);
  const other = note("n1", "heartbeat", { sourceEpoch: "second" });
  assert.equal(projector.apply(other).code, "epoch_conflict");
  assert.equal(projector.snapshot("source", "child").epochConflict, "second");
  const advance = { source: "source", from: "epoch", to: "second", observedAt: "2026-05-17T23:00:00Z" };
  projector.advanceEpoch(advance);
  assert.equal(projector.snapshot("source", "child").epochConflict, null);
  assert.equal(projector.apply(other).status, "applied");
  assert.throws(() => projector.advanceEpoch(advance), { code: "epoch_mismatch", path: "$.from" });
  assert.deepEqual(projector.audit(), {
    count: 1,
    recent: [
      {
        source: "source",
        from: "epoch",
        to: "second",
        observedAt: advance.observedAt,
        reason: "epoch_advanced",
      },
    ],
  });
});

test("what a source once said it can tell stays known, and nothing else becomes so", () => {
  const projector = new LifecycleProjector();
  projector.apply(event({ capabilities: { cancel: "known" } }));
  projector.apply(note("n1", "heartbeat"));
  const { record } = projector.apply(note("n2", "heartbeat", { capabilities: { heartbeat: "known" } }));
  const known = Object.entries(record.capabilities).filter(([, value]) => value === "known");
  assert.deepEqual(
    known.map(([name]) => name),
    ["heartbeat", "cancel"],
  );
});

test("tree nests children, and forget drops what ended", () => {
  const projector = new LifecycleProjector();
  const lineage = { rootChildId: "child", parentChildId: "child", attempt: 1, external: false };
  projector.applyMany([...life, state("e1", "created", { childId: "below", lineage })]);
  const [root] = projector.tree();
  assert.equal(root.liveChildren, 1);
  assert.deepEqual(
    root.children.map((row) => row.childId),
    ["below"],
  );
  projector.apply(event({ eventId: "e2", childId: "below", lineage, kind: "terminal", state: "failed" }));
  assert.deepEqual(projector.forget({ terminalBefore: "2026-05-17T22:29:21Z" }), []);
  assert.deepEqual(projector.forget({ terminalBefore: "2026-05-18T00:00:00Z" }), [
    { source: "source", childId: "below" },
  ]);
  assert.equal(projector.list().length, 1);
  assert.equal(projector.snapshot("source", "below"), undefined);
});

test("options and times that make no sense are refused by name", () => {
  for (const staleAfterMs of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    assert.throws(() => new LifecycleProjector({ staleAfterMs }), {
      code: "invalid_option",
      path: "staleAfterMs",
    });
  }
  assert.throws(() => new LifecycleProjector().markStale("yesterday"), {
    code: "invalid_timestamp",
    path: "now",
  });
  assert.throws(() => new LifecycleProjector().apply(event(), { receivedAt: "x" }), { path: "receivedAt" });
  const projector = new LifecycleProjector();
  for (const [run, path] of [
    [() => projector.markStale(new Date()), "now"],
    [() => projector.snapshot("s", 5), "childId"],
    [() => projector.forget({}), "terminalBefore"],
    [() => projector.forget(null), "what"],
    [() => projector.applyMany(event()), "events"],
    [() => projector.applyMany("events"), "events"],
    [() => new LifecycleProjector(null), "options"],
    [() => new LifecycleProjector(5), "options"],
    [() => new JsonlLifecycleParser("x"), "options"],
    [() => projector.advanceEpoch({ source: "s", from: "1", to: null, observedAt: "x" }), "to"],
    [() => projector.apply(event(), { receivedAt: 5 }), "receivedAt"],
  ]) {
    assert.throws(
      run,
      (error) => error instanceof LifecycleError && error.code === "invalid_argument" && error.path === path,
    );
  }
});
