// How the process of an adapter is started: the options, their checks, and the limits with their defaults.
import { functionOption, numberOption, optionsArgument, optionalText, textArgument } from "../arguments.js";
import { LifecycleError } from "../error.js";
import { LONGEST_TIMER_MS } from "../timers.js";
import { adapterEnvironment } from "./adapter-environment.js";
import type { AdapterNotification, AdapterRequest } from "./adapter-messages.js";
import type { AdapterProcess, AdapterProcessState } from "./adapter-process.js";

/** Limits; each may be left out. Times in milliseconds, sizes in bytes. */
export interface AdapterProcessLimits {
  /** Spawn and handshake; 10,000 by default. */
  readonly startMs: number;
  /** One request; 120,000 by default. */
  readonly requestMs: number;
  /** One message in each direction, without its newline; 8 MiB by default, 4,096 at least. */
  readonly messageBytes: number;
  /** Requests that wait for the process; 128 by default. */
  readonly pendingOut: number;
  /** Requests of the process that wait for the host; 128 by default. */
  readonly pendingIn: number;
}

/** The defaults. */
export const LIMITS: AdapterProcessLimits = Object.freeze({
  startMs: 10_000,
  requestMs: 120_000,
  messageBytes: 8 * 1024 * 1024,
  pendingOut: 128,
  pendingIn: 128,
});

const LEAST_MESSAGE_BYTES = 4096;
/** What a timer of Node can wait for; and far above what anybody wants of the others. */
const MOST = LONGEST_TIMER_MS;
/** UTF-16 units from which the value of a variable can be told from harmless text. */
const SECRET_UNITS = 8;

/** What went wrong without ending anything. */
export interface AdapterDiagnostic {
  readonly code:
    | "duplicate_response"
    | "handler_failed"
    | "late_response"
    | "malformed_message"
    | "noise"
    | "too_many_requests"
    | "unknown_response";
  /** For people: redacted, about 400 UTF-16 units at most. */
  readonly message: string;
  /** How many of this code there were so far. */
  readonly count: number;
}

export interface AdapterProcessOptions {
  /** The program: a path, or a name that is looked for in the child's PATH. No shell. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** The working directory; the host's by default. */
  readonly cwd?: string | undefined;
  /** Variables beside the allow-list; an undefined value takes one away. Values of eight UTF-16 units or more are redacted everywhere. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** The process guard, where it is not to be looked for. */
  readonly guardPath?: string | undefined;
  /** Texts that are redacted everywhere, of eight UTF-16 units or more each. */
  readonly secrets?: readonly string[] | undefined;
  /** `session` by default. A shared process is not ended by `release()`. */
  readonly ownership?: "session" | "shared" | undefined;
  readonly limits?: Partial<AdapterProcessLimits> | undefined;
  /** Whether messages carry `"jsonrpc":"2.0"`; true by default. Both are read. */
  readonly jsonrpc?: boolean | undefined;
  /** What joins errors of this process with events and logs, such as the product session. */
  readonly correlationId?: string | undefined;
  /** The handshake: runs in the state `initializing`, and may request and notify. It counts to `startMs`. */
  readonly initialize?: ((process: AdapterProcess) => unknown) | undefined;
  readonly onNotification?: ((notification: AdapterNotification) => unknown) | undefined;
  /** The one handler of requests; without it they are answered with -32601. */
  readonly onRequest?: ((request: AdapterRequest) => unknown) | undefined;
  /** Is told of the first 32 diagnostics of each code. */
  readonly onDiagnostic?: ((diagnostic: AdapterDiagnostic) => unknown) | undefined;
  readonly onState?: ((state: AdapterProcessState) => unknown) | undefined;
}

/** Options that hold. */
export interface CheckedOptions extends AdapterProcessOptions {
  readonly args: readonly string[];
  /** Names and values in turn. */
  readonly environment: readonly string[];
  /** With the values of given variables. */
  readonly hidden: readonly string[];
  readonly ownership: "session" | "shared";
  readonly limits: AdapterProcessLimits;
  readonly jsonrpc: boolean;
}

/** The names of the options. */
export const OPTIONS = [
  "args",
  "command",
  "correlationId",
  "cwd",
  "env",
  "guardPath",
  "initialize",
  "jsonrpc",
  "limits",
  "onDiagnostic",
  "onNotification",
  "onRequest",
  "onState",
  "ownership",
  "secrets",
] as const;

/**
 * Checks the options.
 *
 * @throws {LifecycleError} `invalid_argument`, `invalid_option`.
 */
export function checkOptions(given: AdapterProcessOptions): CheckedOptions {
  const options = optionsArgument(given, "options", OPTIONS);
  const command = plain(options.command, "command");
  if (command === "") throw invalid("command", "must not be empty");
  const { ownership = "session", jsonrpc = true } = options;
  if (ownership !== "session" && ownership !== "shared")
    throw invalid("ownership", "must be session or shared");
  if (typeof jsonrpc !== "boolean") throw invalid("jsonrpc", "must be true or false");
  const env = checkEnv(options.env ?? {});
  const secrets = list(options.secrets, "secrets");
  const values = Object.values(env).filter((value) => value !== undefined && value.length >= SECRET_UNITS);
  return {
    command,
    args: list(options.args, "args"),
    cwd: options.cwd === undefined ? undefined : plain(options.cwd, "cwd"),
    environment: [...adapterEnvironment(env)].flat(),
    hidden: [...secrets, ...(values as string[])],
    guardPath: options.guardPath === undefined ? undefined : plain(options.guardPath, "guardPath"),
    correlationId: optionalText(options.correlationId, "correlationId"),
    ownership,
    jsonrpc,
    limits: checkLimits(options.limits),
    initialize: functionOption(options.initialize, "initialize"),
    onNotification: functionOption(options.onNotification, "onNotification"),
    onRequest: functionOption(options.onRequest, "onRequest"),
    onDiagnostic: functionOption(options.onDiagnostic, "onDiagnostic"),
    onState: functionOption(options.onState, "onState"),
  };
}

function checkLimits(given: Partial<AdapterProcessLimits> | undefined): AdapterProcessLimits {
  const names = Object.keys(LIMITS) as (keyof AdapterProcessLimits)[];
  const limits = optionsArgument(given, "limits", names);
  const checked = names.map((name) => {
    const limit = numberOption(limits[name], `limits.${name}`) ?? LIMITS[name];
    const least = name === "messageBytes" ? LEAST_MESSAGE_BYTES : 1;
    if (!Number.isInteger(limit) || limit < least || limit > MOST)
      throw invalid(`limits.${name}`, `must be an integer from ${least} to ${MOST}`);
    return [name, limit] as const;
  });
  return Object.fromEntries(checked) as unknown as AdapterProcessLimits;
}

function checkEnv(
  given: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const env = optionsArgument(given, "env");
  for (const [name, value] of Object.entries(env)) {
    // No name and no value in a message: either may be a secret.
    if (name === "" || /[=\0]/.test(name))
      throw invalid("env", "must have names that are not empty, without = and NUL");
    if (value !== undefined) plain(value, "env");
  }
  return env as Readonly<Record<string, string | undefined>>;
}

function list(given: readonly string[] | undefined, name: string): readonly string[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw invalid(name, "must be an array");
  return given.map((text, at) => plain(text, `${name}[${at}]`));
}

/** Text that the system takes: without NUL. */
function plain(value: unknown, name: string): string {
  const text = textArgument(value, name);
  if (text.includes("\0")) throw invalid(name, "must not hold NUL");
  return text;
}

const invalid = (name: string, what: string) =>
  new LifecycleError("invalid_option", `${name} ${what}`, { path: name });
