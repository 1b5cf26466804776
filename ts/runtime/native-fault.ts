// What a failure says about the native session itself, and so what is written of it.
import type { RuntimeSessionBinding } from "./binding.js";
import { NativeSessionError } from "./driver.js";
import { BindingError, ProtocolError, type RuntimePhase } from "./errors.js";
import type { SafeText } from "./safe-text.js";

/** What is written of a native session that is not there, or does not open. */
export interface NativeFault {
  readonly state: "missing" | "error";
  readonly code: string;
  readonly message: string;
  readonly phase: RuntimePhase;
}

/** Undefined where the failure says nothing about the native session. */
export function nativeFault(
  stored: RuntimeSessionBinding,
  error: unknown,
  safe: SafeText,
): NativeFault | undefined {
  const isRecorded = stored.nativeSessionId !== undefined;
  const fault = (state: NativeFault["state"], code: string, message: string): NativeFault => ({
    state,
    code: safe.of(code),
    message: safe.of(message),
    phase: isRecorded ? "resume" : "open",
  });
  // What was never recorded cannot be missing.
  if (error instanceof NativeSessionError)
    return fault(error.kind === "missing" && isRecorded ? "missing" : "error", error.code, error.message);
  const isOfAdapter =
    (error instanceof BindingError && error.code === "native_id_changed") ||
    (error instanceof ProtocolError && error.code === "protocol_violation");
  return isOfAdapter ? fault("error", error.code, error.message) : undefined;
}

/** The error for a host, with what it can do. */
export function bindingFault(
  { state, code, message, phase }: NativeFault,
  { productSessionId }: RuntimeSessionBinding,
  cause?: unknown,
): BindingError {
  const said = `the native session is recorded as ${state} (${code}: ${message})`;
  const text = `${said}: open with mode "repair" to try it again, or "rebind" for a new one`;
  return new BindingError(state === "missing" ? "binding_missing" : "binding_error", text, {
    phase,
    correlationId: productSessionId,
    details: { state, reason: code },
    ...(cause !== undefined && { cause }),
  });
}
