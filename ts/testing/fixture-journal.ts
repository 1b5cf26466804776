// For tests of record mappers: a watcher that yields what it is given, and the host's side of a session.
import type { AgentLifecycleEvent } from "../agent-event.js";
import { type AgentLifecyclePublisher, createAgentLifecyclePublisher } from "../publisher.js";
import {
  type AgentBoundSession,
  type AgentFileWatcher,
  type AgentJournalChunk,
  type AgentSessionBindingRequest,
  bindAgentSession,
} from "../session.js";

/** A watcher whose file is the test. */
export interface FixtureWatcher extends AgentFileWatcher {
  /** Yields more; an error is thrown where it would be yielded. */
  push(...chunks: (AgentJournalChunk | Error)[]): void;
  /** Ends after what was pushed. */
  end(): this;
  /** How often it was disposed of. */
  readonly disposals: number;
}

/** A chunk of JSON lines, one for each record. */
export const jsonlChunk = (type: AgentJournalChunk["type"], ...records: unknown[]): AgentJournalChunk => ({
  type,
  bytes: Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join("")),
});

/** A watcher that yields these chunks, and those that are pushed. It ends by `end`, or when it is disposed of. */
export function fixtureWatcher(...chunks: (AgentJournalChunk | Error)[]): FixtureWatcher {
  const queue = [...chunks];
  let isOver = false;
  let disposals = 0;
  let wake: (() => void) | undefined;
  return {
    get disposals() {
      return disposals;
    },
    push(...more) {
      queue.push(...more);
      wake?.();
    },
    end() {
      isOver = true;
      wake?.();
      return this;
    },
    dispose() {
      disposals += 1;
      queue.length = 0;
      isOver = true;
      wake?.();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const next = queue.shift();
        if (next instanceof Error) throw next;
        if (next !== undefined) {
          yield next;
          continue;
        }
        if (isOver) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/** What the terminal of a host has to do with a provider: it binds sessions and takes their events. */
export interface FixtureTerminal {
  /** Binds a session; what is left out is made up. @throws {LifecycleError} `invalid_binding`. */
  bindSession(request?: Partial<AgentSessionBindingRequest>): AgentBoundSession;
  /** For `observeJsonlSession`: it checks each event, and keeps it. */
  readonly publish: AgentLifecyclePublisher;
  /** What was published, in order. */
  readonly events: readonly AgentLifecycleEvent[];
}

/** A terminal that keeps what it is told. */
export function fixtureTerminal(): FixtureTerminal {
  const events: AgentLifecycleEvent[] = [];
  return {
    bindSession: (request) =>
      bindAgentSession({
        providerSessionId: "fixture-session",
        mappingVersion: "1",
        evidence: { file: { path: "fixture.jsonl" } },
        ...request,
      }),
    publish: createAgentLifecyclePublisher((event) => void events.push(event)),
    events,
  };
}
