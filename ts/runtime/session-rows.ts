// A runtime session as rows: its events go as agent events into a publisher's journal, where status, watch and monitors look.
import { openPublisher } from "../publisher-file.js";
import { bridgeSemanticEvents } from "./agent-events.js";
import type { AgentRuntimeSemanticEvent } from "./semantic-event.js";

export interface SessionRows {
  push(event: AgentRuntimeSemanticEvent): void;
  /** Settles when everything is written, or known to be lost. */
  close(): Promise<void>;
}

/** Events that wait until the session is open. */
const MOST_EARLY = 1024;

/** Rows that begin when the session is open: one that was refused was never there. */
export function rowsFrom(open: () => SessionRows): SessionRows & { begin(): void } {
  const early: AgentRuntimeSemanticEvent[] = [];
  let rows: SessionRows | undefined;
  return {
    push(event) {
      if (rows !== undefined) rows.push(event);
      else if (early.length < MOST_EARLY) early.push(event);
    },
    begin() {
      rows = open();
      for (const event of early.splice(0)) rows.push(event);
    },
    close: () => rows?.close() ?? Promise.resolve(),
  };
}

export interface SessionRowsOptions {
  readonly adapterId: string;
  readonly workspace: string;
  readonly title: string;
  /** Something could not be published; the session goes on. */
  readonly failed: (error: Error) => void;
}

/** Whatever lives says so this often, also in a long tool call. */
const HEARTBEAT_MS = 30_000;

export function sessionRows({ adapterId, workspace, title, failed }: SessionRowsOptions): SessionRows {
  const publisher = openPublisher({
    agent: adapterId,
    cwd: workspace,
    heartbeatMs: HEARTBEAT_MS,
    onError: failed,
  });
  const bridge = bridgeSemanticEvents({ title });
  return {
    push(event) {
      for (const said of bridge.push(event)) publisher.publish(said);
    },
    close: () => publisher.close(),
  };
}
