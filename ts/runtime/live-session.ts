// One live generation of a session: its turns and events, from the prompt to disposal.
import { randomUUID } from "node:crypto";
import { guarded, thrownText } from "../callbacks.js";
import { redact } from "../redact.js";
import type { UserInputAnswers } from "./approval.js";
import { ProtocolError, type RuntimeError, type RuntimePhase, TurnError } from "./errors.js";
import { Harness, type HarnessEnd } from "./harness.js";
import { Held } from "./held.js";
import { type NativeBinding, isLost } from "./native-binding.js";
import type { TurnInput } from "./observation.js";
import type { RuntimeDiagnostic, RuntimeInstance } from "./registry.js";
import type { AgentRuntimeSemanticEvent } from "./semantic-event.js";
import { SessionRequests } from "./session-requests.js";
import type { SessionRows } from "./session-rows.js";
import {
  type RuntimePrompt,
  type RuntimeSession,
  type RuntimeSessionState,
  type RuntimeSessionStatus,
  type RuntimeTurnResult,
  promptOf,
} from "./session.js";
import { safeCause } from "./safe-cause.js";
import { TurnSequencer } from "./turn-sequencer.js";
import { awake, within } from "./within.js";

/** What a live session is made from. */
export interface LiveSessionParts {
  readonly instance: RuntimeInstance;
  readonly binding: NativeBinding;
  readonly workspace: string;
  readonly directory: string;
  readonly secrets: readonly string[];
  readonly openMs: number;
  readonly abortMs: number;
  readonly disposeMs: number;
  readonly onEvent: ((event: AgentRuntimeSemanticEvent) => unknown) | undefined;
  readonly onDiagnostic: ((diagnostic: RuntimeDiagnostic) => unknown) | undefined;
  /** The session's rows, told before the host is. */
  readonly rows: SessionRows | undefined;
  /** Runs last. */
  readonly onDisposed: () => Promise<void>;
}

interface Turn {
  readonly turnId: string;
  readonly ended: Promise<RuntimeTurnResult>;
  end(result: RuntimeTurnResult): void;
  aborting?: Promise<void>;
}

const MOST_DIAGNOSTICS = 32;

/** The machinery behind a `RuntimeSession`. */
export class LiveSession {
  readonly #parts: LiveSessionParts;
  readonly #harness: Harness;
  readonly #sequencer: TurnSequencer;
  readonly #requests: SessionRequests;
  readonly #held = new Held(() => this.#requests.isAnswering);
  readonly #secrets: string[];
  readonly #diagnostics: RuntimeDiagnostic[] = [];
  readonly #outbox: AgentRuntimeSemanticEvent[] = [];
  /** Ends whoever waits for the harness. */
  readonly #end: (error: RuntimeError) => void;
  readonly #over: Promise<never>;
  /** When what the adapter said of its native session is written, or could not be. */
  #kept: Promise<unknown> = Promise.resolve();
  #endedBy: RuntimeError | undefined;
  #state: RuntimeSessionState = "starting";
  #turn: Turn | undefined;
  #isDelivering = false;
  #disposed: Promise<void> | undefined;

  constructor(parts: LiveSessionParts) {
    this.#parts = parts;
    const { instance, binding, workspace, directory, secrets } = parts;
    const { productSessionId, generation } = binding.stored;
    const { nativeTurnIds } = instance.driver;
    const { promise, reject } = ending();
    this.#over = promise;
    this.#end = (error) => {
      this.#endedBy ??= error;
      reject(error);
    };
    this.#sequencer = new TurnSequencer({ productSessionId, generation, nativeTurnIds, secrets });
    this.#secrets = [...secrets];
    const warn = (code: string, message: string) => this.#warn(code, message);
    const hide = (secret: string) => this.#hide(secret);
    this.#requests = new SessionRequests({
      generation,
      secrets,
      over: this.#over,
      harness: () => this.#harness,
      opened: (request) => this.#feed({ input: "requestOpened", ...request }),
      resolved: (resolution) => this.#feed({ input: "requestResolved", ...resolution }),
      answered: () => this.#held.release(),
      hide,
      warn,
    });
    const requests = this.#requests;
    const turnOf = (nativeTurnId: string | undefined) => this.#sequencer.turnOf(nativeTurnId);
    this.#harness = new Harness({
      instance,
      binding,
      workspace,
      directory,
      secrets,
      over: this.#over,
      listener: {
        observe: (observation) => this.#held.next(() => this.#hear({ input: "observation", ...observation })),
        terminal: (terminal) => this.#held.last(() => this.#hear({ input: "terminal", ...terminal })),
        requestApproval: ({ nativeTurnId, ...request }) => {
          const { isOver, ...turn } = turnOf(nativeTurnId);
          return !isOver && requests.ask({ ask: "approval", ...request, ...turn });
        },
        requestUserInput: ({ nativeTurnId, ...request }) => {
          const { isOver, ...turn } = turnOf(nativeTurnId);
          return !isOver && requests.ask({ ask: "userInput", ...request, ...turn });
        },
        requestCleared: (request) => this.#held.last(() => requests.withdraw(request)),
        bindingChanged: () => this.#keepBinding(),
        ended: (end) => this.#close(end),
        hide,
        warn,
      },
    });
  }

  /** Opens or resumes the native session and writes the binding. Whatever is thrown: dispose then. */
  async start(): Promise<void> {
    this.#feed({ input: "observation", kind: "adapter", state: "starting" });
    await this.#connect();
    this.#state = "idle";
    this.#feed({ input: "observation", kind: "adapter", state: "ready" });
  }

  /** What the host gets. */
  face(): RuntimeSession {
    const { runtimeInstanceId, driver } = this.#parts.instance;
    const { productSessionId, generation } = this.#parts.binding.stored;
    const { capabilities, adapterId } = driver;
    return Object.freeze({
      productSessionId,
      runtimeInstanceId,
      adapterId,
      generation,
      capabilities: Object.freeze({ ...capabilities }),
      status: () => this.#status(),
      prompt: (prompt: RuntimePrompt) => awake(this.#prompt(prompt)),
      abort: () => this.#abort(),
      dispose: () => this.dispose(),
      [Symbol.asyncDispose]: () => this.dispose(),
      ...(capabilities.steering && { steer: (prompt: RuntimePrompt) => this.#steer(prompt) }),
      ...(capabilities.approvals && {
        respondToApproval: (requestId: string, decision: string) =>
          this.#requests.respondToApproval(requestId, decision),
      }),
      ...(capabilities.userInput && {
        respondToUserInput: (requestId: string, answers: UserInputAnswers) =>
          this.#requests.respondToUserInput(requestId, answers),
      }),
    });
  }

  dispose(): Promise<void> {
    return (this.#disposed ??= this.#dispose());
  }

  /** A text of the adapter without the secrets that are known by now, bounded. */
  safeText(text: string): string {
    return redact(text.slice(0, 2000), { secrets: this.#secrets });
  }

  /** What the adapter threw, as it may be given on. */
  safeCause(error: unknown): unknown {
    return safeCause(error, (text) => redact(text, { secrets: this.#secrets }));
  }

  /** Another has the binding: what was made natively is noted, and this session ends. */
  async loseRace(): Promise<void> {
    const { binding } = this.#parts;
    try {
      const made = this.#harness.state()?.nativeSessionId;
      if (made !== undefined && made !== binding.stored.nativeSessionId) await binding.orphan(made);
    } catch (error) {
      this.#warn("orphan_not_noted", thrownText(error));
    }
    await this.dispose();
  }

  #status(): RuntimeSessionStatus {
    const { approvals, userInputs } = this.#requests.pending();
    const { state, revision, generation } = this.#parts.binding.stored;
    return {
      state: this.#state,
      turnId: this.#turn?.turnId ?? null,
      pendingApproval: approvals[0] ?? null,
      pendingUserInput: userInputs[0] ?? null,
      pendingRequests: approvals.length + userInputs.length,
      binding: { state, revision, generation },
      turns: this.#sequencer.stats(),
      diagnostics: [...this.#diagnostics],
    };
  }

  async #connect(): Promise<void> {
    await this.#harness.connect(this.#parts.openMs);
    await this.#parts.binding.keep(this.#harness.state() ?? {});
  }

  async #prompt(given: RuntimePrompt): Promise<RuntimeTurnResult> {
    const prompt = promptOf(given);
    this.#checkUsable("prompt");
    if (this.#turn !== undefined)
      throw this.#turnError("turn_active", "a turn is on: wait for its end, or abort it", "prompt");
    const turn = newTurn();
    const { turnId } = turn;
    this.#turn = turn;
    this.#state = "streaming";
    this.#feed({ input: "begin", turnId });
    try {
      const { driver, native } = this.#harness;
      const asked = Promise.resolve().then(() => driver.prompt(native, { turnId, ...prompt }));
      const { nativeTurnId } = (await Promise.race([asked, this.#over])) ?? {};
      this.#feed({ input: "accepted", turnId, ...(nativeTurnId !== undefined && { nativeTurnId }) });
    } catch (error) {
      this.#feed({ input: "rejected", turnId });
      // What the harness said before may have accepted and ended it.
      if (this.#turn !== turn) return turn.ended;
      this.#endTurn();
      const message = `the harness did not accept the turn: ${this.safeText(thrownText(error))}`;
      throw this.#turnError("turn_rejected", message, "prompt", error);
    }
    // A native id may be known only now. What cannot be written is told, and where it was lost the session ends.
    this.#keepBinding().catch(() => undefined);
    const result = await turn.ended;
    // What became known in the turn is written before the host goes on.
    await this.#kept;
    return result;
  }

  async #steer(given: RuntimePrompt): Promise<void> {
    const prompt = promptOf(given);
    this.#checkUsable("turn");
    const turn = this.#sequencer.stats().turn;
    if (turn?.accepted !== true)
      throw this.#turnError("no_turn", "no turn is on that could be changed: prompt instead", "turn");
    try {
      const { driver, native } = this.#harness;
      const steered = Promise.resolve().then(() => driver.steer!(native, { turnId: turn.turnId, ...prompt }));
      await Promise.race([steered, this.#over]);
    } catch (error) {
      const message = `the harness did not take it: ${this.safeText(thrownText(error))}`;
      throw this.#turnError("steer_failed", message, "turn", error);
    }
  }

  #abort(): Promise<void> {
    const turn = this.#turn;
    if (turn === undefined || this.#disposed !== undefined) return Promise.resolve();
    return (turn.aborting ??= this.#abortTurn(turn));
  }

  async #abortTurn(turn: Turn): Promise<void> {
    const { turnId } = turn;
    this.#requests.end(turnId, "aborted");
    this.#feed({ input: "abort", turnId });
    const { driver, native } = this.#harness;
    if (driver.capabilities.abort) {
      const cancelled = Promise.resolve().then(() => driver.abort!(native, { turnId }));
      const ended = Promise.race([turn.ended, cancelled.then(() => turn.ended)]);
      const { abortMs } = this.#parts;
      try {
        await within(
          abortMs,
          ended,
          () => new Error(`the harness did not end the turn within ${abortMs} ms`),
        );
      } catch (error) {
        this.#warn("abort_failed", thrownText(error));
      }
    }
    if (this.#turn === turn) await this.#escalate(turnId);
  }

  /** The harness does not end the turn: its own process is replaced, or the turn ends without it. */
  async #escalate(turnId: string): Promise<void> {
    if (!this.#harness.isReplaceable()) {
      this.#warn("abort_unconfirmed", "the harness did not say that the turn ended: it may still work at it");
      this.#feed({ input: "deadline", turnId });
      return;
    }
    this.#feed({ input: "observation", kind: "adapter", state: "restarting" });
    await this.#harness.disconnect(this.#parts.abortMs);
    this.#feed({ input: "deadline", turnId });
    try {
      if (this.#disposed !== undefined) return;
      await this.#connect();
      this.#feed({ input: "observation", kind: "adapter", state: "ready" });
    } catch (error) {
      this.#close({ message: `the adapter did not start again: ${thrownText(error)}` });
    }
  }

  async #dispose(): Promise<void> {
    this.#held.release();
    this.#requests.end(undefined, this.#turn?.aborting === undefined ? "cleared" : "aborted");
    this.#feed({ input: "close" });
    this.#state = "disposed";
    this.#end(this.#turnError("session_disposed", "the session is disposed of", "dispose"));
    const { disposeMs, rows, onDisposed } = this.#parts;
    const letGo = async () => {
      await this.#harness.disconnect(disposeMs / 2);
      await this.#harness.releaseAll();
      await rows?.close();
    };
    try {
      await within(disposeMs, letGo(), () => new Error(`not done within ${disposeMs} ms: forced`));
    } catch (error) {
      this.#warn("dispose_forced", thrownText(error));
    }
    try {
      await onDisposed();
    } catch (error) {
      this.#warn("dispose_failed", thrownText(error));
    }
  }

  /** The harness is gone, unasked. */
  #close(end: HarnessEnd): void {
    if (this.#endedBy !== undefined) return;
    this.#held.release();
    const { exitCode, signal } = end;
    const message = end.message === undefined ? undefined : this.safeText(end.message);
    const text = ["the harness is gone", exitCode !== undefined && `exit code ${exitCode}`, signal, message];
    this.#end(
      new ProtocolError("session_closed", text.filter(Boolean).join(": "), {
        phase: "turn",
        correlationId: this.#parts.binding.stored.productSessionId,
        details: { exitCode: exitCode ?? null, signal: signal ?? null },
      }),
    );
    this.#feed({ input: "exit", ...end, ...(message !== undefined && { message }) });
    this.#requests.end(undefined, "cleared");
    this.#state = "closed";
  }

  #keepBinding(): Promise<void> {
    const keeping = this.#writeBinding();
    this.#kept = Promise.allSettled([this.#kept, keeping]).then(() => undefined);
    return keeping;
  }

  async #writeBinding(): Promise<void> {
    const native = this.#harness.state();
    if (native === undefined || this.#disposed !== undefined) return;
    try {
      await this.#parts.binding.keep(native);
    } catch (error) {
      this.#warn("binding_not_written", thrownText(error));
      if (isLost(error)) await this.loseRace();
      throw error;
    }
  }

  /** What an adapter says. What is no observation is told and costs nothing else. */
  #hear(input: Untimed): void {
    try {
      this.#feed(input);
    } catch (error) {
      this.#warn("invalid_observation", thrownText(error));
    }
  }

  #hide(secret: string): void {
    try {
      this.#sequencer.hide(secret);
      this.#requests.hide(secret);
      this.#secrets.push(secret);
    } catch (error) {
      // Too short to be found in a text, or one too many.
      this.#warn("secret_not_hidden", thrownText(error));
    }
  }

  #feed(input: Untimed): void {
    if (this.#state === "disposed") return;
    const events = this.#sequencer.push({ at: new Date().toISOString(), ...input } as TurnInput);
    for (const event of events) this.#requests.note(event);
    this.#outbox.push(...events);
    this.#deliver();
  }

  /** In order, also where a listener makes more events. A prompt settles after the end of its turn was told. */
  #deliver(): void {
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    for (let event = this.#outbox.shift(); event !== undefined; event = this.#outbox.shift()) {
      const told = event;
      if (told.kind === "turn_completed" || told.kind === "turn_failed") this.#finish(told);
      this.#parts.rows?.push(told);
      guarded(
        () => this.#parts.onEvent?.(told),
        (error) => this.#warn("callback_failed", thrownText(error)),
      );
    }
    this.#isDelivering = false;
  }

  #finish(event: AgentRuntimeSemanticEvent & { kind: "turn_completed" | "turn_failed" }): void {
    const turn = this.#turn;
    if (turn?.turnId !== event.turnId) return;
    this.#endTurn();
    turn.end({ turnId: turn.turnId, status: event.kind === "turn_failed" ? "failed" : event.status });
  }

  #endTurn(): void {
    this.#turn = undefined;
    if (this.#state === "streaming") this.#state = "idle";
  }

  #checkUsable(phase: RuntimePhase): void {
    if (this.#disposed !== undefined)
      throw this.#turnError("session_disposed", "the session is disposed of: open it again", phase);
    const cause = this.#endedBy;
    if (cause === undefined) return;
    throw this.#turnError(
      "session_closed",
      `${cause.message}: dispose of it and open it again`,
      phase,
      cause,
    );
  }

  #turnError(code: string, message: string, phase: RuntimePhase, cause?: unknown): TurnError {
    const correlationId = this.#turn?.turnId ?? this.#parts.binding.stored.productSessionId;
    const given = cause === undefined ? {} : { cause: this.safeCause(cause) };
    return new TurnError(code, message, { phase, correlationId, ...given });
  }

  #warn(code: string, message: string): void {
    const diagnostic = { code: this.safeText(code), message: this.safeText(message) };
    if (this.#diagnostics.push(diagnostic) > MOST_DIAGNOSTICS) this.#diagnostics.shift();
    guarded(
      () => this.#parts.onDiagnostic?.(diagnostic),
      () => undefined,
    );
  }
}

type Untimed = TurnInput extends infer Input
  ? Input extends { at: string }
    ? Omit<Input, "at">
    : never
  : never;

function newTurn(): Turn {
  let end!: Turn["end"];
  const ended = new Promise<RuntimeTurnResult>((resolve) => {
    end = resolve;
  });
  return { turnId: randomUUID(), ended, end };
}

function ending(): { promise: Promise<never>; reject: (error: RuntimeError) => void } {
  let reject!: (error: RuntimeError) => void;
  const promise = new Promise<never>((_, refuse) => {
    reject = refuse;
  });
  // Not everybody waits for it.
  promise.catch(() => undefined);
  return { promise, reject };
}
