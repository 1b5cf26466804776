// Baseline (i): a projector as one would write it in JavaScript first. Events are normalised, their content is canonical
// JSON text, records are copied on every change.
import { Refused, TERMINAL, normalizeEvent } from "./event.mjs";

export const EDGES = {
  created: ["starting", "cancelled", "failed", "lost"],
  starting: ["running", "waiting", "cancelled", "failed", "lost"],
  running: ["waiting", "completed", "failed", "cancelled", "lost"],
  waiting: ["running", "completed", "failed", "cancelled", "lost"],
};

/** Contents remembered of one child. */
const CONTENTS = 64;
const RING = 16;

export class PlainProjector {
  #rest = Buffer.alloc(0);
  #epochs = new Map();
  #records = new Map();
  #seen = new Map();
  results = {};

  push(chunk) {
    const bytes = Buffer.concat([this.#rest, chunk]);
    let from = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
      const line = bytes.toString("utf8", from, end).trim();
      if (line !== "") this.#count(line);
      from = end + 1;
    }
    this.#rest = bytes.subarray(from);
  }

  get records() {
    return this.#records.values();
  }

  #count(line) {
    let status = "malformed";
    try {
      status = this.apply(JSON.parse(line)).status;
    } catch (error) {
      if (error instanceof Refused) status = "refused";
      else if (!(error instanceof SyntaxError)) throw error;
    }
    this.results[status] = (this.results[status] ?? 0) + 1;
  }

  apply(value) {
    return this.applyNormal(normalizeEvent(value));
  }

  /** Applies an event that {@link normalizeEvent} gave. */
  applyNormal(event) {
    const { source, sourceEpoch, childId, sequence, state } = event;
    if (!this.#epochs.has(source)) this.#epochs.set(source, sourceEpoch);
    if (this.#epochs.get(source) !== sourceEpoch) return { status: "conflict", code: "epoch_conflict" };
    const key = JSON.stringify([source, childId]);
    const record = this.#records.get(key);
    const seen = this.#seen.get(key) ?? { sequences: new Set(), contents: new Map(), base: sequence };
    const identity = sequence ?? event.eventId;
    const content = canonical(event);
    if (seen.contents.has(identity)) {
      if (seen.contents.get(identity) === content) return { status: "deduplicated", record };
      return { status: "conflict", code: "identity_conflict", record };
    }
    if (seen.sequences.has(sequence)) return { status: "deduplicated", code: "identity_unchecked", record };
    if (record !== undefined && TERMINAL.has(record.state)) {
      remember(seen, event, identity, content);
      return this.#put(key, seen, "terminal_immutable", "late_evidence", {
        ...record,
        lateEvidence: ring(record.lateEvidence, event),
      });
    }
    if (record !== undefined && sequence < record.highestSequence) {
      remember(seen, event, identity, content);
      const late = TERMINAL.has(state) && { lateEvidence: ring(record.lateEvidence, event) };
      const gapDetected = record.gapDetected && hasHole(seen, record.highestSequence);
      return this.#put(key, seen, "out_of_order", "late_sequence", { ...record, ...late, gapDetected });
    }
    if (record === undefined) {
      const opens = state === "created" || (event.lineage.external && state && !TERMINAL.has(state));
      if (!opens) return { status: "conflict", code: "unknown_child" };
      remember(seen, event, identity, content);
      return this.#put(key, seen, "applied", undefined, first(event));
    }
    if (event.kind === "created") throw new Refused("$.kind", "the child is known");
    const gap = sequence > record.highestSequence + 1;
    if (state !== undefined && state !== record.state && !EDGES[record.state].includes(state)) {
      if (!gap && !record.gapDetected)
        throw new Refused("$.state", `no edge from ${record.state} to ${state}`);
    }
    remember(seen, event, identity, content);
    const next = { ...record, ...changes(record, event), gapDetected: record.gapDetected || gap };
    if (sequence !== undefined) next.highestSequence = sequence;
    return this.#put(key, seen, gap ? "provisional" : "applied", gap ? "sequence_gap" : undefined, next);
  }

  #put(key, seen, status, code, record) {
    this.#seen.set(key, seen);
    this.#records.set(key, record);
    return { status, code, record, diagnostics: code === undefined ? [] : [code] };
  }
}

function first(event) {
  const { source, childId, lineage, state, waitingReason, observedAt, activity, capabilities, sequence } =
    event;
  return {
    source,
    childId,
    lineage,
    state,
    waitingReason,
    stateSince: observedAt,
    startedAt: observedAt,
    freshAt: observedAt,
    activity,
    capabilities,
    gapDetected: false,
    highestSequence: sequence,
    lateEvidence: { count: 0, recent: [] },
    notes: { count: 0, recent: [] },
  };
}

/** What an event changes on the record of a live child. */
function changes(record, event) {
  if (event.kind === "reconciliation" || event.kind === "diagnostic")
    return { notes: ring(record.notes, event) };
  const { state, waitingReason, observedAt, activity } = event;
  return {
    ...(state !== undefined && { waitingReason }),
    ...(state !== undefined && state !== record.state && { state, stateSince: observedAt }),
    ...(activity !== undefined && { activity }),
    ...(Date.parse(observedAt) > Date.parse(record.freshAt) && { freshAt: observedAt }),
  };
}

function ring({ count, recent }, { eventId, kind, state, observedAt, activity }) {
  return {
    count: count + 1,
    recent: [...recent.slice(1 - RING), { eventId, kind, state, observedAt, activity }],
  };
}

function remember(seen, event, identity, content) {
  if (event.sequence !== undefined) seen.sequences.add(event.sequence);
  seen.contents.set(identity, content);
  if (seen.contents.size > CONTENTS) seen.contents.delete(seen.contents.keys().next().value);
}

function hasHole(seen, highest) {
  for (let sequence = seen.base; sequence < highest; sequence++) {
    if (!seen.sequences.has(sequence)) return true;
  }
  return false;
}

/** JSON text with sorted members: equal for equal content. */
export function canonical(value) {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const members = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`);
  return `{${members.join(",")}}`;
}
