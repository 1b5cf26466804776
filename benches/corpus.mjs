// The corpora: the same bytes on every machine and in every run, from a seeded generator. None is committed.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { hugeLines, transcriptLines, variedLines } from "./transcripts.mjs";

const FOLDER = path.join(import.meta.dirname, "..", "target", "bench");

/** Corpus A: small schema-v1 lines. */
export const A = { lines: 200_000, children: 1000, duplicates: 0.02, seed: 1 };
/** As A, with high-cardinality values, 12 shapes, escapes and non-ASCII text. */
export const A2 = { make: "varied", lines: 200_000, seed: 2 };
/** Transcript lines of very different sizes. */
export const B = { make: "transcript", lines: 20_000, seed: 3 };
/** Five lines of 16 MiB among small ones. */
export const C = { make: "huge", lines: 100, huge: 16 * 1024 * 1024, seed: 4 };
/** Files that are followed, made by follow.mjs each time. */
export const FOLLOWED = { isMade: true, files: 1000, appends: 200 };
export const FOLLOWED_IDLE = { isMade: true, files: 1000, seconds: 10 };
/** A folder of old journals of mixed sizes, made by status.mjs each time. */
export const FOLDER_OF_JOURNALS = { isMade: true, journals: 2000, seed: 5 };

/** What the bytes of a corpus depend on. */
const MADE_BY = ["corpus.mjs", "transcripts.mjs", "transcript.mjs", "words.mjs"];
const MAKERS = { varied: variedLines, transcript: transcriptLines, huge: hugeLines };

/** The bytes of a corpus. */
export function corpusBytes(shape) {
  if (shape.make === undefined) return smallEvents(shape);
  const lines = MAKERS[shape.make]({ ...shape, random: mulberry32(shape.seed) });
  return Buffer.from(`${lines.join("\n")}\n`);
}

/** The file of a corpus, made where it is missing. Its name holds what it is made from. */
export function corpusFile(shape) {
  const hash = createHash("sha256");
  for (const name of MADE_BY) hash.update(readFileSync(path.join(import.meta.dirname, name)));
  const sum = hash.update(JSON.stringify(shape)).digest("hex").slice(0, 16);
  const file = path.join(FOLDER, `${sum}.jsonl`);
  if (!existsSync(file)) {
    mkdirSync(FOLDER, { recursive: true });
    const part = `${file}.${process.pid}`;
    writeFileSync(part, corpusBytes(shape));
    renameSync(part, file);
  }
  return file;
}

/**
 * Small schema-v1 lines: `children` lives, a share of them at the same time, each from `created` to an end over legal
 * edges, with sequences. A `duplicates` share of the lines repeats a recent one of the same child; a few neighbours are
 * swapped, so that gaps, late sequences and filled holes occur.
 */
export function smallEvents({ lines, children, duplicates, seed }) {
  const random = mulberry32(seed);
  // A little more than all lines take, so that some lives go on at the end.
  const length = Math.ceil((lines * (1 - duplicates) * 1.02) / children) + 1;
  const lives = Array.from({ length: children }, (_, at) => new Life(at, length, random));
  const alive = lives.splice(0, ALIVE);
  const out = [];
  let clock = Date.UTC(2026, 4, 17, 8);
  while (out.length < lines) {
    const place = Math.floor(random() * alive.length);
    const life = alive[place];
    clock += 1 + Math.floor(random() * 40);
    out.push((random() < duplicates && life.repeat()) || life.next(clock));
    // An ended life gives its place to the next one.
    if (life.isOver) alive.splice(place, 1, ...lives.splice(0, 1));
  }
  return Buffer.from(`${out.join("\n")}\n`);
}

/** How many live at the same time. */
const ALIVE = 200;

const SOURCES = ["claude-code", "codex", "hermes", "runtime"];
const FILES = [
  "src/json.rs",
  "src/contract/event.rs",
  "ts/projector.ts",
  "README.md",
  "package.json",
  "src/lib.rs",
];
const TASKS = [
  "the failing parser test",
  "memory per child",
  "the reconnect loop",
  "flaky CI on arm64",
  "the docs",
];
const TOOLS = ["Read", "Edit", "Bash", "Grep", "Task", "WebFetch"];
const ENDS = ["completed", "completed", "completed", "completed", "failed", "cancelled", "lost"];
const REASONS = ["prompt", "permission", "question", "blocked", "child", undefined];
const CAPABILITIES = { history: "known", heartbeat: "known", snapshot: "unknown", cancel: "known" };

/** One child, said line by line. */
class Life {
  #random;
  #at;
  #length;
  #said = 0;
  #state;
  #envelope;
  #recent = [];
  #held;

  constructor(at, length, random) {
    const group = Math.floor(at / 8);
    const id = (n) => `${SOURCES[group % 4]}-${hex(n, 8)}`;
    this.#random = random;
    this.#at = at;
    this.#length = length;
    this.#envelope = {
      source: `${SOURCES[group % 4]}/${hex(group % 40, 8)}`,
      sourceEpoch: `epoch-${(group % 40) + 1}`,
      childId: id(at),
      lineage: {
        rootChildId: id(group * 8),
        ...(at % 8 > 0 && { parentChildId: id(group * 8) }),
        attempt: 0,
        external: false,
      },
    };
  }

  get isOver() {
    return this.#said > this.#length || (this.#said === this.#length && this.#held === undefined);
  }

  /** A recent line again, if there is one. */
  repeat() {
    return this.#recent[Math.floor(this.#random() * this.#recent.length)];
  }

  next(clock) {
    let line = this.#held;
    if (line === undefined) {
      line = this.#say(clock);
      // Now and then the next line comes before this one. Never around a state: that could be an illegal edge.
      if (this.#said > 2 && this.#said < this.#length - 1 && this.#random() < 0.001) {
        this.#held = line;
        line = this.#say(clock, true);
      }
    } else {
      this.#held = undefined;
    }
    if (this.#recent.push(line) > 16) this.#recent.shift();
    return line;
  }

  #say(clock, stateless = false) {
    const sequence = this.#said++;
    return JSON.stringify({
      schemaVersion: 1,
      eventId: `${hex(this.#at, 4)}-${hex(Math.imul(sequence + 1, 0x9e3779b1), 8)}-${sequence}`,
      ...this.#envelope,
      ...this.#body(sequence, clock, stateless),
      ...(sequence % 8 === 0 && { capabilities: CAPABILITIES }),
    });
  }

  /** Kind, state, time and text. */
  #body(sequence, clock, stateless) {
    const observedAt = new Date(clock).toISOString();
    const pick = (list) => list[Math.floor(this.#random() * list.length)];
    const shift = (kind, state, more) => {
      this.#state = state;
      return { kind, state, ...more, observedAt, sequence };
    };
    if (sequence === 0) {
      return {
        ...shift("created", "created"),
        activity: `Look into ${pick(TASKS)}`,
        details: { model: "large-4" },
      };
    }
    if (sequence === 1) return shift("state_changed", "starting");
    if (sequence === 2) return shift("state_changed", "running");
    if (sequence === this.#length - 1) {
      const details = { turns: sequence % 9, durationMs: sequence * 731, reason: "the work is done" };
      return { ...shift("terminal", pick(ENDS)), activity: `Ended: ${pick(TASKS)}`, details };
    }
    const die = stateless ? 0.2 + this.#random() * 0.8 : this.#random();
    if (die < 0.2) {
      if (this.#state === "waiting") return shift("state_changed", "running");
      const waitingReason = pick(REASONS);
      return shift("state_changed", "waiting", waitingReason && { waitingReason });
    }
    if (die < 0.4) return { kind: "heartbeat", observedAt, sequence };
    if (die < 0.42) {
      const activity = `Skipped a record of an unknown type in ${pick(FILES)}`;
      return { kind: "diagnostic", observedAt, sequence, activity };
    }
    const tool = pick(TOOLS);
    const activity = `${tool} ${pick(FILES)}: ${pick(TASKS)}, step ${sequence}`;
    const body = { kind: "activity", observedAt, sequence, activity };
    if (die > 0.75) return body;
    return { ...body, details: { tool, durationMs: Math.floor(this.#random() * 5000), ok: die < 0.7 } };
  }
}

const hex = (number, digits) => (number >>> 0).toString(16).padStart(digits, "0");

/** A small seeded generator of numbers in 0..1. */
export function mulberry32(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
