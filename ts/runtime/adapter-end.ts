// How the process of an adapter ends, and what those are told who waited for it.
import { constants } from "node:os";
import { AvailabilityError, ProtocolError, type RuntimeError, type RuntimePhase } from "./errors.js";
import { unavailable } from "./guard.js";

/** Why a process ended, the first cause. */
export type AdapterProcessEndReason =
  /** `close()`. */
  | "closed"
  /** It exited or was killed by a signal, unasked. */
  | "exited"
  /** Its guard was ended by somebody else. */
  | "guard_died"
  /** The guard could not be run. */
  | "guard_unavailable"
  /** A line over the limit. */
  | "message_too_large"
  /** It closed its standard output and did not exit within two seconds. */
  | "output_ended"
  /** The program could not be run. */
  | "spawn_failed"
  /** `initialize` threw. */
  | "start_failed"
  /** Not ready in time. */
  | "start_timeout"
  /** Its standard input was closed at the other end. */
  | "write_failed";

/** How a process ended. */
export interface AdapterProcessEnd {
  readonly reason: AdapterProcessEndReason;
  /** The exit code; null where a signal ended it, or where it is not known. */
  readonly code: number | null;
  /** Such as `SIGKILL`; null where it exited, or where it is not known. */
  readonly signal: string | null;
  /** What it wrote to standard error: the first 4 KiB and the last 60 KiB, redacted. */
  readonly stderrTail: string;
}

/** An end as the addon tells it. */
export interface NativeEnd {
  reason: Exclude<AdapterProcessEndReason, "start_failed" | "start_timeout"> | "stopped";
  code: number | null;
  signal: number | null;
  stderr: string;
  message: string;
}

/** UTF-16 units of standard error in the details of an error, and in its message. */
const DETAIL_UNITS = 2000;
const MESSAGE_UNITS = 200;

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** The name of a signal, such as `SIGKILL`. */
export function signalName(number: number): string {
  return SIGNALS.get(number) ?? `signal ${number}`;
}

const WORDS: Record<AdapterProcessEndReason, string> = {
  closed: "was closed",
  exited: "ended",
  guard_died: "was ended, for its guard was ended by somebody else",
  guard_unavailable: "was not started, for its guard could not be run",
  message_too_large: "was ended, for it wrote a line over the limit of messageBytes",
  output_ended: "was ended, for it closed its standard output and did not exit",
  spawn_failed: "could not be started",
  start_failed: "was ended, for its handshake failed",
  start_timeout: "was ended, for it was not ready within startMs",
  write_failed: "was ended, for it closed its standard input",
};

const CODES: Record<AdapterProcessEndReason, string> = {
  closed: "process_closed",
  exited: "process_exited",
  guard_died: "process_exited",
  guard_unavailable: "guard_unavailable",
  message_too_large: "message_too_large",
  output_ended: "process_exited",
  spawn_failed: "spawn_failed",
  start_failed: "process_closed",
  start_timeout: "start_timeout",
  write_failed: "write_failed",
};

/** What went wrong, for one who waited. `failure` is what the system said. */
export function endError(
  end: AdapterProcessEnd,
  failure: string,
  phase: RuntimePhase,
  correlationId: string | undefined,
): RuntimeError {
  const { reason, code, signal, stderrTail } = end;
  if (reason === "guard_unavailable") return unavailable(failure);
  const how = code !== null ? ` (exit code ${code})` : signal !== null ? ` (${signal})` : "";
  const said = lastLine(stderrTail);
  const message =
    `The adapter's process ${WORDS[reason]}${how}` +
    (failure === "" ? "" : `: ${failure}`) +
    (said === "" ? "" : `. It last wrote to standard error: ${said}`);
  const details = { reason, exitCode: code, signal, stderrTail: tailOf(stderrTail) };
  const type = reason === "spawn_failed" ? AvailabilityError : ProtocolError;
  return new type(CODES[reason], message, { phase, correlationId, details });
}

/** Without half of a character at its beginning. */
const tailOf = (text: string): string => text.slice(-DETAIL_UNITS).replace(/^[\uDC00-\uDFFF]/, "");

const lastLine = (text: string): string =>
  text.trimEnd().split("\n").at(-1)?.trim().slice(0, MESSAGE_UNITS) ?? "";
