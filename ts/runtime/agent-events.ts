// Semantic events to agent events, so that a runtime session is a row like any other. docs/turns.md has the table.
import type { AgentLifecycleEvent, AgentModel } from "../agent-event.js";
import { optionalText, optionsArgument, set } from "../arguments.js";
import type { AgentRuntimeSemanticEvent } from "./semantic-event.js";

export interface SemanticBridgeOptions {
  /** What the session is called. */
  title?: string;
  /** What it runs on. */
  model?: AgentModel;
}

export interface SemanticBridge {
  /** The agent events that a semantic event makes, in order; give them to `bridgeAgentEvents`. Each carries its time. */
  push(event: AgentRuntimeSemanticEvent): AgentLifecycleEvent[];
}

/** Events that change nothing in a row show at most so often that the session works. */
const SIGN_OF_LIFE_MS = 15_000;

/**
 * A bridge for the events of one {@link TurnSequencer}, from its first on.
 *
 * @throws {LifecycleError} `invalid_argument`, `invalid_option`.
 */
export function bridgeSemanticEvents(options?: SemanticBridgeOptions): SemanticBridge {
  const { title, model } = optionsArgument(options, "options", ["title", "model"]);
  const session = { ...set("title", optionalText(title, "title")), ...set("model", model) };
  const state: State = { hasStarted: false, hasEnded: false, hadTurn: false, told: 0, waits: new Map() };
  return {
    push(event) {
      const { at } = event;
      const said = saidOf(event, state);
      const opening: Said[] = [];
      if (!state.hasStarted) {
        state.hasStarted = true;
        opening.push({ kind: "session.started", ...session });
      }
      const now = Date.parse(at);
      if (said.length === 0 && state.hasStarted && !state.hasEnded && now - state.told >= SIGN_OF_LIFE_MS) {
        said.push({ kind: "agent.metadata" });
      }
      if (said.length > 0) state.told = now;
      return [...opening, ...said].map((one) => ({ ...one, occurredAt: at }));
    },
  };
}

type Said = AgentLifecycleEvent;

interface State {
  hasStarted: boolean;
  hasEnded: boolean;
  hadTurn: boolean;
  /** When something was said last, in milliseconds. */
  told: number;
  /** The waits that belong to no turn: the bridge ends those with each turn, and they are not over. */
  waits: Map<string, Said>;
}

function saidOf(event: AgentRuntimeSemanticEvent, state: State): Said[] {
  switch (event.kind) {
    case "adapter_lifecycle":
      return lifecycle(event, state);
    case "turn_started":
      state.hadTurn = true;
      state.hasEnded = false;
      return [{ kind: "turn.started", turnId: event.turnId }, ...state.waits.values()];
    case "turn_completed": {
      const outcome = event.status === "completed" ? "success" : "cancelled";
      return [{ kind: "agent.done", outcome }, ...state.waits.values()];
    }
    case "turn_failed":
      return [{ kind: "agent.done", outcome: "error", ...summary(event.message) }, ...state.waits.values()];
    case "tool_execution_started":
      return [{ kind: "tool.started", toolId: event.toolCallId, name: fit(event.toolName, 96) }];
    case "tool_execution_finished": {
      const outcome = event.isError ? "error" : "success";
      return [{ kind: "tool.finished", toolId: event.toolCallId, outcome }];
    }
    case "approval_requested":
    case "user_input_requested": {
      const reason = event.kind === "approval_requested" ? "permission" : "question";
      const { requestId: waitId } = event.request;
      const wait: Said = { kind: "wait.started", waitId, state: "waiting", reason };
      if (event.turnId === undefined) state.waits.set(waitId, wait);
      return [wait];
    }
    case "approval_resolved":
    case "user_input_resolved":
      state.waits.delete(event.requestId);
      return [{ kind: "wait.finished", waitId: event.requestId }];
    default:
      return [];
  }
}

function lifecycle(
  event: Extract<AgentRuntimeSemanticEvent, { kind: "adapter_lifecycle" }>,
  state: State,
): Said[] {
  const { exitCode, signal, message } = event;
  switch (event.state) {
    case "starting":
      return [];
    case "ready":
      // It waits for its first prompt; after a turn the bridge says so itself.
      if (state.hadTurn || state.hasEnded) return [];
      return [{ kind: "wait.started", waitId: "prompt", state: "waiting", reason: "prompt" }];
    case "restarting":
      return [];
    case "stopped":
    case "crashed": {
      if (state.hasEnded) return [];
      state.hasEnded = true;
      state.waits.clear();
      if (event.state === "stopped" && exitCode === undefined && signal === undefined) {
        return [{ kind: "session.stopped", ...set("reason", message ? fit(message, 1024) : undefined) }];
      }
      return [{ kind: "agent.exited", ...exit(exitCode, signal) }];
    }
  }
}

/** A process's end as agent events say it: a code that is beyond theirs is given as text. */
function exit(
  exitCode: number | undefined,
  signal: string | undefined,
): { exitCode?: number; signal?: string } {
  const isCode = exitCode !== undefined && Math.abs(exitCode) <= 255;
  const text = signal ?? (exitCode === undefined || isCode ? undefined : `exit code ${exitCode}`);
  return {
    ...set("exitCode", isCode ? exitCode : undefined),
    ...set("signal", text ? fit(text, 64) : undefined),
  };
}

const summary = (message: string) => set("summary", message === "" ? undefined : fit(message, 4096));

/** Cuts display text, never in the middle of a character. */
function fit(text: string, units: number): string {
  const cut = text.slice(0, units);
  return cut.length < text.length ? cut.replace(/[\uD800-\uDBFF]$/, "") : text;
}
