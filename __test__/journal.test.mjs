// The journal through the addon, alone, with worker threads, and with programs of another hand.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { JsonlLifecycleJournal, LifecycleError, LifecycleProjector } from "agent-lifecycle";
import { event, note, state } from "./support/events.mjs";
import { acquire, append as plainAppend, release } from "./support/plain-journal.mjs";

const run = promisify(execFile);
const support = path.join(import.meta.dirname, "support");

/** A path in a folder that is removed after the test. */
function place(t) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "journal-")));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, "j.jsonl");
}

/** A journal that is closed after the test. */
function open(t, file, options) {
  const journal = new JsonlLifecycleJournal(file, options);
  t.after(() => journal[Symbol.asyncDispose]());
  return journal;
}

const linesOf = (file) =>
  fs
    .readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

const wrote = (one) => `${one.journalSequence} ${one.eventId}`;

/** The pid of a process that has ended. */
const deadPid = () => spawnSync(process.execPath, ["--eval", "0"]).pid;

test("append gives the normalised event with its number, once it is in the file", async (t) => {
  const file = place(t);
  const journal = open(t, file);
  assert.equal(journal.path, file);
  const given = event({ details: { OPENAI_API_KEY: "abc", n: 1 } });
  const written = await journal.append(given, { receivedAt: "2026-05-17T22:29:22Z" });
  assert.equal(written.journalSequence, 1);
  assert.equal(written.receivedAt, "2026-05-17T22:29:22Z");
  assert.deepEqual(written.details, { OPENAI_API_KEY: "[REDACTED]", n: 1 });
  assert.deepEqual(linesOf(file), [written]);
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
});

test("calls of one tick keep their order, and each is answered by itself", async (t) => {
  const file = place(t);
  const journal = open(t, file);
  const events = Array.from({ length: 64 }, (_, at) => note(`n${at}`, "heartbeat"));
  const written = await Promise.all(events.map((one) => journal.append(one)));
  assert.deepEqual(
    written.map(({ journalSequence, eventId }) => [journalSequence, eventId]),
    events.map(({ eventId }, at) => [at + 1, eventId]),
  );
  const many = await journal.appendMany([note("a", "heartbeat"), { bad: 1 }, 1n, note("b", "heartbeat")]);
  assert.deepEqual(
    many.map((one) => one.journalSequence ?? one.error.code),
    [65, "invalid_schema_version", many[2].error.code, 66],
  );
  assert.ok(many[1].error instanceof LifecycleError);
  assert.equal(many[1].error.path, "$.schemaVersion");
  assert.deepEqual(await journal.appendMany([]), []);
  await assert.rejects(journal.append({}), { name: "LifecycleError", code: "invalid_schema_version" });
  await assert.rejects(journal.append(event(), { receivedAt: "soon" }), { code: "invalid_timestamp" });
});

test("a replay gives what was appended, as events and into a projector", async (t) => {
  const file = place(t);
  const journal = open(t, file, { durability: "os" });
  const life = [state("e1", "created"), state("e2", "starting"), state("e3", "running")];
  const live = new LifecycleProjector();
  const receivedAt = "2026-05-17T22:29:30Z";
  for (const one of life) live.apply(one, { receivedAt });
  const written = await journal.appendMany(life, { receivedAt });
  const read = [];
  for await (const { events, problems } of journal.replay()) {
    read.push(...events);
    assert.deepEqual(problems, []);
  }
  assert.deepEqual(read, written);
  const projector = new LifecycleProjector();
  const result = await journal.replayInto(projector);
  assert.deepEqual([result.entries, result.results.applied, result.problemCount], [3, 3, 0]);
  assert.deepEqual(projector.list(), live.list());

  const rotated = await journal.rotate({ sharedWriters: false });
  assert.equal(rotated.old, `${file}.1`);
  const after = new LifecycleProjector();
  await journal.replayInto(after);
  assert.deepEqual(after.list(), live.list());
  assert.equal((await journal.append(note("e4", "heartbeat"))).journalSequence, rotated.lastSequence + 1);
  assert.throws(() => new JsonlLifecycleJournal(file, { tornTale: "error" }), /did you mean tornTail/);
  await assert.rejects(journal.rotate({ sharedWriters: false, kep: 1 }), /did you mean keep/);
  const nowhere = path.join(path.dirname(file), "no", "j.jsonl");
  assert.throws(() => new JsonlLifecycleJournal(nowhere), /the folder .*no is not there; create it first$/);
  await assert.rejects(journal.rotate({}), { code: "invalid_option", path: "sharedWriters" });
  await assert.rejects(journal.rotate({ sharedWriters: false, keep: 0 }), {
    code: "invalid_option",
    path: "keep",
  });
});

test("damage blocks appends with its place, and a repair keeps all of it", async (t) => {
  const file = place(t);
  const journal = open(t, file);
  await journal.append(event());
  const { size } = fs.statSync(file);
  fs.appendFileSync(file, "damage\n");
  await assert.rejects(journal.append(note("n", "heartbeat")), (error) => {
    assert.ok(error instanceof LifecycleError);
    assert.equal(error.code, "journal_integrity");
    assert.equal(error.outcomeUnknown, false);
    assert.equal(error.path, file);
    assert.match(error.message, new RegExp(`^journal integrity: .* malformed at byte ${size};`));
    return true;
  });
  const { valid, problems } = await journal.verify();
  assert.deepEqual(
    [valid, problems.map(({ code, offset }) => [code, offset])],
    [false, [["malformed", size]]],
  );
  const repaired = await journal.repair();
  assert.deepEqual([repaired.kept, repaired.quarantined], [1, 1]);
  assert.equal(fs.readFileSync(repaired.quarantine, "utf8"), "damage\n");
  assert.equal((await journal.append(note("n", "heartbeat"))).journalSequence, 3);
});

test("D2: a torn tail inside a character, then our append stands on its own line", async (t) => {
  const file = place(t);
  const torn = Buffer.from(`${JSON.stringify(event({ activity: "ä" }))}\n`).subarray(0, -60);
  const whole = `${JSON.stringify({ ...event(), journalSequence: 1 })}\n`;
  const cut = Buffer.concat([Buffer.from(whole), torn, Buffer.from("ä").subarray(0, 1)]);
  fs.writeFileSync(file, cut);
  const strict = open(t, file);
  await assert.rejects(strict.append(note("n", "heartbeat")), { code: "journal_integrity" });
  await strict.close();
  const journal = open(t, file, { tornTail: "quarantine" });
  await journal.append(note("n", "heartbeat"));
  assert.deepEqual(
    linesOf(file).map(({ eventId, journalSequence }) => [eventId, journalSequence]),
    [
      ["e1", 1],
      ["n", 2],
    ],
  );
  assert.deepEqual(fs.readFileSync(`${file}.quarantine-1`), cut.subarray(Buffer.byteLength(whole)));
});

test("one instance for each path and process, worker threads included, until it is closed", async (t) => {
  const file = place(t);
  const journal = new JsonlLifecycleJournal(file);
  await journal.append(event());
  fs.symlinkSync(file, `${file}.link`);
  for (const alias of [file, `${path.dirname(file)}/./j.jsonl`, `${file}.link`])
    assert.throws(() => new JsonlLifecycleJournal(alias), {
      code: "journal_single_writer",
      message: /^single writer: /,
    });
  const code = `
    const { parentPort, workerData } = require("node:worker_threads");
    const { JsonlLifecycleJournal } = require("agent-lifecycle");
    try { new JsonlLifecycleJournal(workerData); parentPort.postMessage("open"); }
    catch (error) { parentPort.postMessage(error.code); }`;
  const inWorker = () =>
    new Promise((resolve, reject) => {
      const worker = new Worker(code, { eval: true, workerData: file });
      let said;
      worker.once("message", (message) => (said = message));
      worker.once("error", reject);
      worker.once("exit", () => resolve(said));
    });
  assert.equal(await inWorker(), "journal_single_writer");
  await Promise.all([journal.close(), journal.close()]);
  await assert.rejects(journal.append(event()), { code: "journal_closed" });
  // Closed by the end of its thread too.
  assert.equal(await inWorker(), "open");
  const again = new JsonlLifecycleJournal(file);
  await again.close();
});

test("an open journal keeps no process alive, a pending append does, and the end waits for what was accepted", (t) => {
  const file = place(t);
  const script = (body, options = {}) => {
    const text = `
      import { JsonlLifecycleJournal } from "agent-lifecycle";
      import { event, note } from "./support/events.mjs";
      const journal = new JsonlLifecycleJournal(${JSON.stringify(file)}, ${JSON.stringify(options)});
      ${body}`;
    const ran = spawnSync(process.execPath, ["--input-type=module", "--eval", text], {
      cwd: import.meta.dirname,
      encoding: "utf8",
      timeout: 60_000,
    });
    assert.equal(ran.stderr, "");
    return ran;
  };
  assert.equal(script("").status, 0);
  assert.equal(script("console.log((await journal.append(event())).journalSequence)").stdout, "1\n");
  const { status } = script('journal.append(note("n", "heartbeat")); setImmediate(() => process.exit(7));');
  assert.equal(status, 7);
  assert.equal(linesOf(file).length, 2);
  assert.ok(!fs.existsSync(`${file}.lock`));
  // Not even a microtask later; and where another holds the lock, the end does not wait for it.
  assert.equal(script('journal.append(note("n2", "heartbeat")); process.exit(7);').status, 7);
  assert.equal(linesOf(file).length, 3);
  fs.mkdirSync(`${file}.lock`);
  fs.writeFileSync(`${file}.lock/owner.json`, JSON.stringify({ pid: process.pid, token: "t" }));
  const anHour = { lockTimeoutMs: 3_600_000 };
  assert.equal(script('journal.append(note("n3", "heartbeat")); process.exit(7);', anHour).status, 7);
  assert.equal(linesOf(file).length, 3);
});

test("the lock of another program: waited for, timed out behind, reclaimed", async (t) => {
  const file = place(t);
  const journal = open(t, file, { lockTimeoutMs: 100, staleLockMs: 1000 });
  const token = await acquire(file);
  await assert.rejects(journal.append(event()), (error) => {
    assert.equal(error.code, "journal_lock_timeout");
    assert.match(
      error.message,
      new RegExp(`^journal lock timeout: .*j\\.jsonl\\.lock .* pid ${process.pid},`),
    );
    return true;
  });
  const waiting = journal.append(event());
  assert.ok(release(file, token));
  await waiting.catch(() => journal.append(event()));
  // Its owner is dead, and it is old.
  const lock = `${file}.lock`;
  const dead = (createdAt) => {
    fs.mkdirSync(lock);
    fs.writeFileSync(
      path.join(lock, "owner.json"),
      JSON.stringify({ pid: deadPid(), token: "t", createdAt }),
    );
    fs.utimesSync(lock, 1, 1);
  };
  dead(new Date().toISOString());
  await assert.rejects(journal.append(note("n1", "heartbeat")), { code: "journal_lock_timeout" });
  fs.rmSync(lock, { recursive: true });
  dead("2020-01-01T00:00:00Z");
  assert.equal((await journal.append(note("n1", "heartbeat"))).journalSequence, 2);
  // A pid that is none is never probed and never dead.
  for (const pid of [0, -1, 1.5]) {
    fs.mkdirSync(lock);
    fs.writeFileSync(path.join(lock, "owner.json"), JSON.stringify({ pid, token: "t", createdAt: 0 }));
    fs.utimesSync(lock, 1, 1);
    await assert.rejects(journal.append(note("n2", "heartbeat")), new RegExp(`pid ${pid}, `));
    fs.rmSync(lock, { recursive: true });
  }
});

test("eight journals that wait for their locks leave the event loop and libuv's pool free", async (t) => {
  const files = Array.from({ length: 8 }, () => place(t));
  const tokens = await Promise.all(files.map((file) => acquire(file)));
  let settled = 0;
  const waiting = files.map(async (file) => {
    const { journalSequence } = await open(t, file, { lockTimeoutMs: 60_000 }).append(event());
    settled += 1;
    return journalSequence;
  });
  // Each of these needs the pool, which has four threads.
  for (const file of files) assert.ok((await fs.promises.stat(path.dirname(file))).isDirectory());
  assert.equal(settled, 0);
  for (const [at, file] of files.entries()) assert.ok(release(file, tokens[at]));
  assert.deepEqual(await Promise.all(waiting), Array(8).fill(1));
});

test("our lock for another program: waited for, and reclaimed when its owner died", async (t) => {
  const file = place(t);
  // A writer of ours that dies while it holds the lock: its record as it leaves it.
  const script = `
    import { JsonlLifecycleJournal } from "agent-lifecycle";
    import fs from "node:fs";
    import { event, note } from "./support/events.mjs";
    const file = ${JSON.stringify(file)};
    const journal = new JsonlLifecycleJournal(file, { durability: "os" });
    journal.appendMany(Array.from({ length: 60000 }, (_, at) => note("w" + at, "heartbeat")));
    const wait = () => fs.existsSync(file + ".lock/owner.json") ? process.kill(process.pid, "SIGKILL") : setImmediate(wait);
    setTimeout(wait, 0);`;
  for (let tries = 0; tries < 10 && !fs.existsSync(`${file}.lock/owner.json`); tries++) {
    fs.rmSync(file, { force: true });
    spawnSync(process.execPath, ["--input-type=module", "--eval", script], { cwd: import.meta.dirname });
  }
  const owner = JSON.parse(fs.readFileSync(`${file}.lock/owner.json`, "utf8"));
  assert.ok(Number.isInteger(owner.pid) && owner.token && owner.bootId && owner.hostName);
  await assert.rejects(acquire(file, { timeoutMs: 30 }), new RegExp(`pid ${owner.pid}`));
  const token = await acquire(file, { timeoutMs: 5000, staleMs: 0 });
  assert.ok(release(file, token));
  const journal = open(t, file, { tornTail: "quarantine" });
  const { entries } = await journal.verify();
  const { journalSequence } = await journal.append(event());
  assert.equal(journalSequence, entries + 1);
});

test("four writers of another hand and four of ours: no gap, nothing lost, nothing mixed", async (t) => {
  const file = place(t);
  const count = 15;
  const writers = Array.from({ length: 8 }, (_, at) => {
    const script = at % 2 === 0 ? "plain-journal.mjs" : "journal-writer.mjs";
    return run(process.execPath, [path.join(support, script), file, `w${at}`, String(count)]);
  });
  const said = (await Promise.all(writers)).flatMap(({ stdout }) => stdout.trimEnd().split("\n"));
  const lines = linesOf(file);
  assert.deepEqual(
    lines.map(({ journalSequence }) => journalSequence),
    Array.from({ length: 8 * count }, (_, at) => at + 1),
  );
  assert.deepEqual(lines.map(wrote).toSorted(), said.toSorted());
  const journal = open(t, file);
  assert.ok((await journal.verify()).valid);
  assert.equal(await plainAppend(file, { ...event({ eventId: "last" }) }), 8 * count + 1);
  assert.equal((await journal.append(note("n", "heartbeat"))).journalSequence, 8 * count + 2);
});

test("wrong arguments are refused by name", (t) => {
  const file = place(t);
  for (const [args, code, at] of [
    [[1], "invalid_argument", "path"],
    [[file, 1], "invalid_argument", "options"],
    [[file, { lockTimeoutMs: "1" }], "invalid_option", "lockTimeoutMs"],
    [[file, { lockTimeoutMs: -1 }], "invalid_option", "lockTimeoutMs"],
    [[file, { staleLockMs: NaN }], "invalid_option", "staleLockMs"],
    [[file, { durability: "maybe" }], "invalid_option", "durability"],
    [[file, { tornTail: "cut" }], "invalid_option", "tornTail"],
    [[path.join(file, "no/such")], "journal_io", path.join(file, "no/such")],
  ])
    assert.throws(() => new JsonlLifecycleJournal(...args), { code, path: at }, JSON.stringify(args));
});
