// The twelve agent events: their types, and the check whose rules are in crates/core/src/agent/validate.rs.
import { faithfulJson } from "./agent-json.js";
import type { WaitingReason } from "./contract.js";
import { LifecycleError } from "./error.js";
import { callNative } from "./native.js";

/** How a turn, a tool or a sub-agent ended. */
export type AgentOutcome = "success" | "error" | "cancelled";

/** How a wait holds its agent: it waits for somebody, or it is held by an error or a limit. */
export type AgentWaitState = "waiting" | "blocked";

/** The model that an agent runs on. */
export interface AgentModel {
  /** The provider's id of the model: 1 to 256 UTF-16 code units. */
  id: string;
  /** 1 to 96 UTF-16 code units. */
  displayName?: string | undefined;
  /** How hard it thinks: 1 to 64 UTF-16 code units. */
  reasoningEffort?: string | undefined;
  /** Tokens that fit its context: an integer from 1 to 16,777,216. */
  contextWindowTokens?: number | undefined;
}

interface Timed {
  /** When it happened: an ISO date-time with seconds and `Z` or an offset, of at most 64 characters. Without it the host orders. */
  occurredAt?: string | undefined;
}

interface OfAgent {
  /** Whom it is about, 1 to 256 UTF-16 code units; without it, the session's own agent. */
  agentId?: string | undefined;
}

interface Described {
  /** 1 to 512 UTF-16 code units. */
  title?: string | undefined;
  /** 1 to 4,096 UTF-16 code units. */
  promptText?: string | undefined;
  model?: AgentModel | undefined;
}

interface Ended {
  outcome: AgentOutcome;
  /** 1 to 4,096 UTF-16 code units. */
  summary?: string | undefined;
}

/** The session exists. */
export interface SessionStartedEvent extends Timed, Described {
  kind: "session.started";
}

/** A title, a prompt or a model became known or changed. */
export interface AgentMetadataEvent extends Timed, OfAgent, Described {
  kind: "agent.metadata";
}

/** A turn began. */
export interface TurnStartedEvent extends Timed, OfAgent {
  kind: "turn.started";
  /** 1 to 256 UTF-16 code units. */
  turnId: string;
  /** 1 to 4,096 UTF-16 code units. */
  promptText?: string | undefined;
}

/** A tool call began. */
export interface ToolStartedEvent extends Timed, OfAgent {
  kind: "tool.started";
  /** The call's id: 1 to 256 UTF-16 code units. */
  toolId: string;
  /** The tool's name: 1 to 96 UTF-16 code units. */
  name: string;
  /** 1 to 1,024 UTF-16 code units. */
  description?: string | undefined;
}

/** A tool call ended; without an outcome it is not known how. */
export interface ToolFinishedEvent extends Timed, OfAgent {
  kind: "tool.finished";
  /** The call's id: 1 to 256 UTF-16 code units. */
  toolId: string;
  outcome?: AgentOutcome | undefined;
}

/** The agent waits for something. */
export interface WaitStartedEvent extends Timed, OfAgent {
  kind: "wait.started";
  /** 1 to 256 UTF-16 code units. */
  waitId: string;
  state: AgentWaitState;
  /**
   * One of these words where one fits: it becomes the waiting reason of the row. Any other text, of 1 to 1,024 UTF-16 code units, is
   * `other` and is shown beside it.
   */
  reason?: WaitingReason | (string & {}) | undefined;
}

/** The wait ended. */
export interface WaitFinishedEvent extends Timed, OfAgent {
  kind: "wait.finished";
  /** 1 to 256 UTF-16 code units. */
  waitId: string;
}

/** A turn ended. The agent lives on. */
export interface AgentDoneEvent extends Timed, OfAgent, Ended {
  kind: "agent.done";
}

/** The agent's process ended. */
export interface AgentExitedEvent extends Timed, OfAgent {
  kind: "agent.exited";
  /** An integer from -255 to 255. A larger code of Windows is given as text, in `signal`. */
  exitCode?: number | undefined;
  /** 1 to 64 UTF-16 code units. */
  signal?: string | undefined;
}

/** The session was closed. */
export interface SessionStoppedEvent extends Timed {
  kind: "session.stopped";
  /** 1 to 1,024 UTF-16 code units. */
  reason?: string | undefined;
}

/** A sub-agent was launched. */
export interface SubagentStartedEvent extends Timed, Described {
  kind: "subagent.started";
  /** 1 to 256 UTF-16 code units. */
  subagentId: string;
  /** Who launched it, 1 to 256 UTF-16 code units; without it, the session's own agent. */
  parentAgentId?: string | undefined;
}

/** A sub-agent ended. */
export interface SubagentDoneEvent extends Timed, Ended {
  kind: "subagent.done";
  /** 1 to 256 UTF-16 code units. */
  subagentId: string;
}

/** What a provider says about an agent. `kind` tells which of the twelve it is. */
export type AgentLifecycleEvent =
  | SessionStartedEvent
  | AgentMetadataEvent
  | TurnStartedEvent
  | ToolStartedEvent
  | ToolFinishedEvent
  | WaitStartedEvent
  | WaitFinishedEvent
  | AgentDoneEvent
  | AgentExitedEvent
  | SessionStoppedEvent
  | SubagentStartedEvent
  | SubagentDoneEvent;

/** The twelve kinds. */
export type AgentLifecycleEventKind = AgentLifecycleEvent["kind"];

/** Which rule of `docs/agent-events.md` is broken. */
export type AgentEventIssueCode =
  | "invalid_type"
  | "invalid_event"
  | "unknown_field"
  | "invalid_string"
  | "invalid_number"
  | "invalid_outcome"
  | "invalid_state"
  | "invalid_exit_code"
  | "invalid_timestamp";

/** One broken rule. */
export interface AgentEventIssue {
  /** `$`, `$.kind`, `$.model.id`. */
  path: string;
  code: AgentEventIssueCode;
  /** What must be, to be read after the path. It never repeats a value. */
  message: string;
}

/** What `validateAgentLifecycleEvent` found. */
export type AgentEventValidation =
  { ok: true; value: AgentLifecycleEvent } | { ok: false; issues: AgentEventIssue[] };

/** A display text that is longer than its limit. */
export interface AgentTextCut {
  /** The member of the event that holds the text's object, where that is not the event. */
  in?: string;
  member: string;
  /** UTF-16 code units to keep. */
  units: number;
}

/**
 * Whether `value` is an agent event: all broken rules in the order of the table, or the same object.
 *
 * It is judged by its own enumerable members, each read once. A known optional member whose value is undefined is absent. What
 * cannot be read (a getter or proxy that throws) is judged as a value of the wrong type.
 */
export function validateAgentLifecycleEvent(value: unknown): AgentEventValidation {
  const { issues } = checkAgentEvent(value, false);
  return issues.length === 0 ? { ok: true, value: value as AgentLifecycleEvent } : { ok: false, issues };
}

/**
 * The same object, as an agent event.
 *
 * @throws {LifecycleError} with all `issues`; its message names each of them, its code and path are those of the first.
 */
export function assertAgentLifecycleEvent(value: unknown): AgentLifecycleEvent {
  refuseIssues(checkAgentEvent(value, false).issues);
  return value as AgentLifecycleEvent;
}

/** Throws a `LifecycleError` where there are issues. */
export function refuseIssues(issues: readonly AgentEventIssue[]): void {
  const [first] = issues;
  if (first === undefined) return;
  const message = issues.map((issue) => `${issue.path}: ${issue.message}`).join("; ");
  throw new LifecycleError(first.code, message, { path: first.path, issues });
}

interface Verdict {
  readonly issues: AgentEventIssue[];
  readonly cuts: readonly AgentTextCut[];
}

/** What is wrong with `value`. With `fit`, a display text that is too long is a cut and no issue. */
export function checkAgentEvent(value: unknown, fit: boolean): Verdict {
  const text = faithfulJson(value);
  const faults = callNative((native) => native.checkAgentEvent(text, fit));
  return faults === null ? { issues: [], cuts: [] } : (JSON.parse(faults) as Verdict);
}
