// `npm run soak:adapter [cycles]`: starts and closes processes, a thousand by default, and fails where anything is left of them.
// Without a number of cycles but with `--seconds n`: as many as fit.
import fs from "node:fs";
import { AdapterProcess } from "../index.js";

const [given] = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const seconds = Number(
  process.argv.find((argument) => argument.startsWith("--seconds="))?.split("=")[1] ?? Infinity,
);
const cycles = Number(given ?? (seconds === Infinity ? 1000 : Infinity));

/** KiB by which the memory of the process may grow, whatever the number of cycles. */
const MOST_KIB = 65_536;

const count = (place) => (fs.existsSync(place) ? fs.readdirSync(place).length : 0);

/** What a process holds, where the system tells. */
function held() {
  const children = fs.existsSync("/proc/self/task")
    ? fs.readdirSync("/proc/self/task").flatMap((task) => {
        const file = `/proc/self/task/${task}/children`;
        return fs.existsSync(file) ? fs.readFileSync(file, "utf8").split(" ").filter(Boolean) : [];
      }).length
    : 0;
  return {
    descriptors: count("/proc/self/fd"),
    threads: count("/proc/self/task"),
    children,
    timers: process.getActiveResourcesInfo().filter((name) => name === "Timeout" || name === "Immediate")
      .length,
  };
}

/** One life: with a request that is answered, one that is not, and ends of each kind in turn. */
async function cycle(number) {
  const script =
    number % 3 === 0
      ? `read l; echo '{"id":1,"result":1}'; read l; exit 3`
      : `read l; echo '{"id":1,"result":1}'; exec cat >/dev/null`;
  const adapter = await AdapterProcess.start({
    command: "/bin/sh",
    args: ["-c", script],
    onRequest: () => undefined,
    onNotification: () => undefined,
  });
  await adapter.request("a");
  const open = adapter.request("b").catch((error) => error.code);
  if (number % 3 !== 0) adapter.close();
  const code = await open;
  const { reason } = await adapter.closed;
  if (!["process_closed", "process_exited"].includes(code) || !["closed", "exited"].includes(reason)) {
    throw new Error(`cycle ${number}: ${code}, ${reason}`);
  }
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

for (let number = 0; number < 5; number += 1) await cycle(number);
globalThis.gc?.();
const before = held();
const memory = process.memoryUsage.rss();
const end = performance.now() + seconds * 1000;
let done = 0;
while (done < cycles && performance.now() < end) {
  await Promise.all(Array.from({ length: 4 }, (_, at) => cycle(done + at)));
  done += 4;
}
// Not that timer itself.
const after = await settled(before);
globalThis.gc?.();
const more = Math.round((process.memoryUsage.rss() - memory) / 1024);
const leaks = Object.keys(before).filter((name) => after[name] > before[name]);
if (more > MOST_KIB) leaks.push("memory");
console.log(JSON.stringify({ cycles: done, before, after, memoryKiB: more, leaks }));
process.exitCode = leaks.length > 0 ? 1 : 0;
