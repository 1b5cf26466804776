// `npm run soak:workers [rounds] [workers]`: workers that open a monitor and exit after 5 ms, 50 at once, 200 times. Says whether the
// process that has them aborted or hung. `__test__/monitor.test.mjs` runs a short one.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Worker, isMainThread, workerData } from "node:worker_threads";

/** A round that takes longer hangs. */
const ROUND_MS = 60_000;
const EXIT_MS = 5;
const SESSIONS = 20;
/** Where the workers count, so that it is known what they were at when they went. */
const [STARTED, READY] = [0, 1];

if (!isMainThread) await monitor(workerData);
else if (process.argv[2] === "rounds") await runRounds(...process.argv.slice(3));
else {
  const [rounds = 200, workers = 50] = process.argv.slice(2).map(Number);
  process.exitCode = (await soak(rounds, workers)) ? 0 : 1;
}

async function monitor({ home, opened }) {
  const { openMonitor } = await import("../index.js");
  setTimeout(() => process.exit(), EXIT_MS);
  const opening = openMonitor({ home, onChange: () => {} });
  Atomics.add(opened, STARTED, 1);
  await opening;
  Atomics.add(opened, READY, 1);
}

/** The process that has the workers; it tells after each round how they ended. */
async function runRounds(home, rounds, workers) {
  const opened = new Int32Array(new SharedArrayBuffer(8));
  for (let round = 0; round < Number(rounds); round++) {
    const ends = await Promise.all(
      Array.from({ length: Number(workers) }, async () => {
        const worker = new Worker(import.meta.filename, {
          workerData: { home, opened },
          env: { HOME: home },
        });
        // What a worker throws ends it with code 1; an error that nobody listens to would end the process.
        worker.on("error", (error) => console.error(error));
        const [code] = await once(worker, "exit");
        return code;
      }),
    );
    const threads = process.platform === "linux" ? readdirSync("/proc/self/task").length : undefined;
    const failed = ends.filter((code) => code !== 0).length;
    process.send({
      failed,
      started: opened[STARTED],
      ready: opened[READY],
      rss: process.memoryUsage().rss,
      threads,
    });
  }
  process.disconnect();
}

async function soak(rounds, workers) {
  const home = mkdtempSync(path.join(tmpdir(), "soak-workers-"));
  try {
    const folder = path.join(home, ".claude", "projects", "p");
    mkdirSync(folder, { recursive: true });
    for (let session = 0; session < SESSIONS; session++)
      writeFileSync(path.join(folder, `s${session}.jsonl`), prompt(`s${session}`));
    const begun = performance.now();
    const child = fork(import.meta.filename, ["rounds", home, String(rounds), String(workers)]);
    let [done, failed, hung, longest, last] = [0, 0, false, 0, begun];
    let [first, newest] = [undefined, undefined];
    const hang = () => {
      hung = true;
      child.kill("SIGKILL");
    };
    let timer = setTimeout(hang, ROUND_MS);
    child.on("message", (told) => {
      clearTimeout(timer);
      timer = setTimeout(hang, ROUND_MS);
      done += 1;
      failed += told.failed;
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
      first ??= told;
      newest = told;
    });
    const [code, signal] = await once(child, "exit");
    clearTimeout(timer);
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    const end = hung ? "it hung" : `it ended with ${signal ?? `exit code ${code}`}`;
    console.log(`${done} of ${rounds} rounds of ${workers} workers in ${seconds} s: ${end}`);
    console.log(
      `${newest?.started ?? 0} monitors were started, ${newest?.ready ?? 0} of them had read all before their worker went`,
    );
    console.log(
      `${failed} workers ended with another exit code than 0; the longest round took ${longest.toFixed(0)} ms`,
    );
    console.log(`after the first round ${size(first)}; after the last ${size(newest)}`);
    return !hung && code === 0 && failed === 0 && done === rounds;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function size({ rss, threads } = {}) {
  return `${Math.round(rss / 1e6)} MB, ${threads ?? "unknown"} threads`;
}

function prompt(session) {
  const message = { role: "user", content: "Go." };
  const record = {
    sessionId: session,
    uuid: `u-${session}`,
    timestamp: new Date().toISOString(),
    type: "user",
  };
  return `${JSON.stringify({ ...record, promptId: `p-${session}`, message })}\n`;
}
