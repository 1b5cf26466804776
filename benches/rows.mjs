// The rows of the bench: what each compares, and how one is measured, in a process of its own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import path from "node:path";
import { A, A2, B, C, FOLDER_OF_JOURNALS, FOLLOWED, FOLLOWED_IDLE, corpusFile } from "./corpus.mjs";

const ROOT = path.join(import.meta.dirname, "..");

const ALL = {
  native: "createJsonlRecordDecoder",
  plain: "(b) indexOf, toString, JSON.parse",
  perByte: "(a) byte by byte",
  split2: "(c) split2",
  ndjson: "(c) ndjson",
  readline: "(c) readline",
  newlines: "floor: newline scan",
  parse: "floor: JSON.parse of prebuilt lines",
};
const HUGE = {
  native: "createJsonlRecordDecoder",
  plain: "(b) with the same limit",
  newlines: "floor: newline scan",
};
const SELECT = {
  native: "createJsonlRecordDecoder with select",
  plain: "(b) with a filter",
  newlines: "floor: newline scan",
};

/** The first variant is ours; `what` names the result that rows of the same work have in common. */
export const ROWS = [
  {
    name: "projection",
    title: "A, bytes -> projection, in JavaScript",
    what: "projection",
    shape: A,
    script: "projection.mjs",
    variants: {
      native: "LifecycleProjector.applyJsonl",
      plain: "(i) a straightforward JavaScript projector",
      fast: "(i3) the fastest JavaScript projector",
      parse: "floor: JSON.parse of prebuilt lines",
    },
  },
  {
    name: "projection-core",
    title: "A, bytes -> projection, in Rust",
    what: "projection",
    shape: A,
    stage: "projection",
    variants: { ours: "JsonlParser and Projector", validate: "floor: serde_json validation only" },
  },
  {
    name: "parser",
    title: "A, bytes -> events, in JavaScript",
    what: "events",
    shape: A,
    script: "parser.mjs",
    variants: {
      native: "JsonlLifecycleParser.push",
      plain: "(b) indexOf, toString, JSON.parse, and the same rules",
      parse: "floor: JSON.parse of prebuilt lines",
    },
  },
  {
    name: "parser-core",
    title: "A, bytes -> events, in Rust",
    what: "events",
    shape: A,
    stage: "parser",
    variants: { ours: "JsonlParser", validate: "floor: serde_json validation only" },
  },
  {
    name: "decoder-A",
    title: "A, bytes -> values",
    what: "records of A",
    shape: A,
    script: "decoder.mjs",
    args: ["all"],
    variants: ALL,
  },
  {
    name: "decoder-A2",
    title: "A2, bytes -> values",
    what: "records of A2",
    shape: A2,
    script: "decoder.mjs",
    args: ["all"],
    variants: ALL,
  },
  {
    name: "decoder-B",
    title: "B, bytes -> values",
    what: "records of B",
    shape: B,
    script: "decoder.mjs",
    args: ["all"],
    variants: ALL,
  },
  {
    name: "decoder-C",
    title: "C, bytes -> values, lines of 16 MiB dropped",
    what: "records of C",
    shape: C,
    script: "decoder.mjs",
    args: ["huge"],
    variants: HUGE,
  },
  {
    name: "select-A",
    title: "A, bytes -> the 5 % that wait for a person",
    what: "selected of A",
    shape: A,
    script: "decoder.mjs",
    args: ["select", "waitingReason", "prompt,permission,question"],
    variants: SELECT,
  },
  {
    name: "select-B",
    title: "B, bytes -> the 5 % of type system",
    what: "selected of B",
    shape: B,
    script: "decoder.mjs",
    args: ["select", "type", "system"],
    variants: SELECT,
  },
  {
    name: "session",
    title: "B, bytes -> provider -> bridge -> projection -> rows, in JavaScript",
    what: "session",
    shape: B,
    script: "session.mjs",
    variants: {
      native: "NativePipeline, settled after each chunk",
      plain: "(i) the same in straightforward JavaScript",
      fast: "(i3) rows in place, no events, the fastest JavaScript",
      parse: "floor: JSON.parse of prebuilt lines",
    },
  },
  {
    name: "session-core",
    title: "B, bytes -> provider -> bridge -> projection -> rows, in Rust",
    what: "session",
    shape: B,
    stage: "session",
    variants: { ours: "Pipeline", validate: "floor: serde_json validation only" },
  },
  {
    name: "status",
    title: "a folder of old journals -> rows, in a process of its own",
    what: "sessions of a folder",
    shape: FOLDER_OF_JOURNALS,
    script: "status.mjs",
    variants: {
      native: "agent-lifecycle status --json",
      active: "the same with --active: few rows",
      plain: "JavaScript that reads and parses every line",
    },
  },
  {
    name: "follow-latency",
    title: "1,000 followed files, from an append to who waits for it; ms is the median of 200",
    what: "appends that are seen",
    shape: FOLLOWED,
    script: "follow.mjs",
    args: ["latency"],
    variants: {
      native: "followJournal, the bytes in hand",
      watch: "fs.watch of the folder, nothing read",
      reading: "fs.watch of the folder, and reading what is new",
    },
  },
  {
    name: "follow-idle",
    title: "1,000 followed files, of which none grows; ms is processor time of a second",
    what: "seconds of waiting",
    shape: FOLLOWED_IDLE,
    script: "follow.mjs",
    args: ["idle"],
    variants: { native: "followJournal", nothing: "a Node process that waits" },
  },
  {
    name: "journal",
    title: "64 appends at once, durability os, to a journal of 10,000 entries",
    what: "appends",
    shape: { ...A, lines: 10_000 },
    script: "journal.mjs",
    args: ["append"],
    variants: {
      native: "JsonlLifecycleJournal.append",
      replaying: "a journal that reads the whole file for each append",
    },
  },
  {
    name: "journal-length",
    title: "the same, to one of 1,000,000 entries",
    what: "appends to a long journal",
    shape: { ...A, lines: 1_000_000 },
    script: "journal.mjs",
    args: ["length"],
    variants: { native: "1,000,000 entries", short: "its last 10,000 entries" },
  },
  {
    name: "journal-replay",
    title: "a replay of 1,000,000 entries, in Rust",
    what: "entries",
    shape: { ...A, lines: 1_000_000 },
    package: "agent-lifecycle-io",
    bench: "journal",
    stage: "replay",
    variants: { ours: "Journal::replay", validate: "floor: serde_json validation only" },
  },
];

/** Measures a row. `shape` and `rounds` may be smaller ones, for a look at whether it runs. */
export function measureRow(row, { shape = row.shape, rounds = 9 } = {}) {
  // A folder is made where it is read, and removed.
  const file = shape.isMade ? JSON.stringify(shape) : corpusFile(shape);
  const [command, args] = row.script
    ? [process.execPath, ["--expose-gc", path.join(import.meta.dirname, row.script)]]
    : [
        "cargo",
        [
          "bench",
          "--quiet",
          "--package",
          row.package ?? "agent-lifecycle-core",
          "--bench",
          row.bench ?? "stages",
          "--",
          row.stage,
        ],
      ];
  const run = spawnSync(command, [...args, file, String(rounds), ...(row.args ?? [])], {
    cwd: ROOT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (run.error) throw run.error;
  if (run.status !== 0) throw new Error(`${row.name} ended with ${run.signal ?? `exit code ${run.status}`}`);
  const said = run.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const results = said.flatMap(({ result }) => (result === undefined ? [] : [result]));
  for (const result of results) assert.deepEqual(result, results[0], `${row.name}: the variants disagree`);
  const times = (variant) => said.flatMap((line) => (line.variant === variant && line.ms ? [line.ms] : []));
  const peaks = (variant) =>
    said.find((line) => line.variant === variant && line.peakMegabytes)?.peakMegabytes;
  const made = said.find((line) => line.corpus)?.corpus;
  const { lines, bytes } = made ?? { lines: shape.lines, bytes: statSync(file).size };
  return summary(row, { bytes, lines, result: results[0], times, peaks });
}

function summary(row, { bytes, lines, result, times, peaks }) {
  const ours = times(Object.keys(row.variants)[0]);
  const variants = Object.entries(row.variants).map(([variant, title]) => {
    const ms = times(variant);
    const ratios = ms.map((time, round) => time / ours[round]).toSorted((a, b) => a - b);
    return {
      variant,
      title,
      ms: median(ms),
      megabytesPerSecond: bytes / 1000 / median(ms),
      eventsPerSecond: (lines / median(ms)) * 1000,
      ratio: median(ratios),
      least: ratios[0],
      most: ratios.at(-1),
      peakMegabytes: peaks(variant),
    };
  });
  return {
    row: row.name,
    title: row.title,
    what: row.what,
    lines,
    bytes,
    rounds: ours.length,
    result,
    variants,
  };
}

function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
