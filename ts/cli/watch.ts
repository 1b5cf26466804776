// `agent-lifecycle watch`: agents as they work, on a screen, as plain lines, or as changes for a program.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { type MonitorDiagnostic, openMonitor } from "../monitor.js";
import type { Row } from "../row.js";
import { createRowStore } from "../row-store.js";
import type { MonitorLike, OpenMonitor } from "../watch/monitor.js";
import { watchScreen } from "../watch/live.js";
import { fit } from "../watch/columns.js";
import { PROCESS_DEAD, hasDeadProcess, stateWords, titleWords } from "../watch/words.js";
import { Exit, UsageError } from "./exit.js";
import { inert } from "./inert.js";

const DAY_MS = 24 * 60 * 60 * 1000;
/** For whoever leaves nothing out for its age. */
export const CENTURY_MS = 36_525 * DAY_MS;

export interface WatchFlags {
  paths: string[];
  jsonl: boolean;
  all: boolean;
  cursor: string | undefined;
}

/** The command with a monitor of one's own. */
export const watchWith =
  (open: OpenMonitor) =>
  async (args: string[]): Promise<Exit> => {
    const flags = parse(args);
    const { stdin, stdout } = process;
    const ended = new AbortController();
    const end = () => ended.abort();
    for (const name of SIGNALS) process.on(name, end);
    let changed: (() => void) | undefined;
    let noticed = toError;
    try {
      const monitor = await open({
        sources: flags.paths.length === 0 ? "default" : flags.paths.map((path) => resolve(path)),
        activeWithinMs: flags.all ? CENTURY_MS : DAY_MS,
        onChange: () => changed?.(),
        onDiagnostic: (diagnostic) => noticed(noticeText(diagnostic)),
        signal: ended.signal,
        ref: true,
      });
      const follow: Follow = {
        monitor,
        signal: ended.signal,
        listen: (onChange, onNotice) => {
          changed = onChange;
          noticed = onNotice;
        },
      };
      try {
        if (flags.jsonl) await watchChanges(follow, flags.cursor);
        else if (stdout.isTTY && stdin.isTTY) await watchScreen(follow, stdin, stdout);
        else await watchLines(follow);
      } finally {
        await monitor.close();
      }
    } catch (error) {
      if (!ended.signal.aborted) throw error;
    } finally {
      for (const name of SIGNALS) process.off(name, end);
    }
    return Exit.Fine;
  };

/** `agent-lifecycle watch`. */
export const watch = watchWith(openMonitor);

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A monitor, and who listens to it. */
export interface Follow {
  monitor: MonitorLike;
  /** Aborted when the command is to end. */
  signal: AbortSignal;
  listen(onChange: () => void, onNotice: (text: string) => void): void;
}

const toError = (text: string) => console.error(`agent-lifecycle: ${inert(text)}`);

/** Each batch of changes on its line. The first leads from `cursor` to now. */
async function watchChanges({ monitor, signal, listen }: Follow, cursor: string | undefined): Promise<void> {
  let at = cursor;
  let isFirst = true;
  const write = () => {
    // What a slow reader misses comes in one batch later: changes are asked for from the cursor that it has.
    if (signal.aborted || process.stdout.writableNeedDrain) return;
    const changes = monitor.changesSince(at);
    const isEmpty = changes.upserted.length === 0 && changes.removed.length === 0 && !changes.reset;
    if (isEmpty && !isFirst) return;
    isFirst = false;
    at = changes.cursor;
    process.stdout.write(`${JSON.stringify(changes)}\n`);
  };
  process.stdout.on("drain", write);
  listen(write, toError);
  write();
  await over(signal);
}

/** A line for each change of a state: `time state reason title`. */
async function watchLines({ monitor, signal, listen }: Follow): Promise<void> {
  const store = createRowStore();
  const said = new Map<string, { row: Row; words: string }>();
  const write = () => {
    if (process.stdout.writableNeedDrain) return;
    store.apply(monitor.changesSince(store.cursor));
    const now = new Date().toISOString();
    const rows = store.snapshot();
    for (const row of rows) {
      const words = `${row.attempt} ${lineWords(row)} ${row.stateSince}`;
      const before = said.get(row.key);
      if (before?.words === words) continue;
      said.set(row.key, { row, words });
      // A row that is only found stale, or its process dead, has no new state since then: that is known from now.
      const time = before === undefined || before.row.stateSince !== row.stateSince ? row.stateSince : now;
      console.log(line(time, lineWords(row), row));
    }
    for (const [key, { row }] of said) {
      if (store.get(key) !== undefined) continue;
      said.delete(key);
      console.log(line(now, "removed", row));
    }
  };
  process.stdout.on("drain", write);
  listen(write, toError);
  write();
  await over(signal);
}

function lineWords(row: Row): string {
  const more = [...(hasDeadProcess(row) ? [PROCESS_DEAD] : []), ...(row.freshness.stale ? ["stale"] : [])];
  return stateWords(row) + (more.length === 0 ? "" : ` (${more.join(", ")})`);
}

/** Columns of a title on a plain line. */
const TITLE = 120;

const line = (time: string, words: string, row: Row): string =>
  `${time.padEnd(24)} ${words.padEnd(26)} ${fit(titleWords(row), TITLE)}`.trimEnd();

const over = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });

/** What a monitor reports, in one line. */
export const noticeText = ({ code, path, message }: MonitorDiagnostic): string =>
  `${path === null || message.includes(path) ? "" : `${path}: `}${message} (${code})`;

function parse(args: string[]): WatchFlags {
  let parsed;
  try {
    parsed = parseArgs({
      args,
      allowPositionals: true,
      options: {
        jsonl: { type: "boolean" },
        "json-lines": { type: "boolean" },
        cursor: { type: "string" },
        all: { type: "boolean" },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message.split(/[.\n]/)[0]);
  }
  const { values, positionals } = parsed;
  const jsonl = values.jsonl === true || values["json-lines"] === true;
  if (values.cursor !== undefined && !jsonl) throw new UsageError("--cursor goes with --jsonl");
  for (const path of positionals) {
    if (path === "") throw new UsageError("a file or folder needs a name");
  }
  return { paths: positionals, jsonl, all: values.all === true, cursor: values.cursor };
}
