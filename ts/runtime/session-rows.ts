// A runtime session as rows: its events go as agent events into a publisher's journal, where status, watch and monitors look.
import { openPublisher } from "../publisher-file.js";
import { bridgeSemanticEvents } from "./agent-events.js";
import type { AgentRuntimeSemanticEvent } from "./semantic-event.js";

export interface SessionRows {
  push(event: AgentRuntimeSemanticEvent): void;
  /** Settles when everything is written, or known to be lost. */
  close(): Promise<void>;
}

export interface SessionRowsOptions {
  readonly adapterId: string;
  readonly workspace: string;
  readonly title: string | undefined;
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
  const bridge = bridgeSemanticEvents({ ...(title !== undefined && { title }) });
  return {
    push(event) {
      for (const said of bridge.push(event)) publisher.publish(said);
    },
    close: () => publisher.close(),
  };
}
