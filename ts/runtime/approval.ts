// Requests of a harness that somebody has to answer, as an ApprovalRegistry takes them and gives them back. docs/turns.md has the rules.
import type { Json } from "../contract.js";
import type { MaybeUndefined, RequestResolution } from "./observation.js";
import type {
  ApprovalDecision,
  ApprovalRequest,
  RequestOutcome,
  UserInputOption,
  UserInputQuestion,
  UserInputRequest,
} from "./semantic-event.js";

/** What names a request in its harness. Two requests are the same one only where all members are; 0 and "0" differ. Never shown. */
export interface NativeRequestKey {
  /** The connection that it came over, where there are several; the process, say. */
  readonly connection?: string | undefined;
  /** The sub-agent that it is of; without it, the session's own agent. */
  readonly scope?: string | undefined;
  /** The turn of this package that it belongs to: `TurnSequencer.turnOf`. */
  readonly turnId?: string | undefined;
  /** The id of the request in the protocol. */
  readonly nativeId: string | number;
}

/** A request for leave. A kind of request that the adapter does not know is asked as one of kind `unknown`. */
export interface AskedApproval extends NativeRequestKey {
  readonly ask: "approval";
  readonly kind: ApprovalRequest["kind"];
  /** At most 512 UTF-16 code units. */
  readonly title?: string | undefined;
  /** At most 4,000 UTF-16 code units. */
  readonly detail?: string | undefined;
  /** At most 64 KiB as JSON. */
  readonly arguments?: Json | undefined;
  /** At most 20; each id once. */
  readonly decisions: readonly ApprovalDecision[];
}

/** A question, as the event has it. */
export type AskedQuestion = MaybeUndefined<Omit<UserInputQuestion, "options">> & {
  readonly options?: readonly MaybeUndefined<UserInputOption>[] | undefined;
};

/** 1 to 10 questions, each with at most 20 options. */
export interface AskedUserInput extends NativeRequestKey {
  readonly ask: "userInput";
  readonly questions: readonly AskedQuestion[];
}

/** Why a request is not opened. The adapter answers it with its protocol's refusal, and a `warning` is said. */
export type RequestRefusal = "too_many_requests" | "request_too_large" | "invalid_request";

/** What became of a request that was asked. `replaced` is the one of the same key that it took the place of. */
export type OpenResult =
  | {
      readonly status: "opened" | "same";
      readonly approval: ApprovalRequest;
      readonly replaced?: RequestResolution;
    }
  | {
      readonly status: "opened" | "same";
      readonly userInput: UserInputRequest;
      readonly replaced?: RequestResolution;
    }
  | {
      readonly status: "refused";
      readonly code: RequestRefusal;
      /** For people; nothing of the request is in it but names of members. */
      readonly message: string;
      readonly replaced?: RequestResolution;
    };

/** The answer to one question: ids of options, text, or both where both may be given. */
export interface UserInputAnswer {
  readonly options?: readonly string[] | undefined;
  readonly text?: string | undefined;
}

/** By the ids of the questions. Each question has to have an answer; 16,000 UTF-16 code units of text in all. */
export type UserInputAnswers = Readonly<Record<string, UserInputAnswer>>;

/** What the adapter writes to its harness. */
export type ApprovalReply = { readonly requestId: string; readonly native: NativeRequestKey } & (
  | { readonly ask: "approval"; readonly decision: string }
  | { readonly ask: "userInput"; readonly answers: UserInputAnswers }
);

/** The one end of a request, with what the adapter needs to tell its harness. */
export interface ResolvedRequest extends RequestResolution {
  readonly ask: "approval" | "userInput";
  readonly native: NativeRequestKey;
}

/** Which requests: those that have all of these members. `{}` is all of them. */
export interface RequestFilter {
  readonly requestId?: string | undefined;
  readonly turnId?: string | undefined;
  readonly connection?: string | undefined;
}

/** What is open, the oldest first. */
export interface PendingRequests {
  readonly approvals: readonly ApprovalRequest[];
  readonly userInputs: readonly UserInputRequest[];
}

export interface ApprovalRegistryOptions {
  /** The live generation: an integer of 0 or more. It is a part of each request's id. */
  readonly generation: number;
  /** Texts to hide in requests, of 8 UTF-16 code units or more each. */
  readonly secrets?: readonly string[];
  /** Writes an answer to the harness; settles when it is written, or was not. */
  write(reply: ApprovalReply): Promise<void> | void;
  /** Called once for each request, with its one end, before anybody else is told. It must not throw. */
  onResolved?(resolved: ResolvedRequest): void;
  /** Called before an answer to a question marked `secret` is written: give it to `TurnSequencer.hide`. Where it throws, the answer is not written. */
  onSecret?(secret: string): void;
}

/** How requests end that nobody answered. */
export type ClearOutcome = Exclude<RequestOutcome, "responded" | "expired">;
