// What a fake adapter does, as data. The program is fake-adapter.ts; it speaks the neutral protocol.
import type { Json } from "../contract.js";
import type { AdapterCapabilities, AdapterTerminal } from "../runtime/driver.js";
import type { Observed, ObservedPlace } from "../runtime/observation.js";
import type { ApprovalDecision, ApprovalRequest, UserInputQuestion } from "../runtime/semantic-event.js";

/**
 * One thing that the fake does. In every text of a step these are replaced: `{turn}` and `{previousTurn}` (native turn ids),
 * `{turns}` (how many turns the native session has had, this one counted), `{text}` (of the prompt), `{steered}` (of the last steer),
 * `{answer}` (the last decision, or the last answers' texts and options), `{session}` (the native session id), `{env.NAME}` (a
 * variable of its environment, or an argument `NAME=value`).
 */
export type FakeStep =
  /** An observation of the turn. With `chunk`, its delta comes in pieces of so many UTF-16 units. */
  | { readonly observe: ObservedPlace & Observed; readonly chunk?: number }
  /** The end of the turn. The steps go on. */
  | { readonly end: AdapterTerminal }
  /** Accepts the turn here, not before the first step; a second one answers the same request again. */
  | { readonly accept: true }
  /** Refuses the turn with this error. */
  | { readonly reject: { readonly code: number; readonly message: string } }
  /** Asks for leave and waits for the answer. */
  | { readonly approval: FakeApproval }
  /** Asks questions and waits for the answers. */
  | { readonly questions: readonly UserInputQuestion[] }
  /** Waits for `turn/steer`, or for `turn/abort` where the script says that it does not end the turn. */
  | { readonly until: "steer" | "abort" }
  /** Waits without an end. */
  | { readonly hang: true }
  /** Waits so many milliseconds. */
  | { readonly pause: number }
  /** Any notification. */
  | { readonly notify: { readonly method: string; readonly params?: Json } }
  /** A line on standard output as it is. */
  | { readonly line: string }
  /** Text on standard output without a newline. */
  | { readonly cut: string }
  /** A line on standard error. */
  | { readonly stderr: string }
  /** Exits orderly, after all that was said is written. */
  | { readonly exit: number }
  /** Ends by a signal of its own. */
  | { readonly kill: "SIGKILL" | "SIGTERM" }
  /** Deletes the kept native session. */
  | { readonly forget: true };

/** The request of a fake for leave. */
export interface FakeApproval {
  readonly kind: ApprovalRequest["kind"];
  readonly title?: string;
  readonly detail?: string;
  readonly arguments?: Json;
  readonly decisions: readonly ApprovalDecision[];
}

/** A file of this name in the folder of the sessions makes the fake exit before it is ready, as one whose login is refused. */
export const REFUSED = "login-refused";

/** The behaviour of a fake adapter. */
export interface FakeAdapterScript {
  /** What it says of itself; each is false by default. A driver over it must say the same. */
  readonly capabilities?: Partial<AdapterCapabilities>;
  /** Whether its turns have ids; false by default. They are then added to observations and ends that name none. */
  readonly nativeTurnIds?: boolean;
  /** An absolute folder where native sessions are kept, so that they can be resumed. Without one they end with the process. */
  readonly sessions?: string;
  /** When the native session gets its id: at open by default. */
  readonly nativeSessionId?: "open" | "first-turn";
  /** What it does before it answers `initialize`. */
  readonly start?: readonly FakeStep[];
  /** What it does at each prompt of its process; the last one serves for all further ones. */
  readonly turns: readonly (readonly FakeStep[])[];
  /** What `turn/abort` does. `end` by default: the turn ends `interrupted`. `ignore`: it is answered, and the turn goes on. */
  readonly abort?: "end" | "ignore";
  /**
   * What `session/resume` does. `exact` by default. `empty`: finds the session and has forgotten what was in it. `replace`: makes
   * another one where the session is missing. The last two are faults.
   */
  readonly resume?: "exact" | "empty" | "replace";
  /** An abort that comes while no turn is on ends the next turn: a fault. False by default. */
  readonly abortSticks?: boolean;
}
