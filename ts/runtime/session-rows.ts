import type { AgentRuntimeSemanticEvent } from "./semantic-event.js";
export function sessionRows(_options: { adapterId: string; workspace: string }): {
  push(event: AgentRuntimeSemanticEvent): void;
  close(): Promise<void>;
} {
  throw new Error("not yet");
}
