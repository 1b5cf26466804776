// `agent-lifecycle status`: reads sessions one at a time and shows them as a tree, or as JSON.
import { homedir } from "node:os";
import { parseArgs } from "node:util";
import { LifecycleError } from "../error.js";
import { type Native, callNative } from "../native.js";
import { stateDirectory } from "../state-directory.js";
import { Exit, UsageError } from "./exit.js";
import { inert } from "./inert.js";

const DAY_MS = 24 * 60 * 60 * 1000;
const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: DAY_MS };

export async function status(args: string[]): Promise<Exit> {
  const { values, positionals } = parse(args);
  const { since = "24h", all = false, active = false, json = false, now } = values;
  const options = {
    paths: positionals,
    home: homedir(),
    stateDirectory: stateDirectory(),
    content: "titles",
    active,
    ...(all ? {} : { sinceMs: duration(since) }),
    ...(now === undefined ? {} : { now }),
  };
  const reading = start(options);
  await readAll(reading);
  const missing = callNative(() => reading.missing());
  for (const path of missing) console.error(`agent-lifecycle: ${inert(path)}`);
  if (missing.length > 0 && missing.length === positionals.length) return Exit.Unusable;
  const { stdout } = process;
  const color = stdout.isTTY === true && !process.env["NO_COLOR"];
  const look = { color, ...(stdout.isTTY ? { width: stdout.columns } : {}) };
  stdout.write(json ? `${callNative(() => reading.json())}\n` : callNative(() => reading.text(look)));
  return missing.length > 0 ? Exit.Unusable : Exit.Fine;
}

function start(options: Native.NativeStatusOptions): Native.NativeStatus {
  try {
    return callNative((native) => new native.NativeStatus(options));
  } catch (error) {
    if (error instanceof LifecycleError && error.path === "now") throw new UsageError(`--${error.message}`);
    throw error;
  }
}

interface Reading {
  step(): boolean;
  progress(): number[];
}

/** Reads every session, with a progress line where a person waits at a terminal. */
async function readAll(reading: Reading): Promise<void> {
  const shows = process.stderr.isTTY === true;
  let shownAt = performance.now();
  let shown = false;
  while (callNative(() => reading.step())) {
    if (shows && performance.now() - shownAt > 100) {
      const [read, total] = reading.progress();
      process.stderr.write(`\r\u001b[Kreading session ${read} of ${total}`);
      shownAt = performance.now();
      shown = true;
      // Lets an interruption through.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  if (shown) process.stderr.write("\r\u001b[K");
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        json: { type: "boolean" },
        active: { type: "boolean" },
        all: { type: "boolean" },
        since: { type: "string" },
        now: { type: "string" },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message.split(/[.\n]/)[0]);
  }
}

/** `24h`, `90m`, `30s`, `7d` in milliseconds. */
function duration(text: string): number {
  const [, amount, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const factor = unit === undefined ? undefined : UNITS[unit];
  if (factor === undefined) {
    throw new UsageError(`--since ${JSON.stringify(text)} is no time span; write 30s, 90m, 24h or 7d`);
  }
  return Math.min(Number(amount) * factor, Number.MAX_SAFE_INTEGER);
}
