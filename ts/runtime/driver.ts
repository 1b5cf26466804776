// What an adapter provides: a driver, which is a table of operations over live sessions of one kind of harness.
import type { AdapterProcess, AdapterProcessOptions } from "./adapter-process.js";
import type { Json } from "../contract.js";
import type { AskedApproval, AskedUserInput, NativeRequestKey, UserInputAnswers } from "./approval.js";
import type { BindingContent } from "./binding.js";
import type { MaybeUndefined, Observed, ObservedPlace } from "./observation.js";
import type { RequestOutcome, RuntimeUsage } from "./semantic-event.js";

/** How the harness is reached. */
export type AdapterTransport = "process" | "in-process" | "remote";

/**
 * What an adapter can do. Each capability stands for one operation of its driver: a driver has the operation if and only if it
 * advertises the capability.
 */
export interface AdapterCapabilities {
  /** A native session outlives the process and can be opened again by its id: `resumeSession`. */
  readonly resume: boolean;
  /** An active turn can be changed: `steer`. Queueing another turn is not steering. */
  readonly steering: boolean;
  /** An active turn can be cancelled while the session lives on: `abort`. */
  readonly abort: boolean;
  /** The harness asks for approvals and takes answers: `respondToApproval`. */
  readonly approvals: boolean;
  /** The harness asks structured questions and takes answers: `respondToUserInput`. */
  readonly userInput: boolean;
}

/** One member of an instance's configuration. */
export interface ConfigField {
  readonly type: "string" | "number" | "boolean" | "strings";
  /** False by default. */
  readonly required?: boolean | undefined;
  readonly default?: ConfigValue | undefined;
  /** Its value is redacted wherever it would be shown. */
  readonly secret?: boolean | undefined;
  readonly description?: string | undefined;
}

export type ConfigValue = string | number | boolean | readonly string[];

/** The members that an instance's configuration may have; there are no others. */
export type ConfigSchema = Readonly<Record<string, ConfigField>>;

/** An instance's configuration after the check, with the defaults in it. */
export type AdapterConfig = Readonly<Record<string, ConfigValue>>;

/** What a driver says of one instance on this machine. Everything in it is shown to people, redacted and bounded. */
export interface AdapterDiagnosis {
  readonly available: boolean;
  /** The version of the harness, where it was found. */
  readonly version?: string | undefined;
  readonly diagnostics?: readonly { readonly code: string; readonly message: string }[] | undefined;
}

/** What the adapter knows of a native session. Locator and metadata are the adapter's own and never shown. */
export type NativeSessionState = Pick<
  BindingContent,
  "nativeSessionId" | "protocol" | "protocolVersion" | "adapterVersion" | "locator" | "metadata"
>;

export interface AdapterPrompt {
  /** The turn's id, minted by the session; never a native one. */
  readonly turnId: string;
  readonly text: string;
  /** Who prompts, such as `user`. */
  readonly source: string;
  readonly capabilityScope?: string | undefined;
}

/** A request for leave, as the harness names things. */
export type AdapterApprovalRequest = Omit<AskedApproval, "ask" | "turnId"> & OfNativeTurn;

/** Questions, as the harness names things. */
export type AdapterUserInputRequest = Omit<AskedUserInput, "ask" | "turnId"> & OfNativeTurn;

interface OfNativeTurn {
  /** The harness's turn; without it, the one that is on. */
  readonly nativeTurnId?: string | undefined;
}

/** How a harness names a request that is answered or has ended: the members that were given with it. */
export type NativeRequest = Omit<NativeRequestKey, "turnId">;

/** The harness says that a turn ended. */
export interface AdapterTerminal {
  readonly nativeTurnId?: string | undefined;
  readonly scope?: string | undefined;
  readonly status: "completed" | "interrupted" | "failed";
  readonly message?: string | undefined;
  readonly details?: Json | undefined;
  readonly usage?: MaybeUndefined<RuntimeUsage> | undefined;
}

/** What a driver works with while one session is open. */
export interface AdapterContext {
  readonly productSessionId: string;
  readonly runtimeInstanceId: string;
  /** The live generation; credentials and files of another are not valid. */
  readonly generation: number;
  /** The folder that the agent works in. */
  readonly workspace: string;
  readonly config: AdapterConfig;
  /** A private folder (0700) of this generation, removed at its end. */
  readonly directory: string;
  /** Aborted when opening takes too long or the session is disposed of. */
  readonly signal: AbortSignal;
  /** Says what the harness did. Order, repeats and lateness are the session's matter. */
  observe(observation: ObservedPlace & Observed): void;
  /** Says that the harness ended a turn. */
  terminal(terminal: AdapterTerminal): void;
  /** The harness asks for a decision. False where it was refused, for there are too many or it is beyond the limits: answer with the protocol's own refusal. */
  requestApproval(request: AdapterApprovalRequest): boolean;
  /** The harness asks questions. False as for `requestApproval`. */
  requestUserInput(request: AdapterUserInputRequest): boolean;
  /** The harness withdrew a request, or answered it by itself. */
  requestCleared(request: NativeRequest): void;
  /** What `getBinding` gives has changed: the session writes it down, and resolves when it is written. Rejects where the session lost it to another. */
  bindingChanged(): Promise<void>;
  /** Keeps a native id for this session while its artifact is not durable yet. */
  reserveNative(nativeSessionId: string): Promise<void>;
  /** Starts a process of this session's own: in its directory's environment, ended with the session. */
  startProcess(options: AdapterProcessStart): Promise<AdapterProcess>;
  /** The connection to the harness is gone: the session ends with it. */
  closed(reason: string): void;
  /** Runs at dispose, the last first: revokes a credential, removes what was generated. */
  onDispose(release: () => void | Promise<void>): void;
  /** A credential that the adapter made or read, of 8 UTF-16 code units or more: it is shown nowhere from now on. */
  hide(secret: string): void;
  /** What people should know, redacted and bounded. */
  warn(code: string, message: string): void;
}

/** Options of a process of the session's own; the session gives the rest. */
export type AdapterProcessStart = Omit<AdapterProcessOptions, "ownership" | "correlationId">;

/** An adapter. `Session` is whatever the driver makes for one live session. */
export interface RuntimeDriver<Session = unknown> {
  /** `^[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*$`. */
  readonly adapterId: string;
  readonly transport: AdapterTransport;
  readonly capabilities: AdapterCapabilities;
  /** Whether the harness has ids of its own for turns and says them with what belongs to one. */
  readonly nativeTurnIds: boolean;
  readonly configSchema?: ConfigSchema | undefined;
  /** Whether an instance can be used here, without starting a session. */
  diagnose?(instance: {
    readonly config: AdapterConfig;
    readonly signal: AbortSignal;
  }): Promise<AdapterDiagnosis>;
  /** A new native session. It may have no id yet. */
  openSession(context: AdapterContext): Promise<Session>;
  /**
   * Exactly this native session. Throws a `NativeSessionError`: `missing` where the harness does not have it, `persistent` where it
   * will not open; anything else that is thrown says nothing about the native session. Never makes a replacement.
   */
  resumeSession?(
    context: AdapterContext,
    native: NativeSessionState & { readonly nativeSessionId: string },
  ): Promise<Session>;
  /** The live state: with the id as soon as there is a durable one. */
  getBinding(session: Session): NativeSessionState;
  /** Resolves when the harness has accepted the turn, with its native id where there is one; a rejection says that it did not. */
  prompt(session: Session, prompt: AdapterPrompt): Promise<{ readonly nativeTurnId?: string | undefined }>;
  steer?(session: Session, prompt: AdapterPrompt): Promise<void>;
  /**
   * Asks the harness to cancel; the turn ends with the terminal that is observed. It may come when the turn has ended already: then it
   * does nothing, and not to the next turn either.
   */
  abort?(session: Session, turn: { readonly turnId: string }): Promise<void>;
  /** Resolves when the reply is written. */
  respondToApproval?(session: Session, request: NativeRequest, decisionId: string): Promise<void>;
  respondToUserInput?(session: Session, request: NativeRequest, answers: UserInputAnswers): Promise<void>;
  /** A request ended without an answer: the harness still waits for one, so give it the protocol's own refusal. */
  requestEnded?(session: Session, request: NativeRequest, outcome: RequestOutcome): void;
  /** Ends the live session, not the native one. It may be called again. */
  dispose(session: Session): Promise<void>;
}

/** The operations behind the capabilities. */
export const CAPABILITY_METHODS = {
  resume: "resumeSession",
  steering: "steer",
  abort: "abort",
  approvals: "respondToApproval",
  userInput: "respondToUserInput",
} as const satisfies Record<keyof AdapterCapabilities, keyof RuntimeDriver>;

/** What a driver throws where it knows something about the native session itself. */
export class NativeSessionError extends Error {
  /** `missing`: the harness does not have it. `persistent`: it has, or may have, but it does not open. */
  readonly kind: "missing" | "persistent";
  /** A stable word of the adapter's own. */
  readonly code: string;

  constructor(kind: "missing" | "persistent", code: string, message: string) {
    super(message);
    this.name = "NativeSessionError";
    this.kind = kind;
    this.code = code;
  }
}
