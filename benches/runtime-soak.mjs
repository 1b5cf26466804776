// `npm run soak:runtime [sessions]`: opens, prompts, aborts and disposes of sessions with a real adapter process each, a thousand by
// default and eight at a time, and fails where anything is left of them.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import {
  BindingStore,
  createRuntimeRegistry,
  openMonitor,
  openRuntimeSession,
  readStatus,
} from "../index.js";
import { FAKE_CAPABILITIES, fakeAdapter, fakeDriver } from "../testing.js";

const sessions = Number(process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? 1000);
const AT_ONCE = 8;
/** Sessions after which everything that is made once is made. */
const WARM_UP = Math.ceil(sessions / 4);
/** KiB by which the memory of the process may grow, and that of its JavaScript; few sessions are still a part of the warm-up. */
const MOST_KIB = { rss: sessions < 500 ? 32_768 : 16_384, heap: 2048 };
/** What a harness has that ignores an abort. */
const ABORT_MS = 50;
const MAPPINGS = 100;

const home = fs.mkdtempSync(path.join(os.tmpdir(), "agent-lifecycle-soak-"));
process.env.XDG_STATE_HOME = path.join(home, "state");
process.env.HOME = home;
const inState = (name) => path.join(home, "state", "agent-lifecycle", name);
const count = (place) => (fs.existsSync(place) ? fs.readdirSync(place).length : 0);

/** The processes below this one, where the system tells. */
function children() {
  if (!fs.existsSync("/proc/self/task")) return 0;
  return fs.readdirSync("/proc/self/task").flatMap((task) => {
    const file = `/proc/self/task/${task}/children`;
    return fs.existsSync(file) ? fs.readFileSync(file, "utf8").split(" ").filter(Boolean) : [];
  }).length;
}

/** In hundreds: the collector of JavaScript takes and gives some. */
function mappings() {
  if (!fs.existsSync("/proc/self/maps")) return 0;
  return Math.ceil(fs.readFileSync("/proc/self/maps", "utf8").split("\n").length / MAPPINGS) * MAPPINGS;
}

/** What a process holds. */
function held() {
  const resources = process.getActiveResourcesInfo();
  return {
    descriptors: count("/proc/self/fd"),
    threads: count("/proc/self/task"),
    // Such as the stacks of threads that nobody waited for.
    mappings: mappings(),
    children: children(),
    timers: resources.filter((name) => name === "Timeout" || name === "Immediate").length,
    resources: resources.length,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    folders: count(inState("generations")),
  };
}

const DECISIONS = [{ id: "yes", label: "Yes" }];
const DELTA = { observe: { kind: "assistant", text: { delta: "I am at it. " } } };
/** What the harness does in its turn, and what it does with an abort. */
const SCRIPTS = [
  { turns: [[DELTA, { hang: true }]] },
  {
    turns: [
      [DELTA, { approval: { kind: "command", title: "run it", decisions: DECISIONS } }, { hang: true }],
    ],
  },
  { turns: [[DELTA, { hang: true }]], nativeSessionId: "first-turn" },
  { turns: [[DELTA, { questions: [{ id: "a", question: "Which?", allowFreeform: true }] }, { hang: true }]] },
  // Its process is replaced by another one.
  { turns: [[DELTA, { hang: true }]], abort: "ignore" },
];

const registry = createRuntimeRegistry({
  drivers: [fakeDriver()],
  instances: SCRIPTS.map((script, at) => ({
    runtimeInstanceId: `kind${at}`,
    adapterId: "fake",
    config: fakeAdapter({
      capabilities: FAKE_CAPABILITIES,
      nativeTurnIds: true,
      sessions: path.join(home, "native"),
      ...script,
    }),
  })),
});
const store = await BindingStore.open(path.join(home, "bindings.db"));
const problems = [];
const statuses = {};

/** One life. */
async function life(number) {
  const kind = number % SCRIPTS.length;
  let begun;
  const works = new Promise((resolve) => (begun = resolve));
  const sign = [
    "assistant_delta",
    "approval_requested",
    "assistant_delta",
    "user_input_requested",
    "assistant_delta",
  ];
  const session = await openRuntimeSession({
    store,
    registry,
    productSessionId: `ps_${number}`,
    runtimeInstanceId: `kind${kind}`,
    workspace: home,
    ...(kind === 4 && { abortMs: ABORT_MS }),
    onEvent: (event) => event.kind === sign[kind] && begun(),
  });
  const turn = session.prompt({ text: "work" });
  await works;
  await session.abort();
  const { status } = await turn;
  statuses[status] = (statuses[status] ?? 0) + 1;
  if (session.status().state !== "idle" || session.status().pendingRequests !== 0)
    problems.push(`session ${number} of kind ${kind}: ${JSON.stringify(session.status())}`);
  await session.dispose();
}

/** Waits until what is collected by the system is collected. */
async function settled(before) {
  for (let tries = 0; tries < 400; tries += 1) {
    const now = held();
    if (Object.keys(before).every((name) => now[name] <= before[name])) return now;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return held();
}

/** KiB when nothing more is to be collected. */
async function memory() {
  for (let round = 0; round < 4; round += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { rss: Math.round(rss / 1024), heap: Math.round(heapUsed / 1024) };
}

let done = 0;
async function run(until) {
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (done < until) await life(done++);
    }),
  );
}

const began = performance.now();
await run(WARM_UP);
const before = held();
const memoryBefore = await memory();
const samples = [{ sessions: done, ...memoryBefore }];
const step = Math.max(AT_ONCE, Math.ceil((sessions - WARM_UP) / 10));
while (done < sessions) {
  await run(Math.min(sessions, done + step));
  samples.push({ sessions: done, ...(await memory()) });
}
const seconds = Math.round((performance.now() - began) / 100) / 10;
const after = await settled(before);
const memoryAfter = await memory();

// What is left of them where people look, and in the store.
const active = (await readStatus({ active: true, home })).rows.length;
const { rows, diagnostics } = await readStatus({ home });
const monitor = await openMonitor({ home, onDiagnostic: ({ code }) => problems.push(`monitor: ${code}`) });
const atWork = monitor.rows().filter(({ state }) => state === "running" || state === "starting").length;
const inMonitor = monitor.rows().length;
await monitor.close();
const bindings = await store.list();
let owned = 0;
for (const { productSessionId } of bindings)
  if ((await store.inspect(productSessionId)).owner !== undefined) owned += 1;
const states = {};
for (const { state } of rows) states[state] = (states[state] ?? 0) + 1;
await store.close();
const end = held();
const natives = count(path.join(home, "native"));
fs.rmSync(home, { recursive: true, force: true });

const leaks = Object.keys(before).filter(
  (name) => after[name] > before[name] + (name === "mappings" ? MAPPINGS : 0),
);
if (memoryAfter.rss - memoryBefore.rss > MOST_KIB.rss) leaks.push("memory");
if (memoryAfter.heap - memoryBefore.heap > MOST_KIB.heap) leaks.push("heap");
if (active > 0 || atWork > 0) leaks.push("active rows");
if (owned > 0) leaks.push("claims");
if (end.children > 0) leaks.push("children");
console.log(
  JSON.stringify({
    sessions: done,
    seconds,
    statuses,
    before,
    after,
    samples,
    growthKiB: { rss: memoryAfter.rss - memoryBefore.rss, heap: memoryAfter.heap - memoryBefore.heap },
    rows: { all: rows.length, monitor: inMonitor, active, atWork, states },
    bindings: { all: bindings.length, owned, natives },
    diagnostics: diagnostics.counts,
    problems: problems.slice(0, 10),
    leaks,
  }),
);
process.exitCode = leaks.length > 0 || problems.length > 0 ? 1 : 0;
