// What can go wrong with a session that a host runs itself: one class for each layer, each a LifecycleError.
import { LifecycleError } from "../error.js";

/** What was being done. */
export type RuntimePhase =
  | "register"
  | "inspect"
  | "store"
  | "open"
  | "resume"
  | "start"
  | "request"
  | "prompt"
  | "turn"
  | "respond"
  | "abort"
  | "dispose";

/** Facts that are safe to show: never a native id, a locator, an environment value or a body of a provider. */
export type RuntimeErrorDetails = Readonly<Record<string, string | number | boolean | null>>;

/** What a `RuntimeError` carries beside its code and message. */
export interface RuntimeErrorOptions {
  readonly phase: RuntimePhase;
  /** What joins this error with events and logs: a product session, a turn, or a request of this package's own. */
  readonly correlationId?: string | undefined;
  readonly details?: RuntimeErrorDetails | undefined;
  readonly cause?: unknown;
}

/** What `JSON.stringify` writes for a `RuntimeError`; never its cause. */
export interface RuntimeErrorJson {
  name: string;
  code: string;
  phase: RuntimePhase;
  message: string;
  correlationId?: string;
  details?: RuntimeErrorDetails;
}

/** What the classes of this page have in common. `code` is stable and listed in `docs/runtime.md`. */
export abstract class RuntimeError extends LifecycleError {
  readonly phase: RuntimePhase;
  declare readonly correlationId?: string;
  declare readonly details?: RuntimeErrorDetails;

  constructor(code: string, message: string, options: RuntimeErrorOptions) {
    super(code, message, "cause" in options ? { cause: options.cause } : {});
    this.phase = options.phase;
    if (options.correlationId !== undefined) this.correlationId = options.correlationId;
    if (options.details !== undefined) this.details = Object.freeze({ ...options.details });
  }

  override toJSON(): RuntimeErrorJson {
    const { name, code, phase, message } = this;
    const json: RuntimeErrorJson = { name, code, phase, message };
    if (this.correlationId !== undefined) json.correlationId = this.correlationId;
    if (this.details !== undefined) json.details = this.details;
    return json;
  }
}

/** A driver, an instance or its configuration is not usable; nothing was started. */
export class RegistrationError extends RuntimeError {}
/** The harness, its program or the process guard is not to be had on this machine. */
export class AvailabilityError extends RuntimeError {}
/** The binding of a session forbids it: a conflict, a fence, a transition, a living owner, or native state that is missing. */
export class BindingError extends RuntimeError {}
/** The adapter's process or its messages: start, limits, malformed messages, exit. */
export class ProtocolError extends RuntimeError {}
/** A turn or an open request of one: refused, not to be answered any more, or a session that is disposed of. */
export class TurnError extends RuntimeError {}
/** The adapter does not have this capability, so there is no such operation. */
export class CapabilityUnavailableError extends RuntimeError {}

// On the prototypes, as for the built-in errors, so that it is no own member of each error.
for (const [name, type] of Object.entries({
  RegistrationError,
  AvailabilityError,
  BindingError,
  ProtocolError,
  TurnError,
  CapabilityUnavailableError,
})) {
  Object.defineProperty(type.prototype, "name", { value: name, configurable: true, writable: true });
}
