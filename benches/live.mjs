// `npm run soak:live [seconds]`: 1,000 sessions that are followed at once, 10,000 appends a second, with a kill and a restart of the
// monitor in between. Counts what came, and prints latency, processor time and memory of the monitor's process, which it keeps beside the
// results of `npm run bench`.
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { keep, liveLines, load } from "./results.mjs";

const SESSIONS = 1000;
const APPENDS = 10_000;
/** Appends are made in bursts, this many in a second. */
const BURSTS = 20;

if (process.argv[2] === "monitor") await monitor(process.argv[3], process.argv[4]);
else await soak(Number(process.argv[2] ?? 60));

/** The watched side: tells how many tools each session has when it is asked, and when a marked session was seen to change. */
async function monitor(folder, journal) {
  const { openMonitor } = await import("../index.js");
  const tools = new Map();
  const onChange = ({ upserted, reset }) => {
    if (reset) tools.clear();
    for (const row of upserted) {
      tools.set(row.sessionId, row.tools.count);
      if (row.sessionId === "s0") process.send({ seen: row.tools.count, at: Date.now() });
    }
  };
  const opened = Date.now();
  const open = await openMonitor({ sources: [folder], journal, onChange, ref: true });
  process.send({ ready: Date.now() - opened });
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    const counts = Object.fromEntries(open.rows().map((row) => [row.sessionId, row.tools.count]));
    process.send({
      counts,
      told: Object.fromEntries(tools),
      cpu: (user + system) / 1e6,
      seconds: process.uptime(),
      memory: process.memoryUsage().rss,
    });
  });
}

async function soak(seconds) {
  const place = mkdtempSync(path.join(tmpdir(), "soak-live-"));
  const file = (session) => path.join(place, `s${session}.jsonl`);
  const journal = `${place}.journal.jsonl`;
  try {
    const written = Array.from({ length: SESSIONS }, () => 0);
    for (let session = 0; session < SESSIONS; session++) appendFileSync(file(session), prompt(session));
    let side = await start(place, journal);
    console.log(`1,000 sessions were read in ${side.ready} ms`);
    const sent = new Map();
    const latencies = [];
    const listen = () =>
      side.child.on("message", ({ seen, at }) => {
        // A change may tell of several appends.
        for (const [count, when] of sent) {
          if (seen === undefined || count > seen) break;
          latencies.push(at - when);
          sent.delete(count);
        }
      });
    listen();
    const begun = Date.now();
    let burst = 0;
    let isKilled = false;
    while (burst < seconds * BURSTS) {
      const lines = new Map();
      for (let at = 0; at < APPENDS / BURSTS; at++) {
        const session = (burst * (APPENDS / BURSTS) + at) % SESSIONS;
        written[session] += 1;
        lines.set(session, (lines.get(session) ?? "") + call(session, written[session]));
      }
      for (const [session, text] of lines) appendFileSync(file(session), text);
      if (lines.has(0)) sent.set(written[0], Date.now());
      burst += 1;
      if (!isKilled && burst >= (seconds * BURSTS) / 2) {
        isKilled = true;
        side.child.kill("SIGKILL");
        sent.clear();
        side = await start(place, journal);
        console.log(`after the kill all was read again in ${side.ready} ms`);
        listen();
      }
      const behind = begun + (burst * 1000) / BURSTS - Date.now();
      if (behind > 0) await wait(behind);
    }
    const took = (Date.now() - begun) / 1000;
    const total = written.reduce((sum, count) => sum + count, 0);
    const expected = Object.fromEntries(written.map((count, session) => [`s${session}`, count]));
    const end = Date.now() + 60_000;
    let state = await ask(side.child);
    while (JSON.stringify(sorted(state.told)) !== JSON.stringify(sorted(expected)) && Date.now() < end) {
      await wait(200);
      state = await ask(side.child);
    }
    side.child.kill();
    const off = (sign) =>
      Object.entries(expected).reduce(
        (sum, [session, count]) => sum + Math.max(0, sign * ((state.counts[session] ?? 0) - count)),
        0,
      );
    const [lost, doubled] = [off(-1), off(1)];
    latencies.sort((a, b) => a - b);
    const part = (share) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))];
    const row = {
      row: "live",
      title: `1,000 sessions, ${seconds} s, a kill and a restart after the half`,
      appends: total,
      perSecond: Math.round(total / took),
      latency: { median: part(0.5), p99: part(0.99), count: latencies.length },
      // From the restart on: since then it reads what was there, and half of the appends.
      processor: Number((state.cpu / state.seconds).toFixed(2)),
      memory: Math.round(state.memory / 1e6),
      lost,
      doubled,
      load: load(),
    };
    console.log(liveLines(row).join("\n"));
    console.log(`its journal: ${Math.round(readFileSync(journal).length / 1e6)} MB`);
    keep([row]);
    assert.deepEqual([lost, doubled], [0, 0], "every append is in the rows, once");
    assert.deepEqual(sorted(state.told), sorted(expected), "the changes add up to the rows");
  } finally {
    rmSync(place, { recursive: true, force: true });
    for (const end of ["", ".lock.guard"]) rmSync(journal + end, { force: true });
  }
}

function sorted(counts) {
  return Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

async function start(folder, journal) {
  const child = fork(import.meta.filename, ["monitor", folder, journal]);
  const ready = await new Promise((resolve, reject) => {
    child.on("message", (message) => message.ready !== undefined && resolve(message.ready));
    child.on("exit", (code) => reject(new Error(`the monitor ended with ${code}`)));
  });
  child.removeAllListeners("exit");
  return { child, ready };
}

function ask(child) {
  return new Promise((resolve) => {
    const listener = (message) => {
      if (message.counts === undefined) return;
      child.off("message", listener);
      resolve(message);
    };
    child.on("message", listener);
    child.send("state");
  });
}

function line(session, uuid, record) {
  const envelope = { sessionId: `s${session}`, uuid, timestamp: new Date().toISOString() };
  return `${JSON.stringify({ ...envelope, ...record })}\n`;
}

function prompt(session) {
  return line(session, `p${session}`, {
    type: "user",
    promptId: `p${session}`,
    message: { role: "user", content: "Go." },
  });
}

function call(session, number) {
  const id = `${session}-${number}`;
  const block = { type: "tool_use", id: `t${id}`, name: "Bash", input: { description: "Build it" } };
  return line(session, `u${id}`, {
    type: "assistant",
    message: { id: `m${id}`, model: "opus", content: [block] },
  });
}
