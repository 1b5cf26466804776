// Keeps what benches and soaks measured in results.json, the newest figures of each row.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import path from "node:path";

const FILE = path.join(import.meta.dirname, "results.json");

/** What the figures were measured with. */
export function environment() {
  const rustc = spawnSync("rustc", ["--version"], { encoding: "utf8" }).stdout.trim();
  return `${cpus()[0].model} x ${cpus().length}, node ${process.version}, ${rustc}`;
}

/** Processes that ran or wanted to, in the last minute: above the number of processors the machine was busy. */
export function load() {
  return Number(loadavg()[0].toFixed(1));
}

/** The rows that were kept. */
export function kept() {
  try {
    return JSON.parse(readFileSync(FILE, "utf8")).results;
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}

/** Keeps rows, in the place of former ones with their names. */
export function keep(measured) {
  const names = measured.map(({ row }) => row);
  const results = [...kept().filter(({ row }) => !names.includes(row)), ...measured];
  writeFileSync(FILE, `${JSON.stringify({ environment: environment(), results }, null, 2)}\n`);
}

/** Figures of the soak of live sessions as lines of the table. */
export function liveLines({
  title,
  appends,
  perSecond,
  latency,
  processor,
  memory,
  lost,
  doubled,
  load: busy,
}) {
  return [
    `live: ${title}`,
    `  ${appends} appends, ${perSecond} a second: ${lost} lost, ${doubled} doubled`,
    `  append to change: median ${latency.median} ms, 99 of 100 within ${latency.p99} ms (${latency.count} of them)`,
    `  the monitor's process: ${processor} s of processor time in a second, ${memory} MB; load of the machine ${busy}`,
  ];
}
