/// <reference lib="esnext.disposable" preserve="true" />
// A live session as a host sees it.
import { optionalText, optionsArgument, textArgument } from "../arguments.js";
import type { UserInputAnswers } from "./approval.js";
import type { BindingState } from "./binding.js";
import type { AdapterCapabilities, AdapterPrompt } from "./driver.js";
import type { RequestResolution, TurnSequencerStats } from "./observation.js";
import type { RuntimeDiagnostic } from "./registry.js";
import type { ApprovalRequest, UserInputRequest } from "./semantic-event.js";

/** What is asked of the agent. */
export interface RuntimePrompt {
  readonly text: string;
  /** Who prompts; `user` by default. */
  readonly source?: string | undefined;
  /** Narrows what the turn may do, where the adapter knows such scopes. */
  readonly capabilityScope?: string | undefined;
}

/** How a turn ended. `interrupted` without a confirmation: the harness may still work at it. */
export interface RuntimeTurnResult {
  readonly turnId: string;
  readonly status: "completed" | "interrupted" | "failed";
}

/** What a session is doing. `closed`: its harness is gone, and only `dispose` is left. */
export type RuntimeSessionState = "starting" | "idle" | "streaming" | "closed" | "disposed";

export interface RuntimeSessionStatus {
  readonly state: RuntimeSessionState;
  /** The turn that is on. */
  readonly turnId: string | null;
  /** The oldest open one of each, and how many are open. */
  readonly pendingApproval: ApprovalRequest | null;
  readonly pendingUserInput: UserInputRequest | null;
  readonly pendingRequests: number;
  readonly binding: { readonly state: BindingState; readonly revision: number; readonly generation: number };
  /** What became of the harness's messages. */
  readonly turns: TurnSequencerStats;
  /** The last 32 things that people should know. */
  readonly diagnostics: readonly RuntimeDiagnostic[];
}

/** A live session. An operation that its adapter cannot do is not there. */
export interface RuntimeSession extends AsyncDisposable {
  readonly productSessionId: string;
  readonly runtimeInstanceId: string;
  readonly adapterId: string;
  readonly generation: number;
  readonly capabilities: AdapterCapabilities;
  status(): RuntimeSessionStatus;
  /**
   * Begins a turn; resolves after its end.
   *
   * @throws {TurnError} as a rejection, only where the harness did not accept the turn: `turn_active`, `turn_rejected`,
   *   `session_closed`, `session_disposed`.
   */
  prompt(prompt: RuntimePrompt): Promise<RuntimeTurnResult>;
  /**
   * Changes the turn that is on. @throws {TurnError} as a rejection: `no_turn`, `steer_failed`, and those of a closed session.
   */
  readonly steer?: (prompt: RuntimePrompt) => Promise<void>;
  /**
   * Cancels the turn that is on and resolves when it has ended. Without one, and after `dispose`, nothing happens. A harness that does
   * not finish in `abortMs` is not waited for: a process of the session's own is replaced where the adapter can resume; else the turn
   * ends `interrupted`, unconfirmed.
   */
  abort(): Promise<void>;
  /** See `ApprovalRegistry.respondToApproval`. */
  readonly respondToApproval?: (requestId: string, decision: string) => Promise<RequestResolution>;
  /** See `ApprovalRegistry.respondToUserInput`. */
  readonly respondToUserInput?: (requestId: string, answers: UserInputAnswers) => Promise<RequestResolution>;
  /** Ends the live session, not the native one. Always the same promise; no event comes after it. Never rejects. */
  dispose(): Promise<void>;
}

/** A prompt as an adapter gets it. @throws {LifecycleError} `invalid_argument`, `invalid_option`. */
export function promptOf(given: RuntimePrompt): Omit<AdapterPrompt, "turnId"> {
  const { text, source, capabilityScope } = optionsArgument(given, "prompt", PROMPT);
  const scope = optionalText(capabilityScope, "prompt.capabilityScope");
  return {
    text: textArgument(text, "prompt.text"),
    source: optionalText(source, "prompt.source") ?? "user",
    ...(scope !== undefined && { capabilityScope: scope }),
  };
}

const PROMPT = ["text", "source", "capabilityScope"] as const;
