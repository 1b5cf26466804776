// One live generation of a session: its turns and events, from the prompt to disposal.
import { guarded, thrownText } from "../callbacks.js";
import type { UserInputAnswers } from "./approval.js";
import { ProtocolError, type RuntimeError, type RuntimePhase, TurnError } from "./errors.js";
import { Harness, type HarnessEnd } from "./harness.js";
import { Held } from "./held.js";
import { type NativeBinding, isLost } from "./native-binding.js";
import type { TurnInput } from "./observation.js";
import type { RuntimeDiagnostic, RuntimeInstance } from "./registry.js";
import type { AgentRuntimeSemanticEvent } from "./semantic-event.js";
import { nativeFault } from "./native-fault.js";
import { LEAST_SECRET, type SafeText } from "./safe-text.js";
import { SessionDiagnostics } from "./session-diagnostics.js";
import { SessionRequests, ofTurn } from "./session-requests.js";
import type { SessionRows } from "./session-rows.js";
import {
  type RuntimePrompt,
  type RuntimeSession,
  type RuntimeSessionState,
  type RuntimeSessionStatus,
  type RuntimeTurnResult,
  promptOf,
} from "./session.js";
import { type Turn, deferred, newTurn } from "./turn.js";
import { TurnSequencer } from "./turn-sequencer.js";
import { awake, within } from "./within.js";

/** What a live session is made from. */
export interface LiveSessionParts {
  readonly instance: RuntimeInstance;
  readonly binding: NativeBinding;
  readonly workspace: string;
  readonly directory: string;
  readonly secrets: readonly string[];
  /** How texts of the driver and the harness are shown. */
  readonly safe: SafeText;
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

/** The machinery behind a `RuntimeSession`. */
export class LiveSession {
  readonly #parts: LiveSessionParts;
  readonly #harness: Harness;
  readonly #sequencer: TurnSequencer;
  readonly #requests: SessionRequests;
  readonly #held = new Held(() => this.#requests.isAnswering);
  readonly #diagnostics: SessionDiagnostics;
  readonly #outbox: AgentRuntimeSemanticEvent[] = [];
  /** Ends whoever waits for the harness. */
  readonly #end: (error: RuntimeError) => void;
  readonly #over: Promise<never>;
  /** When what the adapter said of its native session is written, or could not be. */
  #kept: Promise<unknown> = Promise.resolve();
  #endedBy: RuntimeError | undefined;
  /** When the native session is there: it is not while it is replaced. Never rejects. */
  #ready: Promise<void> = Promise.resolve();
  #state: RuntimeSessionState = "starting";
  #turn: Turn | undefined;
  #isDelivering = false;
  #disposed: Promise<void> | undefined;

  constructor(parts: LiveSessionParts) {
    this.#parts = parts;
    this.#diagnostics = new SessionDiagnostics(parts.safe, parts.onDiagnostic);
    const { instance, binding, workspace, directory, secrets } = parts;
    const { productSessionId, generation } = binding.stored;
    const { capabilities, nativeTurnIds } = instance.driver;
    const { promise, reject } = deferred<never>();
    this.#over = promise;
    this.#end = (error) => {
      this.#endedBy ??= error;
      reject(error);
    };
    this.#sequencer = new TurnSequencer({ productSessionId, generation, nativeTurnIds, secrets });
    const warn = this.#warn.bind(this);
    const hide = this.#hide.bind(this);
    this.#requests = new SessionRequests({
      generation,
      secrets,
      over: this.#over,
      harness: () => this.#harness,
      opened: (request) => this.#feed({ input: "requestOpened", ...request }),
      resolved: (resolution) => this.#feed({ input: "requestResolved", ...resolution }),
      answered: () => this.#held.release(),
      hide: (secret) => this.#hideAnswer(secret),
      refused: (code, message) => this.#feed({ input: "observation", kind: "warning", code, message }),
      warn,
    });
    const isTaken = (capability: "approvals" | "userInput") => {
      if (!capabilities[capability])
        warn("capability_unavailable", `the adapter asks and does not advertise ${capability}`);
      return capabilities[capability];
    };
    const turnOf = (nativeTurnId: string | undefined) => this.#sequencer.turnOf(nativeTurnId);
    this.#harness = new Harness({
      instance,
      binding,
      workspace,
      directory,
      secrets,
      over: this.#over,
      listener: {
        // What it is comes last: members of the harness do not choose it.
        observe: (observation) =>
          this.#held.next(() => this.#hear({ ...observation, input: "observation" }), observation),
        terminal: (terminal) =>
          this.#held.last(() => this.#hear({ ...terminal, input: "terminal" }), terminal),
        requestApproval: ({ nativeTurnId, ...request }) => {
          const { isOver, turnId } = turnOf(nativeTurnId);
          if (isOver || !isTaken("approvals")) return false;
          return this.#requests.ask(ofTurn({ ...request, ask: "approval" }, turnId));
        },
        requestUserInput: ({ nativeTurnId, ...request }) => {
          const { isOver, turnId } = turnOf(nativeTurnId);
          if (isOver || !isTaken("userInput")) return false;
          return this.#requests.ask(ofTurn({ ...request, ask: "userInput" }, turnId));
        },
        requestCleared: (request) => this.#held.last(() => this.#requests.withdraw(request), request),
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
    // What is gone already is not opened.
    if (this.#endedBy !== undefined) throw this.#endedBy;
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
    if (this.#disposed === undefined) {
      // Known before anything is told: a listener may ask for it again.
      const { promise, resolve } = deferred<void>();
      this.#disposed = promise;
      void this.#dispose().finally(resolve);
    }
    return this.#disposed;
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
      diagnostics: this.#diagnostics.kept(),
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
      const asked = this.#ready.then(() => {
        const { driver, native } = this.#harness;
        return driver.prompt(native, { turnId, ...prompt });
      });
      const { nativeTurnId } = (await Promise.race([asked, this.#over, turn.abandoned])) ?? {};
      // A native id may be known only now. It is read before anybody is told of the turn, for they may dispose of the session. What
      // cannot be written is told, and where it was lost the session ends.
      this.#keepBinding().catch(() => undefined);
      this.#feed({ input: "accepted", turnId, ...(nativeTurnId !== undefined && { nativeTurnId }) });
    } catch (error) {
      this.#feed({ input: "rejected", turnId });
      // What the harness said before may have accepted and ended it.
      if (this.#turn !== turn) return turn.ended;
      this.#endTurn();
      const message = `the harness did not accept the turn: ${this.#parts.safe.of(thrownText(error))}`;
      throw this.#turnError("turn_rejected", message, "prompt", error);
    }
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
      const message = `the harness did not take it: ${this.#parts.safe.of(thrownText(error))}`;
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
    await this.#ready;
    const { driver, native } = this.#harness;
    if (driver.capabilities.abort && native !== undefined) {
      const cancelled = Promise.resolve().then(() => driver.abort!(native, { turnId }));
      const ended = Promise.race([turn.over, cancelled.then(() => turn.over)]);
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
    if (this.#turn === turn && this.#disposed === undefined) await this.#escalate(turn);
  }

  /** The harness does not end the turn: its own process is replaced, or the turn ends without it. */
  async #escalate(turn: Turn): Promise<void> {
    if (this.#harness.isReplaceable()) {
      // Who prompts meanwhile waits for it.
      this.#ready = this.#replace(turn);
      return this.#ready;
    }
    this.#warn("abort_unconfirmed", "the harness did not say that the turn ended: it may still work at it");
    this.#endByDeadline(turn);
  }

  /** Never rejects. */
  async #replace(turn: Turn): Promise<void> {
    this.#feed({ input: "observation", kind: "adapter", state: "restarting" });
    await this.#harness.disconnect(this.#parts.abortMs);
    this.#endByDeadline(turn);
    try {
      if (this.#disposed !== undefined) return;
      await this.#connect();
      this.#feed({ input: "observation", kind: "adapter", state: "ready" });
    } catch (error) {
      await this.#noteFault(error);
      this.#close({ message: `the adapter did not start again: ${thrownText(error)}` });
    }
  }

  #endByDeadline(turn: Turn): void {
    this.#feed({ input: "deadline", turnId: turn.turnId });
    // A turn that was never accepted ends without an event.
    const message = "the turn was aborted before the harness accepted it";
    if (this.#turn === turn) turn.abandon(this.#turnError("turn_aborted", message, "abort"));
  }

  /** Writes what a failure says of the native session. */
  async #noteFault(error: unknown): Promise<void> {
    const { binding, safe } = this.#parts;
    const fault = nativeFault(binding.stored, error, safe);
    if (fault === undefined) return;
    const { state, ...diagnostic } = fault;
    try {
      await binding.fail(state, { ...diagnostic, at: new Date().toISOString() });
    } catch (unwritten) {
      this.#warn("binding_not_written", thrownText(unwritten));
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
      await this.#harness.releaseAll(disposeMs / 10);
    };
    const late = () => new Error(`not done within ${disposeMs} ms: forced`);
    for (const work of [async () => void (await Promise.all([letGo(), rows?.close()])), onDisposed]) {
      try {
        await within(disposeMs, work(), late);
      } catch (error) {
        this.#warn("dispose_forced", thrownText(error));
      }
    }
  }

  /** The harness is gone, unasked. */
  #close(end: HarnessEnd): void {
    if (this.#endedBy !== undefined || this.#disposed !== undefined) return;
    this.#held.release();
    const { exitCode, signal } = end;
    const message = end.message === undefined ? undefined : this.#parts.safe.of(end.message);
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
    // A listener may have disposed of it.
    if (this.#disposed === undefined) this.#state = "closed";
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
      if (isLost(error)) {
        await this.loseRace();
      } else if (nativeFault(this.#parts.binding.stored, error, this.#parts.safe) !== undefined) {
        await this.#noteFault(error);
        this.#close({ message: thrownText(error) });
      }
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
      this.#hideAnswer(secret);
    } catch (error) {
      this.#warn("secret_not_hidden", thrownText(error));
    }
  }

  /** Throws where there are too many: such an answer is not sent. One that is too short to be found in texts is, and that is told. */
  #hideAnswer(secret: string): void {
    if (secret.length < LEAST_SECRET) {
      this.#warn(
        "secret_not_hidden",
        `it is shorter than ${LEAST_SECRET} units: it cannot be found in texts`,
      );
      return;
    }
    this.#sequencer.hide(secret);
    this.#requests.hide(secret);
    this.#parts.safe.hide(secret);
  }

  #feed(input: Untimed): void {
    if (this.#state === "disposed") return;
    const events = this.#sequencer.push({ ...input, at: new Date().toISOString() } as TurnInput);
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
    this.#turn?.leave();
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
    const safe = cause === undefined ? {} : { cause: this.#parts.safe.cause(cause) };
    return new TurnError(code, message, { phase, correlationId, ...safe });
  }

  #warn(code: string, message: string): void {
    this.#diagnostics.warn(code, message);
  }
}

type Untimed = TurnInput extends infer Input
  ? Input extends { at: string }
    ? Omit<Input, "at">
    : never
  : never;
