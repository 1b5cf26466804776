// One journal of an observed session: its watcher, its records in their order, its faults.
import type { Lifetime } from "./cancellation.js";
import { type RecordMark, decoderOf } from "./decoder.js";
import { LifecycleError } from "./error.js";
import type { AgentLifecyclePublisher } from "./publisher.js";
import { type MarkedRecord, createReplayFilter } from "./replay.js";
import type {
  AgentJournalChunk,
  AgentJournalSource,
  AgentJsonlSession,
  AgentRecordContext,
} from "./session.js";

/** Records in a row that may fail before their journal is given up. */
const MOST_FAILURES = 100;
/** Milliseconds without a chunk after which records no longer wait for the rest of their block. */
const HELD_MS = 500;

/** Which journal of a session: the root, or a sub-agent's. */
export type AgentJournalRole = AgentRecordContext["journal"];

/** What went wrong, and with what the observation went on. */
export interface AgentObservationDiagnostic {
  /** What it is; docs/agent-events.md lists them. */
  readonly code: string;
  /** Absent where it is about discovery. */
  readonly journal?: AgentJournalRole;
  /** Where the record begins: bytes since the journal's start or its last `replace` or `truncate`. */
  readonly offset?: number;
  /** What was thrown; a `LifecycleError` with the same code where nothing was. */
  readonly error: unknown;
}

/** What the journals of one observation share. */
export interface Observation {
  readonly session: AgentJsonlSession;
  readonly publish: AgentLifecyclePublisher;
  readonly life: Lifetime;
  readonly maxRecordBytes: number | undefined;
  report(diagnostic: AgentObservationDiagnostic): void;
}

/**
 * Maps a journal until its watcher ends. `onChunk` is called after each chunk. Rejects where the observation was cancelled or the
 * journal cannot go on; its watcher is then disposed already.
 */
export async function observeJournal(
  observation: Observation,
  journal: AgentJournalRole,
  source: AgentJournalSource,
  onChunk: () => void,
): Promise<void> {
  const { life, report } = observation;
  life.check();
  const mapper = recordMapper(observation, journal);
  const watcher = await acquire(source, life, (error) => report({ code: "dispose_failed", journal, error }));
  let iterator: AsyncIterator<AgentJournalChunk> | undefined;
  // Where the iterator stands: a generator that is asked for more cannot be ended in the same breath.
  let stands: "idle" | "asked" | "over" = "idle";
  try {
    iterator = watcher[Symbol.asyncIterator]();
    for (;;) {
      life.check();
      stands = "asked";
      const coming = Promise.resolve(iterator.next());
      if (mapper.isHolding && (await life.until(isLate(coming)))) await mapper.flush();
      const step = await life.until(coming);
      stands = step.done === true ? "over" : "idle";
      if (step.done === true) break;
      life.check();
      await mapper.take(step.value);
      onChunk();
    }
    await mapper.end();
  } finally {
    try {
      await dispose(watcher);
      const ended = stands === "over" ? undefined : iterator?.return?.();
      if (stands === "asked") ended?.catch(() => undefined);
      else await ended;
    } catch (error) {
      report({ code: "dispose_failed", journal, error });
    }
  }
}

/** The watcher of a source. One that comes after the observation was cancelled is disposed. */
async function acquire(
  source: AgentJournalSource,
  life: Lifetime,
  onFailure: (error: unknown) => void,
): Promise<AsyncIterable<AgentJournalChunk>> {
  if (Symbol.asyncIterator in source) return source;
  const coming = Promise.resolve(source);
  try {
    return await life.until(coming);
  } catch (error) {
    coming.then(dispose, () => undefined).catch(onFailure);
    throw error;
  }
}

async function dispose(watcher: object): Promise<void> {
  await (watcher as { dispose?: () => unknown }).dispose?.();
}

/** Whether nothing came for a while. */
async function isLate(coming: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, HELD_MS, true);
  });
  const came = coming.then(
    () => false,
    () => false,
  );
  try {
    return await Promise.race([late, came]);
  } finally {
    clearTimeout(timer);
  }
}

/** Cuts chunks into records and maps those that are new. */
function recordMapper(observation: Observation, journal: AgentJournalRole) {
  const { session, publish, life, maxRecordBytes, report } = observation;
  const marks: RecordMark[] = [];
  const decoder = decoderOf({ maxRecordBytes }, marks);
  const filter = createReplayFilter();
  const reportFaults = faultReporter(decoder, (diagnostic) => report({ ...diagnostic, journal }));
  let failures = 0;
  let context = contextOf(0);

  function contextOf(generation: number): AgentRecordContext {
    return Object.freeze({ binding: session.binding, journal, publish, signal: life.signal, generation });
  }

  async function map({ value, mark: { offset } }: MarkedRecord): Promise<void> {
    life.check();
    if (context.generation !== filter.generation) context = contextOf(filter.generation);
    try {
      await session.mapRecord(value, context);
      failures = 0;
    } catch (error) {
      life.check();
      report({ code: "record_failed", journal, offset, error });
      failures += 1;
      if (failures < MOST_FAILURES) return;
      const message = `${MOST_FAILURES} records in a row could not be mapped; the last one begins at offset ${offset}`;
      throw new LifecycleError("journal_stopped", message, { cause: error });
    }
  }

  const flush = async () => {
    for (const record of filter.flush()) await map(record);
  };
  return {
    get isHolding() {
      return filter.isHolding;
    },
    flush,
    async take({ type, bytes }: AgentJournalChunk) {
      if (type !== "append" && type !== "replace" && type !== "truncate") {
        const message = "type must be append, replace or truncate";
        throw new LifecycleError("invalid_chunk", message, { path: "type" });
      }
      if (type !== "append") filter.rewind();
      const values = decoder.push(bytes, type !== "append");
      reportFaults(type !== "append");
      // The decoder fills it anew at the next chunk, which is not read before all of these are mapped.
      for (const [at, value] of values.entries()) {
        for (const record of filter.take({ value, mark: marks[at] as RecordMark })) await map(record);
      }
    },
    async end() {
      await flush();
      decoder.end();
      reportFaults(false);
    },
  };
}

/** Reports the lines that the decoder dropped since the last time. */
function faultReporter(
  decoder: ReturnType<typeof decoderOf>,
  report: (diagnostic: AgentObservationDiagnostic) => void,
) {
  let dropped = 0;
  let last = -1;
  return (isNew: boolean) => {
    if (isNew) {
      dropped = 0;
      last = -1;
    }
    const stats = decoder.stats();
    const recent = stats.lastDiagnostics.filter(({ offset }) => offset > last);
    if (recent.length === 0) return;
    const total = Object.values(stats.dropped).reduce((sum, count) => sum + count, stats.nulPadded);
    const unsaid = total - dropped - recent.filter(({ code }) => code !== "truncated").length;
    if (unsaid > 0) {
      const message = `${unsaid} more lines of this chunk have faults, before the ones that are named`;
      report({ code: "more_faults", error: new LifecycleError("more_faults", message) });
    }
    for (const { code, message, offset } of recent) {
      report({ code, offset, error: new LifecycleError(code, message) });
      last = offset;
    }
    dropped = total;
  };
}
