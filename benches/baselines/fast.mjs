// Baseline (i3): the fastest JavaScript projector that we could write. No event is normalised into a new object: members
// are checked where they stand, an id that is known was checked before, records change in place, and contents are
// compared as the text of their lines; only where that differs is the content itself compared.
import { isAscii } from "node:buffer";
import { Refused, SECRET_NAME, SECRET_TEXT, normalizeEvent } from "./event.mjs";
import { EDGES, canonical } from "./plain.mjs";

const TERMINAL = { completed: true, failed: true, cancelled: true, lost: true };
const STATES = { __proto__: null, ...EDGES, ...TERMINAL };
const REASONS = { __proto__: null, prompt: 1, permission: 1, question: 1, blocked: 1, child: 1, other: 1 };
const WORDS = { __proto__: null, known: 1, unknown: 1 };
/** What kinds may do; a kind without `state` changes none. */
const KINDS = {
  __proto__: null,
  created: { state: true },
  state_changed: { state: true },
  terminal: { state: true },
  activity: { state: false },
  heartbeat: { state: false },
  reconciliation: { state: false, isNote: true },
  diagnostic: { state: false, isNote: true },
};
/** What a secret in text may hold; the rules are asked only behind it. */
const TRIGGER = new RegExp(SECRET_TEXT.source, "i");
const CONTENTS = 64;
const UNSEQUENCED = 1024;

const newChild = (source, event) => ({
  source,
  childId: event.childId,
  lineage: event.lineage,
  state: event.state,
  waitingReason: undefined,
  stateSince: event.observedAt,
  startedAt: event.observedAt,
  freshAt: event.observedAt,
  freshMs: 0,
  activity: undefined,
  capabilities: event.capabilities,
  gapDetected: false,
  base: -1,
  highestSequence: -1,
  lateEvidence: { count: 0, recent: [] },
  notes: { count: 0, recent: [] },
  /** Sequences not seen between base and highest, and seen ones below base. */
  missing: new Set(),
  below: new Set(),
  sequences: Array.from({ length: CONTENTS }, () => -1),
  lines: Array.from({ length: CONTENTS }, () => ""),
  unsequenced: undefined,
});

export class FastProjector {
  #rest = Buffer.alloc(0);
  #sources = new Map();
  #children = [];
  results = {};

  push(chunk) {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const end = bytes.lastIndexOf(10) + 1;
    // One text for all lines: a cut of it costs no copy.
    const text = isAscii(bytes) ? bytes.latin1Slice(0, end) : bytes.utf8Slice(0, end);
    let from = 0;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", from)) {
      if (at > from) this.#count(text.slice(from, at));
      from = at + 1;
    }
    this.#rest = Buffer.from(bytes.subarray(end));
  }

  get records() {
    return this.#children;
  }

  #count(line) {
    let status;
    try {
      status = this.#apply(JSON.parse(line), line);
    } catch (error) {
      if (error instanceof Refused) status = "refused";
      else if (error instanceof SyntaxError) status = "malformed";
      else throw error;
    }
    this.results[status] = (this.results[status] ?? 0) + 1;
  }

  #apply(event, line) {
    if (event === null || typeof event !== "object" || event.schemaVersion !== 1)
      throw new Refused("$", "no event");
    const source = this.#sources.get(event.source) ?? this.#enter(event);
    const { childId, lineage, kind, state, observedAt, sequence } = event;
    const child = source.children.get(childId);
    const rules = KINDS[kind];
    // Whatever is unusual is judged by all rules, which throw or give what was meant.
    let usual =
      rules !== undefined &&
      isPlainId(event.eventId) &&
      (event.sourceEpoch === source.epoch || isPlainId(event.sourceEpoch)) &&
      (child !== undefined || isPlainId(childId)) &&
      isPlainLineage(lineage, child) &&
      (rules.state ? isState(kind, state) : state === undefined) &&
      (event.waitingReason === undefined || (state === "waiting" && REASONS[event.waitingReason] === 1)) &&
      typeof observedAt === "string" &&
      (sequence === undefined || (Number.isSafeInteger(sequence) && sequence >= 0)) &&
      (event.activity === undefined || isPlainText(event.activity)) &&
      (event.details === undefined || (line.length < 65536 && isPlainDetails(event.details, 32))) &&
      (event.capabilities === undefined || isCapabilities(event.capabilities));
    const ms = usual ? millis(observedAt) : NaN;
    usual &&= ms === ms;
    if (!usual) {
      const normal = normalizeEvent(event);
      return this.#judge(source, normal, canonical(normal), Date.parse(normal.observedAt));
    }
    return this.#judge(source, event, line, ms, child);
  }

  #enter(event) {
    const { source, sourceEpoch } = normalizeEvent(event);
    const known = this.#sources.get(source);
    if (known !== undefined) return known;
    const entered = { name: source, epoch: sourceEpoch, children: new Map() };
    this.#sources.set(source, entered);
    return entered;
  }

  #judge(source, event, line, ms, child = source.children.get(event.childId)) {
    if (event.sourceEpoch !== source.epoch) return "conflict";
    const { sequence, state } = event;
    if (child === undefined) {
      if (state !== "created" && !(event.lineage.external && state !== undefined && !TERMINAL[state]))
        return "conflict";
      child = newChild(source.name, event);
      source.children.set(event.childId, child);
      this.#children.push(child);
      remember(child, event, line);
      take(child, event, ms);
      return "applied";
    }
    if (sequence === undefined) {
      const known = child.unsequenced?.get(event.eventId);
      if (known !== undefined) return sameContent(known, line) ? "deduplicated" : "conflict";
    } else if (isSeen(child, sequence)) {
      const slot = sequence % CONTENTS;
      if (child.sequences[slot] !== sequence) return "deduplicated";
      return sameContent(child.lines[slot], line) ? "deduplicated" : "conflict";
    }
    if (TERMINAL[child.state]) {
      remember(child, event, line);
      push(child.lateEvidence, event);
      return "terminal_immutable";
    }
    if (sequence < child.highestSequence) {
      remember(child, event, line);
      if (TERMINAL[state]) push(child.lateEvidence, event);
      child.gapDetected &&= child.missing.size > 0;
      return "out_of_order";
    }
    if (event.kind === "created") throw new Refused("$.kind", "the child is known");
    const gap = child.highestSequence >= 0 && sequence > child.highestSequence + 1;
    if (state !== undefined && state !== child.state && !EDGES[child.state].includes(state)) {
      if (!gap && !child.gapDetected) throw new Refused("$.state", `no edge from ${child.state} to ${state}`);
    }
    remember(child, event, line);
    child.gapDetected ||= gap;
    take(child, event, ms);
    return gap ? "provisional" : "applied";
  }
}

/** An accepted event of a live child. */
function take(child, event, ms) {
  const { kind, state, observedAt } = event;
  if (state !== undefined) {
    if (state !== child.state) {
      child.state = state;
      child.stateSince = observedAt;
    }
    child.waitingReason = state === "waiting" ? (event.waitingReason ?? "other") : undefined;
  }
  if (KINDS[kind].isNote) {
    push(child.notes, event);
    return;
  }
  if (event.activity !== undefined) child.activity = event.activity;
  if (ms > child.freshMs) {
    child.freshMs = ms;
    child.freshAt = observedAt;
  }
}

function push(ring, { eventId, kind, state, observedAt, activity }) {
  ring.count++;
  if (ring.recent.length === 16) ring.recent.shift();
  ring.recent.push({ eventId, kind, state, observedAt, activity });
}

function isSeen(child, sequence) {
  if (sequence > child.highestSequence) return false;
  return sequence >= child.base ? !child.missing.has(sequence) : child.below.has(sequence);
}

function remember(child, event, line) {
  const { sequence } = event;
  if (sequence === undefined) {
    child.unsequenced ??= new Map();
    child.unsequenced.set(event.eventId, line);
    if (child.unsequenced.size > UNSEQUENCED) child.unsequenced.delete(child.unsequenced.keys().next().value);
    return;
  }
  const slot = sequence % CONTENTS;
  child.sequences[slot] = sequence;
  child.lines[slot] = line;
  if (child.base < 0) child.base = child.highestSequence = sequence;
  else if (sequence > child.highestSequence) {
    for (let hole = child.highestSequence + 1; hole < sequence; hole++) child.missing.add(hole);
    child.highestSequence = sequence;
  } else if (sequence >= child.base) child.missing.delete(sequence);
  else child.below.add(sequence);
}

/** Lines that differ may say the same: other order of members, white space, what is dropped. */
function sameContent(known, line) {
  return (
    known === line ||
    canonical(normalizeEvent(JSON.parse(known))) === canonical(normalizeEvent(JSON.parse(line)))
  );
}

/** Short enough in any encoding, and nothing to trim, as far as the ends tell; all of that is rare. */
function isPlainId(id) {
  if (typeof id !== "string" || id.length === 0 || id.length > 170) return false;
  for (let at = 0; at < id.length; at++) {
    const unit = id.charCodeAt(at);
    if (unit <= 0x20 || unit > 0x7e) return false;
  }
  return true;
}

function isPlainLineage(lineage, child) {
  if (typeof lineage !== "object" || lineage === null) return false;
  const known = child?.lineage;
  return (
    (lineage.rootChildId === known?.rootChildId || isPlainId(lineage.rootChildId)) &&
    (lineage.parentChildId === undefined ||
      lineage.parentChildId === known?.parentChildId ||
      isPlainId(lineage.parentChildId)) &&
    Number.isSafeInteger(lineage.attempt) &&
    lineage.attempt >= 0 &&
    lineage.external === false &&
    lineage.adoptedAt === undefined
  );
}

function isState(kind, state) {
  if (kind === "created") return state === "created";
  return kind === "terminal" ? TERMINAL[state] === true : STATES[state] !== undefined && state !== "created";
}

const isPlainText = (text) => typeof text === "string" && text.length <= 512 && !TRIGGER.test(text);

function isPlainDetails(details, levels) {
  if (levels === 0) return false;
  for (const name in details) {
    const value = details[name];
    if (typeof value === "string") {
      if (SECRET_NAME.test(name) || TRIGGER.test(value)) return false;
    } else if (typeof value === "object" && value !== null && !isPlainDetails(value, levels - 1))
      return false;
  }
  return true;
}

function isCapabilities({ history, heartbeat, snapshot, cancel, terminalCause }) {
  return (
    (history === undefined || WORDS[history] === 1) &&
    (heartbeat === undefined || WORDS[heartbeat] === 1) &&
    (snapshot === undefined || WORDS[snapshot] === 1) &&
    (cancel === undefined || WORDS[cancel] === 1) &&
    (terminalCause === undefined || WORDS[terminalCause] === 1)
  );
}

const DAYS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
let lastDay = "";
let lastDayMs = NaN;

/** The moment of `2026-05-17T08:00:00.123Z`; NaN for any other way to write a time, and for no time. */
function millis(text) {
  if (text.length !== 24 || text.charCodeAt(23) !== 0x5a || text.charCodeAt(19) !== 0x2e) return NaN;
  if (text.charCodeAt(10) !== 0x54 || text.charCodeAt(13) !== 0x3a || text.charCodeAt(16) !== 0x3a)
    return NaN;
  const hour = digits(text, 11, 2);
  const minute = digits(text, 14, 2);
  const second = digits(text, 17, 2);
  if (!(hour < 24 && minute < 60 && second < 60)) return NaN;
  return dayMs(text) + hour * 3_600_000 + minute * 60_000 + second * 1000 + digits(text, 20, 3);
}

/** The moment at which the day of `text` begins; nearly always the same as the last time. */
function dayMs(text) {
  if (text.startsWith(lastDay) && lastDay !== "") return lastDayMs;
  const [year, month, day] = [digits(text, 0, 4), digits(text, 5, 2), digits(text, 8, 2)];
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && isLeap ? 29 : DAYS[month];
  if (text[4] !== "-" || text[7] !== "-" || !(day >= 1 && day <= days)) return NaN;
  lastDay = text.slice(0, 10);
  return (lastDayMs = Date.parse(lastDay));
}

function digits(text, at, count) {
  let number = 0;
  for (let end = at + count; at < end; at++) {
    const digit = text.charCodeAt(at) - 0x30;
    if (!(digit >= 0 && digit <= 9)) return NaN;
    number = number * 10 + digit;
  }
  return number;
}
