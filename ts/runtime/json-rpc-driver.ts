// The neutral adapter: a program that speaks this package's own protocol, newline-delimited JSON-RPC. docs/runtime.md has its messages.
import { LifecycleError } from "../error.js";
import { thrownText } from "../callbacks.js";
import {
  AdapterProcess,
  AdapterRequestError,
  type AdapterNotification,
  type AdapterRequest,
} from "./adapter-process.js";
import type { UserInputAnswers } from "./approval.js";
import {
  type AdapterApprovalRequest,
  type AdapterCapabilities,
  type AdapterConfig,
  type AdapterContext,
  type AdapterPrompt,
  type AdapterTerminal,
  type AdapterUserInputRequest,
  type NativeRequest,
  NativeSessionError,
  type NativeSessionState,
  type RuntimeDriver,
} from "./driver.js";
import { ProtocolError, type RuntimePhase } from "./errors.js";
import { Asking, invalidParams, requestRefused } from "./json-rpc-asking.js";
import type { Observed, ObservedPlace } from "./observation.js";

/** What a neutral adapter is. Its program, arguments and environment are the instance's configuration. */
export interface JsonRpcDriverOptions {
  readonly adapterId: string;
  /** What the program can do; it must say the same when it starts. Each is false by default. */
  readonly capabilities?: Partial<AdapterCapabilities> | undefined;
  /** Whether its turns have ids. False by default. */
  readonly nativeTurnIds?: boolean | undefined;
}

/** The version of the protocol. */
const PROTOCOL_VERSION = 1;
/** Codes of errors that the program answers with. */
const SESSION_MISSING = -32004;
const SESSION_BROKEN = -32005;

/** One live session: its process, and the requests of the program that wait for an answer. */
interface Session {
  readonly process: AdapterProcess;
  native: NativeSessionState;
  readonly asking: Asking;
}

/** A driver for programs that speak the neutral protocol. */
export function jsonRpcDriver(options: JsonRpcDriverOptions): RuntimeDriver<Session> {
  const capabilities: AdapterCapabilities = {
    resume: false,
    steering: false,
    abort: false,
    approvals: false,
    userInput: false,
    ...options.capabilities,
  };
  const nativeTurnIds = options.nativeTurnIds ?? false;
  return {
    adapterId: options.adapterId,
    transport: "process",
    capabilities,
    nativeTurnIds,
    configSchema: {
      command: { type: "string", required: true, description: "the program: a path, or a name in PATH" },
      args: { type: "strings", default: [], description: "its arguments" },
      environment: {
        type: "strings",
        default: [],
        secret: true,
        description: "further variables, each NAME=value",
      },
    },
    async openSession(context) {
      const session = await start(context, capabilities);
      await opened(session, session.process.request("session/open", placeOf(context)));
      return session;
    },
    ...(capabilities.resume && {
      async resumeSession(context: AdapterContext, native: NativeSessionState & { nativeSessionId: string }) {
        const session = await start(context, capabilities);
        const { nativeSessionId, locator, metadata } = native;
        try {
          const resumed = session.process.request("session/resume", {
            ...placeOf(context),
            nativeSessionId,
            locator,
            metadata,
          });
          await opened(session, resumed);
          return session;
        } catch (error) {
          throw nativeFault(error);
        }
      },
    }),
    getBinding: ({ native }) => native,
    async prompt({ process }, { text, source, capabilityScope }) {
      const accepted = await process.request<{ nativeTurnId?: unknown }>("turn/prompt", {
        text,
        source,
        capabilityScope,
      });
      const { nativeTurnId } = objectOf(accepted, "the answer to turn/prompt", "prompt");
      if (typeof nativeTurnId === "string") return { nativeTurnId };
      // Without its id the turn would have no end. One that is left out comes with `turn_started`.
      if (nativeTurnIds && nativeTurnId !== undefined)
        throw violation("nativeTurnId in the answer to turn/prompt must be text, or be left out", "prompt");
      return {};
    },
    ...(capabilities.steering && {
      async steer({ process }: Session, { text, source, capabilityScope }: AdapterPrompt) {
        await process.request("turn/steer", { text, source, capabilityScope });
      },
    }),
    ...(capabilities.abort && {
      async abort({ process }: Session) {
        await process.request("turn/abort");
      },
    }),
    ...(capabilities.approvals && {
      respondToApproval: (session: Session, request: NativeRequest, decision: string) =>
        session.asking.answer(request, { decision }),
    }),
    ...(capabilities.userInput && {
      respondToUserInput: (session: Session, request: NativeRequest, answers: UserInputAnswers) =>
        session.asking.answer(request, { answers }),
    }),
    requestEnded: ({ asking }, request, outcome) => asking.ended(request, outcome),
    async dispose({ process }) {
      await process.release();
    },
  };
}

async function start(context: AdapterContext, capabilities: AdapterCapabilities): Promise<Session> {
  let session: Session | undefined;
  const asking = new Asking();
  const process = await context.startProcess({
    command: String(context.config["command"]),
    args: textsOf(context.config, "args"),
    env: environmentOf(context.config),
    cwd: context.workspace,
    initialize: async (starting) => {
      const said = await starting.request("initialize", { protocolVersion: PROTOCOL_VERSION });
      checkHandshake(said, capabilities);
    },
    onNotification: (notification) => notified(context, session, asking, notification),
    onRequest: (request) => requested(context, capabilities, asking, request),
  });
  session = { process, native: {}, asking };
  return session;
}

/** Keeps what the answer says, unless `session/changed`, which came after it, was heard before it was read. */
async function opened(session: Session, answered: Promise<unknown>): Promise<void> {
  const before = session.native;
  const said = stateOf(await answered);
  if (session.native === before) session.native = said;
}

const placeOf = ({ workspace, directory, generation }: AdapterContext) => ({
  workspace,
  directory,
  generation,
});

function checkHandshake(said: unknown, capabilities: AdapterCapabilities): void {
  const { protocolVersion, capabilities: can } = objectOf(said, "the answer to initialize");
  if (protocolVersion !== PROTOCOL_VERSION) {
    throw violation(`the adapter speaks another version of the protocol than ${PROTOCOL_VERSION}`);
  }
  const told = objectOf(can ?? {}, "the capabilities of the adapter");
  for (const [name, isAdvertised] of Object.entries(capabilities)) {
    if ((told[name] === true) !== isAdvertised) {
      throw violation(`the driver says ${name}: ${isAdvertised}, and its program does not`);
    }
  }
}

function notified(
  context: AdapterContext,
  session: Session | undefined,
  asking: Asking,
  { method, params }: AdapterNotification,
): unknown {
  const said = objectOf(params ?? {}, `the parameters of ${method}`);
  switch (method) {
    case "observation":
      return context.observe(said as unknown as ObservedPlace & Observed);
    case "turn/ended":
      return context.terminal(said as unknown as AdapterTerminal);
    case "request/cleared": {
      const cleared = said as unknown as NativeRequest;
      const sent = asking.sent(cleared);
      return sent === undefined
        ? context.requestCleared(cleared)
        : sent.then(() => context.requestCleared(cleared));
    }
    case "session/changed":
      if (session === undefined) return undefined;
      session.native = stateOf(said);
      return context.bindingChanged();
    default:
      return context.warn(
        "unknown_notification",
        "the adapter sent a notification that the protocol does not have",
      );
  }
}

/** The reply is what the promise gives: it waits for whoever answers. */
function requested(
  context: AdapterContext,
  capabilities: AdapterCapabilities,
  asking: Asking,
  { method, params, nativeId, replied, signal }: AdapterRequest,
): Promise<unknown> {
  const isApproval = method === "approval/request";
  if (!isApproval && method !== "input/request")
    throw new AdapterRequestError(-32601, `the protocol has no request ${method.slice(0, 100)}`);
  const capability = isApproval ? "approvals" : "userInput";
  if (!capabilities[capability]) {
    const why = `: the adapter does not advertise ${capability}`;
    context.warn("request_not_advertised", `a ${method} of the adapter was refused${why}`);
    throw requestRefused(why);
  }
  const invalid = (message: string): AdapterRequestError => {
    context.warn("invalid_request", message);
    return invalidParams(message);
  };
  const asked = { ...paramsOf(method, params, invalid), nativeId };
  const tell = (): boolean => {
    try {
      return isApproval
        ? context.requestApproval(asked as unknown as AdapterApprovalRequest)
        : context.requestUserInput(asked as unknown as AdapterUserInputRequest);
    } catch (error) {
      throw invalid(thrownText(error));
    }
  };
  return new Promise((resolve, reject) =>
    asking.ask(asked, [method, params], { resolve, reject, replied, signal }, tell),
  );
}

/** Names that a request may have; what is of a wrong type elsewhere is refused by who opens it. */
const NAMES = ["nativeTurnId", "scope"] as const;

function paramsOf(
  method: string,
  params: unknown,
  invalid: (message: string) => Error,
): Record<string, unknown> & { readonly scope?: string } {
  if (typeof params !== "object" || params === null || Array.isArray(params))
    throw invalid(`the parameters of ${method} must be an object`);
  const members = params as Record<string, unknown>;
  for (const name of NAMES)
    if (members[name] !== undefined && typeof members[name] !== "string")
      throw invalid(`${name} of ${method} must be text`);
  return members;
}

/** What the program said of its session; what is of a wrong type is refused by the store. */
function stateOf(said: unknown): NativeSessionState {
  const { nativeSessionId, adapterVersion, locator, metadata } = objectOf(
    said,
    "what the adapter says of its session",
  );
  if (nativeSessionId !== undefined && typeof nativeSessionId !== "string")
    throw violation("nativeSessionId must be text");
  return {
    protocol: "agent-lifecycle",
    protocolVersion: String(PROTOCOL_VERSION),
    ...(nativeSessionId !== undefined && { nativeSessionId }),
    ...(adapterVersion !== undefined && { adapterVersion }),
    ...(locator !== undefined && { locator }),
    ...(metadata !== undefined && { metadata }),
  } as NativeSessionState;
}

function nativeFault(error: unknown): unknown {
  if (!(error instanceof ProtocolError) || error.code !== "response_error") return error;
  const code = error.details?.["rpcCode"];
  if (code === SESSION_MISSING) return new NativeSessionError("missing", "session_missing", error.message);
  if (code === SESSION_BROKEN) return new NativeSessionError("persistent", "session_broken", error.message);
  return error;
}

function environmentOf(config: AdapterConfig): Record<string, string> {
  const variables = textsOf(config, "environment").map((one): [string, string] => {
    const at = one.indexOf("=");
    if (at < 1)
      throw new LifecycleError("invalid_option", "each member of environment must be NAME=value", {
        path: "config.environment",
      });
    return [one.slice(0, at), one.slice(at + 1)];
  });
  return Object.fromEntries(variables);
}

const textsOf = (config: AdapterConfig, name: string): readonly string[] =>
  (config[name] ?? []) as readonly string[];

function objectOf(value: unknown, what: string, phase?: RuntimePhase): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw violation(`${what} must be an object`, phase);
}

const violation = (message: string, phase: RuntimePhase = "start"): ProtocolError =>
  new ProtocolError("protocol_violation", message, { phase });
