// What a runtime session says of itself: semantic events, in an order that is always legal. docs/turns.md has the order.
import type { Json } from "../contract.js";

/** How a request ended: answered, withdrawn (or its turn or connection ended), too late, or given up with its turn. Exactly one of them. */
export type RequestOutcome = "responded" | "cleared" | "expired" | "aborted";

/** One of the answers that an approval takes. */
export interface ApprovalDecision {
  readonly id: string;
  readonly label: string;
}

/** The harness asks for leave. Everything in it is redacted. */
export interface ApprovalRequest {
  /** This package's own; stable for the life of the request. */
  readonly requestId: string;
  /** Absent for one that belongs to no turn. */
  readonly turnId?: string;
  /** What it is about, in the adapter's words; `unknown` where it does not know the kind of request. */
  readonly kind: "command" | "file_change" | "tool" | "permission" | "unknown" | (string & {});
  readonly title?: string;
  /** At most 4,000 UTF-16 code units. */
  readonly detail?: string;
  readonly arguments?: Json;
  /** Empty where none is known that the harness takes: then it can only be cleared, expired or aborted. */
  readonly decisions: readonly ApprovalDecision[];
}

export interface UserInputOption {
  readonly id: string;
  readonly label: string;
  readonly description?: string;
}

export interface UserInputQuestion {
  readonly id: string;
  readonly header?: string;
  readonly question: string;
  /** At most 20. */
  readonly options?: readonly UserInputOption[];
  /** Whether several options may be chosen; false by default. */
  readonly multiSelect?: boolean;
  /** Whether text may be given instead of, or beside, options. True by default where there are no options, else false. */
  readonly allowFreeform?: boolean;
  /** Whether the answer is a secret; false by default. */
  readonly secret?: boolean;
}

/** The harness asks questions. Everything in it is redacted. */
export interface UserInputRequest {
  /** This package's own; stable for the life of the request. */
  readonly requestId: string;
  /** Absent for one that belongs to no turn. */
  readonly turnId?: string;
  /** 1 to 10. */
  readonly questions: readonly UserInputQuestion[];
}

/** Tokens of a turn, as far as the harness says. */
export interface RuntimeUsage {
  readonly input?: number;
  /** Of `input`, those that were read from a cache. */
  readonly cached?: number;
  readonly output?: number;
  /** Of `output`, those of reasoning. */
  readonly reasoning?: number;
  /** Tokens in the context now. */
  readonly contextUsed?: number;
  /** Tokens that fit the context. */
  readonly contextWindow?: number;
}

/** Why a turn failed: the harness said so, too much came before it was accepted, its process ended, or a deadline passed. */
export type TurnFailure = "failed" | "overflow" | "exit" | "deadline";

/** What every event has. */
interface Said {
  readonly productSessionId: string;
  /** The live generation of the session. */
  readonly generation: number;
  /** 1 for the first event of a generation, and one more for each further event: nothing is missing where it rises by 1. */
  readonly sequence: number;
  /** The time of the input that made it: RFC 3339 UTC. */
  readonly at: string;
}

interface OfTurn extends Said {
  readonly turnId: string;
}

interface MaybeOfTurn extends Said {
  /** Absent for what belongs to no turn. */
  readonly turnId?: string;
}

interface Scoped extends OfTurn {
  /** `scope-<n>` for what a sub-agent of the turn said, by first sight in the turn; absent for the agent itself. */
  readonly scope?: string;
}

interface OfText extends Scoped {
  /** The place of this piece of text in its turn, from 0 by first sight. Messages and reasoning share one count. */
  readonly contentIndex: number;
}

interface OfTool extends Scoped {
  /** This package's own; the same in the call, start, updates and finish, and used once in a generation. */
  readonly toolCallId: string;
  /** `unknown` where the harness did not say. */
  readonly toolName: string;
}

/** The harness accepted a prompt: the turn is on. */
export interface TurnStartedSemanticEvent extends OfTurn {
  readonly kind: "turn_started";
}

/** The turn ended, and did not fail. */
export interface TurnCompletedSemanticEvent extends OfTurn {
  readonly kind: "turn_completed";
  readonly status: "completed" | "interrupted";
  /** False where the turn was to be interrupted and nobody said that it was: the harness may still work at it. */
  readonly confirmed: boolean;
}

export interface TurnFailedSemanticEvent extends OfTurn {
  readonly kind: "turn_failed";
  /** Redacted; at most 4,000 UTF-16 code units. */
  readonly message: string;
  readonly details: {
    readonly code: TurnFailure;
    readonly exitCode?: number;
    readonly signal?: string;
    /** What the adapter added; redacted. */
    readonly adapter?: Json;
  };
}

export interface AdapterLifecycleSemanticEvent extends Said {
  readonly kind: "adapter_lifecycle";
  readonly state: "starting" | "ready" | "restarting" | "stopped" | "crashed";
  readonly exitCode?: number;
  readonly signal?: string;
  readonly message?: string;
}

export interface AssistantDeltaSemanticEvent extends OfText {
  readonly kind: "assistant_delta";
  /** The next text of the message that can be shown. What could still become a secret comes with a later one. */
  readonly text: string;
}

export interface AssistantMessageSemanticEvent extends OfText {
  readonly kind: "assistant_message";
  /** The whole message. It is what counts where it is not the deltas joined: the harness revised it. */
  readonly text: string;
  /** The text is cut: the turn ended in its middle, or it is longer than what is kept. */
  readonly truncated?: true;
}

export interface ReasoningStartedSemanticEvent extends OfText {
  readonly kind: "reasoning_started";
}

export interface ReasoningDeltaSemanticEvent extends OfText {
  readonly kind: "reasoning_delta";
  readonly text: string;
}

export interface ReasoningFinishedSemanticEvent extends OfText {
  readonly kind: "reasoning_finished";
}

/** The model called a tool. Said again while its arguments grow (`argsComplete: false`), and at most once with all of them. */
export interface ToolCallSemanticEvent extends OfTool {
  readonly kind: "tool_call";
  /** Redacted. Absent where nobody said them, or (`truncated`) they are larger than 64 KiB as JSON. */
  readonly args?: Json;
  readonly argsComplete: boolean;
  readonly truncated?: true;
  /** Nobody said it: it is here because something after it was said. */
  readonly inferred?: true;
}

export interface ToolExecutionStartedSemanticEvent extends OfTool {
  readonly kind: "tool_execution_started";
  /** Nobody said it: it is here because something after it was said. */
  readonly inferred?: true;
}

export interface ToolExecutionUpdatedSemanticEvent extends OfTool {
  readonly kind: "tool_execution_updated";
  /** The next text of the tool's output where it comes as text; else what the adapter gave. Redacted. */
  readonly partialResult?: Json;
  readonly truncated?: true;
}

export interface ToolExecutionFinishedSemanticEvent extends OfTool {
  readonly kind: "tool_execution_finished";
  /** Redacted. Absent where nobody said it, or (`truncated`) it is larger than 64 KiB as JSON. */
  readonly result?: Json;
  readonly isError: boolean;
  readonly truncated?: true;
  /** Nobody said it: the turn ended while the tool was running. `isError` is then true. */
  readonly inferred?: true;
}

/** Said once for a turn, after everything else of it and before its end; the last that the harness said. */
export interface UsageSemanticEvent extends OfTurn {
  readonly kind: "usage";
  readonly usage: RuntimeUsage;
}

export interface PlanUpdatedSemanticEvent extends Scoped {
  readonly kind: "plan_updated";
  /** As the adapter gives it; redacted. */
  readonly plan?: Json;
  readonly truncated?: true;
}

export interface DiffUpdatedSemanticEvent extends Scoped {
  readonly kind: "diff_updated";
  /** As the adapter gives it; redacted. */
  readonly diff?: Json;
  readonly truncated?: true;
}

export interface CompactionStartSemanticEvent extends Scoped {
  readonly kind: "compaction_start";
  /** Nobody said it: it is here because its end was said. */
  readonly inferred?: true;
}

export interface CompactionEndSemanticEvent extends Scoped {
  readonly kind: "compaction_end";
  /** Nobody said it: the turn ended. */
  readonly inferred?: true;
}

export interface ApprovalRequestedSemanticEvent extends MaybeOfTurn {
  readonly kind: "approval_requested";
  readonly request: ApprovalRequest;
}

export interface ApprovalResolvedSemanticEvent extends MaybeOfTurn {
  readonly kind: "approval_resolved";
  readonly requestId: string;
  readonly outcome: RequestOutcome;
  /** With `responded`: the id of the decision. */
  readonly decision?: string;
}

export interface UserInputRequestedSemanticEvent extends MaybeOfTurn {
  readonly kind: "user_input_requested";
  readonly request: UserInputRequest;
}

/** An answer is in no event: `answered` has the ids of the questions. */
export interface UserInputResolvedSemanticEvent extends MaybeOfTurn {
  readonly kind: "user_input_resolved";
  readonly requestId: string;
  readonly outcome: RequestOutcome;
  /** With `responded`: the ids of the questions that have an answer. */
  readonly answered?: readonly string[];
}

export interface WarningSemanticEvent extends MaybeOfTurn {
  readonly kind: "warning";
  readonly code?: string;
  readonly message: string;
}

/** Something went wrong that does not end the turn. */
export interface ErrorSemanticEvent extends MaybeOfTurn {
  readonly kind: "error";
  readonly code?: string;
  readonly message: string;
  readonly details?: Json;
}

/** Something of the harness that has no kind of its own, for diagnosis. Redacted; larger than 64 KiB the payload is left out. */
export interface NativeEventSemanticEvent extends MaybeOfTurn {
  readonly kind: "native_event";
  readonly name: string;
  readonly payload?: Json;
  readonly truncated?: true;
}

export type AgentRuntimeSemanticEvent =
  | TurnStartedSemanticEvent
  | TurnCompletedSemanticEvent
  | TurnFailedSemanticEvent
  | AdapterLifecycleSemanticEvent
  | AssistantDeltaSemanticEvent
  | AssistantMessageSemanticEvent
  | ReasoningStartedSemanticEvent
  | ReasoningDeltaSemanticEvent
  | ReasoningFinishedSemanticEvent
  | ToolCallSemanticEvent
  | ToolExecutionStartedSemanticEvent
  | ToolExecutionUpdatedSemanticEvent
  | ToolExecutionFinishedSemanticEvent
  | UsageSemanticEvent
  | PlanUpdatedSemanticEvent
  | DiffUpdatedSemanticEvent
  | CompactionStartSemanticEvent
  | CompactionEndSemanticEvent
  | ApprovalRequestedSemanticEvent
  | ApprovalResolvedSemanticEvent
  | UserInputRequestedSemanticEvent
  | UserInputResolvedSemanticEvent
  | WarningSemanticEvent
  | ErrorSemanticEvent
  | NativeEventSemanticEvent;

/** The word in `kind`. */
export type AgentRuntimeSemanticEventKind = AgentRuntimeSemanticEvent["kind"];
