// The driver of a session that `jsonlSession` declared: its root journal, and those of its sub-agents beside it.
import { numberOption, optionsArgument } from "./arguments.js";
import { guarded, thrownText, warnOf } from "./callbacks.js";
import { type Lifetime, lifetimeOf } from "./cancellation.js";
import { LifecycleError } from "./error.js";
import {
  type AgentJournalRole,
  type AgentObservationDiagnostic,
  type Observation,
  observeJournal,
} from "./observed-journal.js";
import {
  type AgentLifecyclePublisher,
  type AgentLifecycleSink,
  createAgentLifecyclePublisher,
} from "./publisher.js";
import {
  type AgentChildSource,
  type AgentJsonlSession,
  type CancellationSignal,
  childSourceFault,
} from "./session.js";

/** Journals of sub-agents that are read at a time. */
const MOST_CHILDREN = 64;
/** Ids of sub-agents that are remembered. */
const MOST_CHILD_IDS = 65_536;
/** Milliseconds that discovery gets after everything else has ended. */
const DISCOVERY_MS = 1000;

export interface ObserveJsonlSessionOptions {
  /** What the mapper publishes with: a publisher, or a sink that one is made for. */
  readonly publish: AgentLifecyclePublisher | AgentLifecycleSink;
  /** Ends the observation. One that cannot call (no `AbortSignal`) is asked ten times a second. */
  readonly signal?: CancellationSignal | undefined;
  /** Longer records are dropped and reported; 262,144 by default, clamped to 1 byte..64 MiB. */
  readonly maxRecordBytes?: number | undefined;
  /** Is told what went wrong. Without it the first fault of each code is a process warning. */
  readonly onDiagnostic?: ((diagnostic: AgentObservationDiagnostic) => void) | undefined;
}

/**
 * Reads the journals of a session and calls its `mapRecord` once for each record, in order within a journal, and awaits it.
 * Resolves when all journals have ended, and discovery with them.
 *
 * Rejects with the signal's reason on cancellation; with what stopped the root journal (`journal_stopped` after 100 failures in a
 * row, or what its watcher threw), after the others have ended. A sub-agent's journal that stops is reported. In each case every
 * watcher is disposed by then.
 *
 * @throws {LifecycleError} `invalid_argument`, `invalid_option`, as a rejection.
 */
export async function observeJsonlSession(
  session: AgentJsonlSession,
  options: ObserveJsonlSessionOptions,
): Promise<void> {
  if (typeof session?.mapRecord !== "function" || session.source === undefined) {
    throw new LifecycleError("invalid_argument", "session must be what jsonlSession gives", {
      path: "session",
    });
  }
  const { publish: given, signal, maxRecordBytes, onDiagnostic } = optionsArgument(options, "options");
  const publish = typeof given === "function" ? createAgentLifecyclePublisher(given) : given;
  if (typeof publish?.publish !== "function") {
    throw new LifecycleError("invalid_option", "publish must be a publisher or a sink", { path: "publish" });
  }
  numberOption(maxRecordBytes, "maxRecordBytes");
  const life = lifetimeOf(signal);
  const report = reporterTo(onDiagnostic);
  const observation: Observation = { session, publish, life, maxRecordBytes, report };
  try {
    life.check();
    const { root, begun } = observeRoot(observation);
    const children = begun.then((hasBegun) => (hasBegun ? observeChildren(observation, root) : undefined));
    const [ofRoot, ofChildren] = await Promise.allSettled([root, children]);
    life.check();
    for (const outcome of [ofRoot, ofChildren]) if (outcome.status === "rejected") throw outcome.reason;
  } finally {
    life.end();
  }
}

/** The root journal, and whether its first chunk was mapped, or it ended well without one. */
function observeRoot(observation: Observation): { root: Promise<void>; begun: Promise<boolean> } {
  const { session, life, report } = observation;
  const journal: AgentJournalRole = Object.freeze({ role: "root" });
  let start: ((hasBegun: boolean) => void) | undefined;
  const started = new Promise<boolean>((resolve) => {
    start = resolve;
  });
  const root = observeJournal(observation, journal, session.source, () => start?.(true));
  const ended = root.then(
    () => true,
    (error) => {
      if (!isCancelled(life)) report({ code: "journal_stopped", journal, error });
      return false;
    },
  );
  return { root, begun: Promise.race([started, ended]) };
}

/** The declared children, then the discovered ones. Rejects on cancellation only. */
async function observeChildren(observation: Observation, root: Promise<void>): Promise<void> {
  const { session, life, report } = observation;
  const seen = new Set<string>();
  const live = new Set<Promise<void>>();
  const start = async (child: AgentChildSource) => {
    if (seen.has(child.childId)) return;
    if (seen.size >= MOST_CHILD_IDS) {
      const message = `${MOST_CHILD_IDS} sub-agents are known already`;
      return report({ code: "child_refused", error: new LifecycleError("child_refused", message) });
    }
    seen.add(child.childId);
    while (live.size >= MOST_CHILDREN) await life.until(Promise.race(live));
    const run = observeChild(observation, child).finally(() => live.delete(run));
    live.add(run);
  };
  try {
    for (const child of session.childSources ?? []) await start(child);
    await discover(observation, start, () => Promise.allSettled([root, ...live]));
  } finally {
    await Promise.allSettled(live);
  }
}

/** Resolves also where the journal stopped: that was reported. */
async function observeChild(observation: Observation, { childId, source }: AgentChildSource): Promise<void> {
  const journal: AgentJournalRole = Object.freeze({ role: "child", childId });
  try {
    await observeJournal(observation, journal, source, () => undefined);
  } catch (error) {
    if (!isCancelled(observation.life)) observation.report({ code: "journal_stopped", journal, error });
  }
}

/** Starts each child that is discovered. `others` settles when everything that runs now has ended. */
async function discover(
  { session: { childSourceDiscovery }, life, report }: Observation,
  start: (child: AgentChildSource) => Promise<void>,
  others: () => Promise<unknown>,
): Promise<void> {
  if (childSourceDiscovery === undefined) return;
  let iterator: AsyncIterator<AgentChildSource> | undefined;
  let isOver = false;
  try {
    life.check();
    const discovery = await life.until(Promise.resolve(childSourceDiscovery));
    iterator = discovery[Symbol.asyncIterator]();
    for (;;) {
      life.check();
      const step = await life.until(unlessQuiet(Promise.resolve(iterator.next()), others));
      if (step === undefined) {
        const message = "discovery was closed: all journals had ended, and it had found nothing since";
        return report({ code: "discovery_closed", error: new LifecycleError("discovery_closed", message) });
      }
      isOver = step.done === true;
      if (step.done === true) return;
      const fault = childSourceFault(step.value);
      if (fault === undefined) await start(step.value);
      else report({ code: "child_refused", error: new LifecycleError("child_refused", fault) });
    }
  } catch (error) {
    life.check();
    isOver = true;
    report({ code: "discovery_failed", error });
  } finally {
    if (!isOver) iterator?.return?.().catch(() => undefined);
  }
}

/** What comes, or nothing where everything else has ended and nothing came for a while. */
async function unlessQuiet<T>(coming: Promise<T>, others: () => Promise<unknown>): Promise<T | undefined> {
  let hasCome = false;
  let timer: NodeJS.Timeout | undefined;
  const quiet = others().then(
    () =>
      new Promise<undefined>((resolve) => {
        if (!hasCome) timer = setTimeout(resolve, DISCOVERY_MS, undefined);
      }),
  );
  try {
    return await Promise.race([coming, quiet]);
  } finally {
    hasCome = true;
    clearTimeout(timer);
  }
}

function isCancelled(life: Lifetime): boolean {
  try {
    life.check();
    return false;
  } catch {
    return true;
  }
}

/** Tells the host. What the host's function throws becomes a process warning: it must not cost a record. */
function reporterTo(onDiagnostic: ((diagnostic: AgentObservationDiagnostic) => void) | undefined) {
  const warned = new Set<string>();
  const warn = ({ code, error }: AgentObservationDiagnostic) => {
    if (warned.has(code)) return;
    warned.add(code);
    const text = error instanceof Error ? error.message : thrownText(error);
    process.emitWarning(`observeJsonlSession: ${code}: ${text}; pass onDiagnostic to be told all`);
  };
  return (diagnostic: AgentObservationDiagnostic) => {
    guarded(() => (onDiagnostic ?? warn)(diagnostic), warnOf);
  };
}
