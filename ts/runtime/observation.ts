// What goes into a TurnSequencer: what the host does, and what an adapter saw of the harness. docs/turns.md has the rules.
import type { Json } from "../contract.js";
import type { ApprovalRequest, RequestOutcome, RuntimeUsage, UserInputRequest } from "./semantic-event.js";

/** What an adapter passes on from elsewhere: a member that may be left out may be `undefined` too, which is the same. */
export type MaybeUndefined<T> = {
  readonly [Name in keyof T]: Record<never, never> extends Pick<T, Name> ? T[Name] | undefined : T[Name];
};

/** The next text of a piece, or all of its text so far. */
export type ObservedText = { readonly delta: string } | { readonly cumulative: string };

/** What was seen. */
export type Observed =
  /** The harness began a turn of its own accord: names the native turn where `accepted` did not. */
  | { readonly kind: "turn_started" }
  /** `done` ends the message; a cumulative text with it is the message as it counts. */
  | {
      readonly kind: "assistant" | "reasoning";
      readonly text?: ObservedText | undefined;
      readonly done?: boolean | undefined;
    }
  /** A call of a tool, or more of its arguments. `argsComplete` is true by default. */
  | {
      readonly kind: "tool_call";
      readonly toolName?: string | undefined;
      readonly args?: Json | undefined;
      readonly argsComplete?: boolean | undefined;
    }
  | { readonly kind: "tool_started"; readonly toolName?: string | undefined }
  /** Output as `text`, which is redacted as the one stream that it is, or any other value. */
  | {
      readonly kind: "tool_updated";
      readonly toolName?: string | undefined;
      readonly text?: ObservedText | undefined;
      readonly partialResult?: Json | undefined;
    }
  | {
      readonly kind: "tool_finished";
      readonly toolName?: string | undefined;
      readonly result?: Json | undefined;
      readonly isError?: boolean | undefined;
    }
  /** Kept; the last one is said at the end of the turn. Members that it leaves out stay as they were. */
  | { readonly kind: "usage"; readonly usage: MaybeUndefined<RuntimeUsage> }
  | { readonly kind: "plan"; readonly plan: Json }
  | { readonly kind: "diff"; readonly diff: Json }
  | { readonly kind: "compaction_started" | "compaction_finished" }
  | { readonly kind: "warning"; readonly code?: string | undefined; readonly message: string }
  | {
      readonly kind: "error";
      readonly code?: string | undefined;
      readonly message: string;
      readonly details?: Json | undefined;
    }
  | { readonly kind: "native"; readonly name: string; readonly payload?: Json | undefined }
  | {
      readonly kind: "adapter";
      readonly state: "starting" | "ready" | "restarting";
      readonly message?: string | undefined;
    };

/** Where an observation belongs, as the harness names things. None of these names leaves the sequencer. */
export interface ObservedPlace {
  /** The harness's turn; without it, the one that is on. */
  readonly nativeTurnId?: string | undefined;
  /** The sub-agent that it is of; without it, the session's own agent. */
  readonly scope?: string | undefined;
  /** The message, reasoning, call or compaction that it is of. Without it a repeat cannot be told. */
  readonly nativeItemId?: string | number | undefined;
  /** Names the observation itself: one that was seen is a repeat. */
  readonly nativeEventId?: string | number | undefined;
}

/** One step of a session. `at` is RFC 3339 UTC; the sequencer reads no clock. */
export type TurnInput = { readonly at: string } &
  /** A prompt is about to be sent. `turnId` is minted by the host, never native, 1 to 256 UTF-16 code units. */
  (
    | { readonly input: "begin"; readonly turnId: string }
    /** The harness accepted it. Its own id of the turn, where it has one and says it. */
    | { readonly input: "accepted"; readonly turnId: string; readonly nativeTurnId?: string | undefined }
    /** The harness refused it, or it never got there: there was no turn. */
    | { readonly input: "rejected"; readonly turnId: string }
    | ({ readonly input: "observation" } & ObservedPlace & Observed)
    /** A request that the registry opened. */
    | { readonly input: "requestOpened"; readonly approval: ApprovalRequest }
    | { readonly input: "requestOpened"; readonly userInput: UserInputRequest }
    /** What the registry says of its end. */
    | ({ readonly input: "requestResolved" } & RequestResolution)
    /** The turn is to be interrupted: its open requests are resolved as `aborted` at once. */
    | { readonly input: "abort"; readonly turnId?: string | undefined }
    /** The harness says that a turn ended. */
    | {
        readonly input: "terminal";
        readonly nativeTurnId?: string | undefined;
        readonly scope?: string | undefined;
        readonly status: "completed" | "interrupted" | "failed";
        readonly message?: string | undefined;
        readonly details?: Json | undefined;
        readonly usage?: MaybeUndefined<RuntimeUsage> | undefined;
      }
    /** The process ended, or its connection. `expected` where the host wanted it; false by default. */
    | {
        readonly input: "exit";
        readonly exitCode?: number | undefined;
        readonly signal?: string | undefined;
        readonly message?: string | undefined;
        readonly expected?: boolean | undefined;
      }
    /** The session is disposed of: nothing is said after what this says. */
    | { readonly input: "close" }
    /** The turn took too long. After an abort it ends `interrupted`, unconfirmed; else it failed. */
    | { readonly input: "deadline"; readonly turnId: string }
  );

/** How a request ended. */
export interface RequestResolution {
  readonly requestId: string;
  readonly outcome: RequestOutcome;
  /** The decision of an approval that was answered. */
  readonly decision?: string;
  /** The ids of the questions that were answered. */
  readonly answered?: readonly string[];
}

/** Why an input made no event. */
export type DropReason =
  /** After `close`. */
  | "disposed"
  /** No turn is on, and it needs one. */
  | "no_turn"
  /** `begin` while a turn is on. */
  | "turn_open"
  /** Of a turn that has ended. */
  | "late"
  /** Of a turn that is not ours. */
  | "foreign_turn"
  /** The end of a sub-agent's turn. */
  | "foreign_scope"
  /** Before the end of an earlier turn that was ended by a deadline, in a harness without turn ids. */
  | "debt"
  /** Seen before, by native identity or cumulative text. */
  | "repeat"
  /** Of a message, reasoning, call or compaction that has ended. */
  | "after_end"
  /** A cumulative text that is not what was shown and more. */
  | "diverged"
  /** It waited, and its turn never was, or failed while it waited. */
  | "never_accepted"
  | "overflow"
  /** The turn has 4,096 pieces already, or a request beyond the 64th. */
  | "too_many"
  /** A request that is not open. */
  | "not_open";

/** What a sequencer noticed; the last 32 are kept. Never a native id. */
export interface TurnDiagnostic {
  readonly at: string;
  readonly reason: DropReason | "unconfirmed" | "renamed";
  /** The input, or the kind of the observation. */
  readonly input: string;
  readonly turnId?: string;
}

export interface TurnSequencerOptions {
  readonly productSessionId: string;
  /** The live generation: an integer of 0 or more. */
  readonly generation: number;
  /** Whether the harness has ids of its own for turns, and says them with what belongs to one. */
  readonly nativeTurnIds: boolean;
  /** Texts to hide wherever they occur, of 8 UTF-16 code units or more each. */
  readonly secrets?: readonly string[];
}

export interface TurnSequencerStats {
  /** The turn that was begun and has not ended. */
  readonly turn: { readonly turnId: string; readonly accepted: boolean; readonly aborting: boolean } | null;
  /** Inputs that wait until the turn is accepted, or its native id is known. */
  readonly waiting: number;
  /** Turns that ended without the harness, whose own end is still to come: an end that names no turn is taken for theirs. */
  readonly debts: number;
  /** Events so far; the `sequence` of the last one. */
  readonly events: number;
  readonly dropped: Readonly<Record<DropReason, number>>;
  readonly diagnostics: readonly TurnDiagnostic[];
}

/** Which turn something of the harness belongs to. */
export interface TurnPlace {
  /** Absent where no turn is on. */
  readonly turnId?: string;
  /** Whether that turn has ended: a request of it is to be refused. */
  readonly isOver: boolean;
}
