// followJournal on real files: what happens to a file, who keeps a script alive, and how threads end.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { createAgentLifecyclePublisher, followJournal, observeJsonlSession } from "agent-lifecycle";
import { child, session, until } from "./support/watchers.mjs";

const root = path.dirname(import.meta.dirname);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "follow-"));
after(() => fs.rmSync(folder, { recursive: true, force: true }));

let files = 0;
const newFile = () => path.join(folder, `journal-${(files += 1)}.jsonl`);

/** Follows a file, and gives what comes as `append "text"`. */
function following(file, options) {
  const followed = followJournal(file, { pollMs: 20, ref: true, ...options });
  const chunks = followed[Symbol.asyncIterator]();
  return {
    followed,
    async next() {
      const { value, done } = await chunks.next();
      return done ? "done" : `${value.type} ${JSON.stringify(Buffer.from(value.bytes).toString())}`;
    },
    /** The next chunk and those behind it, until they have `length` bytes: a write may be seen in its middle. */
    async whole(length) {
      const { value } = await chunks.next();
      let text = String(value.bytes);
      while (text.length < length) {
        const more = await chunks.next();
        assert.equal(more.value.type, "append");
        text += String(more.value.bytes);
      }
      return `${value.type} ${JSON.stringify(text)}`;
    },
  };
}

test("bytes come as they are written, and what happens to the file is told", async () => {
  const file = newFile();
  const { followed, next, whole } = following(file);
  const first = whole(2);
  fs.writeFileSync(file, "1\n");
  assert.equal(await first, 'append "1\\n"');
  const second = next();
  fs.appendFileSync(file, "2\n");
  assert.equal(await second, 'append "2\\n"');
  // F2.
  fs.writeFileSync(file, "3");
  assert.equal(await whole(1), 'truncate "3"');
  // F3.
  const third = next();
  fs.renameSync(file, `${file}.1`);
  fs.appendFileSync(`${file}.1`, "4\n");
  assert.equal(await third, 'append "4\\n"');
  fs.writeFileSync(`${file}.2`, "longer than before\n");
  fs.renameSync(`${file}.2`, file);
  assert.equal(await next(), 'replace "longer than before\\n"');
  // A mere touch gives nothing: what comes next is what is written next.
  const fourth = next();
  fs.utimesSync(file, 1, 1);
  fs.appendFileSync(file, "5\n");
  assert.equal(await fourth, 'append "5\\n"');
  fs.rmSync(file);
  const fifth = whole(2);
  fs.writeFileSync(file, "6\n");
  assert.equal(await fifth, 'replace "6\\n"');
  followed.dispose();
  assert.equal(await next(), "done");
});

test("F1: other content in place is replayed", async () => {
  const file = newFile();
  fs.writeFileSync(file, "1".repeat(1000));
  const { followed, next } = following(file);
  assert.equal(await next(), `append "${"1".repeat(1000)}"`);
  const replaced = fs.openSync(file, "r+");
  fs.writeSync(replaced, "2".repeat(1200), 0);
  fs.closeSync(replaced);
  assert.equal(await next(), `replace "${"2".repeat(1200)}"`);
  followed.dispose();
});

test("fromStart false begins with what is written after the call, and maxChunkBytes cuts", async () => {
  const file = newFile();
  fs.writeFileSync(file, "old\npart");
  const { followed, next } = following(file, { fromStart: false, maxChunkBytes: 5 });
  fs.appendFileSync(file, "ial\n");
  assert.equal(await next(), 'append "parti"');
  assert.equal(await next(), 'append "al\\n"');
  const chunk = followed[Symbol.asyncIterator]().next();
  fs.appendFileSync(file, "x");
  assert.equal((await chunk).value.offset, 12);
  followed.dispose();
});

test("disposing ends everybody who waits, once", async () => {
  const { followed, next } = following(newFile());
  const waiting = [next(), next()];
  followed.dispose();
  followed.dispose();
  assert.deepEqual(await Promise.all(waiting), ["done", "done"]);
  const { followed: other } = following(newFile());
  for await (const _ of (other.dispose(), other)) assert.fail("it was disposed");
  // Leaving a loop disposes.
  const file = newFile();
  fs.writeFileSync(file, "1\n");
  const left = followJournal(file);
  for await (const _ of left) break;
  assert.equal((await left[Symbol.asyncIterator]().next()).done, true);
});

test("several chunks that are asked for at once come in their order", async () => {
  const file = newFile();
  fs.writeFileSync(file, "abc");
  const { followed, next } = following(file, { maxChunkBytes: 1 });
  assert.deepEqual(await Promise.all([next(), next(), next()]), ['append "a"', 'append "b"', 'append "c"']);
  followed.dispose();
});

test("what cannot be read is said once, and read when it can be", async () => {
  const file = newFile();
  fs.mkdirSync(file);
  const said = [];
  const { followed, whole } = following(file, { onDiagnostic: (diagnostic) => said.push(diagnostic) });
  const first = whole(1);
  await until(() => said.length > 0);
  assert.deepEqual([said[0].code, said[0].path], ["unreadable", file]);
  fs.rmdirSync(file);
  fs.writeFileSync(file, "1");
  assert.equal(await first, 'append "1"');
  assert.equal(said.length, 1);
  followed.dispose();
  fs.mkdirSync(`${file}.folder`);
  const warned = once(process, "warning");
  const other = following(`${file}.folder`);
  other.next();
  assert.match((await warned)[0].message, /not a regular file/);
  other.followed.dispose();
});

test("a callback that rejects is a process warning, whatever it rejects with", async () => {
  const file = newFile();
  fs.mkdirSync(file);
  const warned = once(process, "warning");
  const { followed, next } = following(file, { onDiagnostic: () => Promise.reject(Object.create(null)) });
  next();
  assert.equal((await warned)[0].message, "what was thrown cannot be shown as text");
  followed.dispose();
});

test("arguments are refused by name", () => {
  for (const [args, name] of [
    [[5], "path"],
    [[""], "path"],
    [["a", { fromStart: 1 }], "fromStart"],
    [["a", { ref: "yes" }], "ref"],
    [["a", { pollMs: "1" }], "pollMs"],
    [["a", { pollMs: 0 }], "pollMs"],
    [["a", { pollMs: Number.NaN }], "pollMs"],
    [["a", { maxChunkBytes: 0.5 }], "maxChunkBytes"],
  ]) {
    assert.throws(() => followJournal(...args), { name: "LifecycleError", path: name });
  }
});

test("an observed session follows its files through a rewrite", async () => {
  const [file, of] = [newFile(), newFile()];
  fs.writeFileSync(file, '1\n2\n{"torn');
  const abort = new AbortController();
  const seen = [];
  const declared = session(
    followJournal(file, { ref: true }),
    (record, { journal, generation }) => void seen.push(`${journal.childId ?? ""}${generation}:${record}`),
    { childSources: [child("c", followJournal(of))] },
  );
  const done = observeJsonlSession(declared, {
    publish: createAgentLifecyclePublisher(() => undefined),
    signal: abort.signal,
  });
  done.catch(() => undefined);
  await until(() => seen.length === 2);
  fs.writeFileSync(`${file}.new`, "1\n2\n3\n");
  fs.renameSync(`${file}.new`, file);
  fs.writeFileSync(of, "9\n");
  await until(() => seen.length === 4);
  abort.abort();
  await assert.rejects(done, { name: "AbortError" });
  assert.deepEqual(seen.toSorted(), ["0:1", "0:2", "0:3", "c0:9"]);
});

/** Runs a script to its end, and gives what it printed and how it ended. */
async function run(script) {
  const started = spawn(process.execPath, ["--input-type=module", "--eval", script], { cwd: root });
  let output = "";
  for (const stream of [started.stdout, started.stderr]) stream.on("data", (text) => (output += text));
  const [code, signal] = await once(started, "close");
  return { output, end: signal ?? code };
}

test("K3: a script that follows and never closes ends, after it has read what is there", async () => {
  const file = newFile();
  fs.writeFileSync(file, "1\n2\n");
  const script = (options) => `
    import { followJournal } from "agent-lifecycle";
    async function read() {
      for await (const { bytes } of followJournal(${JSON.stringify(file)}, ${options})) {
        process.stdout.write(bytes);
        if (String(bytes).includes("end")) break;
      }
    }
    read();
  `;
  assert.deepEqual(await run(script("{}")), { output: "1\n2\n", end: 0 });
  assert.deepEqual(await run(script("{ maxChunkBytes: 1 }")), { output: "1\n2\n", end: 0 });
  // With ref it goes on until the loop is left.
  const endless = run(script("{ ref: true }"));
  fs.appendFileSync(file, "end\n");
  assert.deepEqual(await endless, { output: "1\n2\nend\n", end: 0 });
});

test("K3: what cannot be read keeps no script alive", async () => {
  const file = newFile();
  fs.mkdirSync(file);
  const script = `
    import { followJournal } from "agent-lifecycle";
    followJournal(${JSON.stringify(file)}, { onDiagnostic: ({ code }) => process.stdout.write(code) })[Symbol.asyncIterator]().next();
  `;
  assert.deepEqual(await run(script), { output: "unreadable", end: 0 });
});

test("workers that follow and end early neither abort nor hang", async () => {
  const file = newFile();
  fs.writeFileSync(file, "1\n".repeat(1000));
  const script = `
    import { Worker } from "node:worker_threads";
    import { once } from "node:events";
    const code = \`
      const { followJournal } = await import("agent-lifecycle");
      const chunks = [];
      for (let at = 0; at < 5; at++) chunks.push(followJournal(${JSON.stringify(file)}, { maxChunkBytes: 1, ref: true })[Symbol.asyncIterator]());
      (async () => { for (;;) await Promise.all(chunks.map((chunk) => chunk.next())); })();
      setTimeout(() => process.exit(), process.env.AFTER);
    \`;
    for (let round = 0; round < 4; round++) {
      const workers = Array.from({ length: 10 }, (_, at) => new Worker(code, { eval: true, env: { AFTER: String(at % 6) } }));
      workers.slice(0, 3).forEach((worker) => worker.terminate());
      await Promise.all(workers.map((worker) => once(worker, "exit")));
    }
    process.stdout.write("ended");
  `;
  assert.deepEqual(await run(script), { output: "ended", end: 0 });
});

test("a process that exits while it follows ends as it was told", async () => {
  const file = newFile();
  fs.writeFileSync(file, "1\n".repeat(1000));
  const script = `
    import { followJournal } from "agent-lifecycle";
    let left = 50;
    for await (const _ of followJournal(${JSON.stringify(file)}, { maxChunkBytes: 1 })) if (--left === 0) process.exit(7);
  `;
  for (let round = 0; round < 3; round += 1) assert.deepEqual(await run(script), { output: "", end: 7 });
});

const isLinux = process.platform === "linux";

/** What `read` gives for each entry of a folder of the system; an entry that is gone meanwhile gives nothing. */
function each(place, read) {
  return fs.readdirSync(place).flatMap((name) => {
    try {
      return [read(`${place}/${name}`)];
    } catch {
      return [];
    }
  });
}

const threads = () =>
  each("/proc/self/task", (task) => fs.readFileSync(`${task}/comm`, "utf8").trim())
    .filter((name) => /^(agent-lifecycle|notify)/.test(name))
    .toSorted();

const watchers = () =>
  each("/proc/self/fd", (file) => fs.readlinkSync(file)).filter((name) => name === "anon_inode:inotify")
    .length;

test(
  "one thread and one watcher for all files, none when nothing is followed",
  { skip: !isLinux },
  async () => {
    await until(() => threads().length === 0);
    const before = watchers();
    const followed = Array.from({ length: 300 }, () => {
      const file = newFile();
      fs.writeFileSync(file, "1\n");
      return following(file);
    });
    await Promise.all(followed.map(({ next }) => next()));
    assert.deepEqual(threads(), ["agent-lifecycle"]);
    assert.equal(watchers(), before + 1);
    for (const { followed: one } of followed) one.dispose();
    await until(() => threads().length === 0 && watchers() === before);
  },
);
