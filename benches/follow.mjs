// Rows `follow latency` and `follow idle`: files that are followed, against `fs.watch` of their folder and against a Node process that
// does nothing. Prints the same JSON lines as measure.mjs; `ms` is the median from an append to its chunk, or of a second.
import { fork } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  watch,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Worker, isMainThread, workerData } from "node:worker_threads";

const LINE = '{"n":1,"text":"what an agent wrote"}\n';
/** Milliseconds in which whoever is to be told goes to sleep. */
const REST_MS = 2;
const [GO, REST] = [0, 1];

if (!isMainThread) append(workerData);
else if (process.argv[2] === "idle-process") await idleProcess(process.argv[3]);
else {
  const { files, appends, seconds } = JSON.parse(process.argv[2]);
  const rounds = Number(process.argv[3]);
  const place = mkdtempSync(path.join(tmpdir(), "bench-follow-"));
  const paths = Array.from({ length: files }, (_, at) => path.join(place, `${at}.jsonl`));
  for (const file of paths) writeFileSync(file, LINE);
  say({ corpus: { lines: appends ?? files, bytes: (appends ?? files) * LINE.length } });
  try {
    await (process.argv[4] === "latency"
      ? latency(place, paths, appends, rounds)
      : idle(place, seconds, rounds));
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** The writing side: another thread, as an agent is another process. Appends to the next file each time that it is told to. */
function append({ paths, go, at }) {
  const open = new Map();
  for (let count = 0; ;) {
    Atomics.wait(go, GO, count);
    count = Atomics.load(go, GO);
    if (count < 0) return;
    const file = paths[count % paths.length];
    if (!open.has(file)) open.set(file, openSync(file, "a"));
    Atomics.wait(go, REST, 0, REST_MS);
    at[0] = process.hrtime.bigint();
    writeSync(open.get(file), LINE);
  }
}

async function latency(place, paths, appends, rounds) {
  const { followJournal } = await import("../index.js");
  const go = new Int32Array(new SharedArrayBuffer(8));
  const at = new BigInt64Array(new SharedArrayBuffer(8));
  const writer = new Worker(import.meta.filename, { workerData: { paths, go, at } });
  let seen;
  /** The median of the times from an append to `seen`. */
  const sample = async () => {
    const times = [];
    for (let count = 0; count < appends; count++) {
      const then = await new Promise((resolve) => {
        seen = () => resolve(process.hrtime.bigint());
        Atomics.add(go, GO, 1);
        Atomics.notify(go, GO);
      });
      seen = undefined;
      times.push(Number(then - at[0]) / 1e6);
    }
    return times.toSorted((a, b) => a - b)[appends >> 1];
  };
  const variants = {
    async native() {
      const followed = paths.map((file) => followJournal(file, { ref: true }));
      let caughtUp = 0;
      const read = async (chunks) => {
        for await (const { offset } of chunks) {
          if (offset === 0) caughtUp += 1;
          else seen?.();
        }
      };
      const reading = followed.map(read);
      while (caughtUp < paths.length) await wait(10);
      await wait(50);
      const ms = await sample();
      for (const one of followed) one.dispose();
      await Promise.all(reading);
      return ms;
    },
    async watch() {
      const watcher = watch(place, () => seen?.());
      const ms = await sample();
      watcher.close();
      return ms;
    },
    async reading() {
      const offsets = new Map();
      const buffer = Buffer.alloc(65_536);
      const watcher = watch(place, (_, name) => {
        const file = openSync(path.join(place, name), "r");
        const end = fstatSync(file).size;
        const from = offsets.get(name) ?? end - LINE.length;
        if (end > from) {
          offsets.set(name, from + readSync(file, buffer, 0, Math.min(end - from, buffer.length), from));
          seen?.();
        }
        closeSync(file);
      });
      const ms = await sample();
      watcher.close();
      return ms;
    },
  };
  for (const [variant, run] of Object.entries(variants)) {
    await run();
    say({ variant, result: { appends } });
  }
  for (let round = 0; round < rounds; round++)
    for (const [variant, run] of Object.entries(variants)) {
      // What one variant wrote is not to be read by the next.
      for (const file of paths) writeFileSync(file, LINE);
      await wait(50);
      say({ variant, ms: await run() });
    }
  Atomics.store(go, GO, -1);
  Atomics.notify(go, GO);
  await once(writer, "exit");
}

/** Processor time of processes that wait, in the same seconds. */
async function idle(place, seconds, rounds) {
  const variants = { native: place, nothing: "" };
  const children = Object.entries(variants).map(([variant, argument]) => ({
    variant,
    child: fork(import.meta.filename, ["idle-process", argument]),
  }));
  await Promise.all(children.map(({ child }) => once(child, "message")));
  for (const { variant } of children) say({ variant, result: { seconds } });
  for (let round = 0; round < rounds; round++) {
    for (const { child } of children) child.send("from");
    await wait(seconds * 1000);
    for (const { variant, child } of children) {
      child.send("to");
      const [micros] = await once(child, "message");
      say({ variant, ms: micros / 1000 / seconds });
    }
  }
  for (const { child } of children) child.disconnect();
}

async function idleProcess(place) {
  const { readdirSync } = await import("node:fs");
  if (place) {
    const { followJournal } = await import("../index.js");
    const files = readdirSync(place);
    let read = 0;
    for (const name of files)
      void (async () => {
        for await (const _ of followJournal(path.join(place, name))) read += 1;
      })();
    while (read < files.length) await wait(10);
  }
  await wait(1000);
  let from;
  process.on("message", (what) => {
    if (what === "from") from = process.cpuUsage();
    else {
      const { user, system } = process.cpuUsage(from);
      process.send(user + system);
    }
  });
  process.send("ready");
}

function say(line) {
  console.log(JSON.stringify(line));
}
