// The native side of one live session: the driver's session, its processes, and what its context gives the driver.
import { thrownText } from "../callbacks.js";
import { AdapterProcess, type AdapterProcessEnd } from "./adapter-process.js";
import type { AdapterContext, AdapterProcessStart, NativeSessionState, RuntimeDriver } from "./driver.js";
import { ProtocolError } from "./errors.js";
import { type NativeBinding, nativeStateOf } from "./native-binding.js";
import type { RuntimeInstance } from "./registry.js";
import { LEAST_SECRET } from "./safe-text.js";
import { within } from "./within.js";

/** How a harness ended, as far as it is known. */
export interface HarnessEnd {
  readonly exitCode?: number;
  readonly signal?: string;
  readonly message?: string;
}

/** Who listens to a harness. */
export type HarnessListener = Pick<
  AdapterContext,
  | "observe"
  | "terminal"
  | "requestApproval"
  | "requestUserInput"
  | "requestCleared"
  | "bindingChanged"
  | "hide"
  | "warn"
> & {
  /** It is gone, unasked. */
  ended(end: HarnessEnd): void;
};

export interface HarnessOptions {
  readonly instance: RuntimeInstance;
  readonly binding: NativeBinding;
  readonly workspace: string;
  readonly directory: string;
  readonly secrets: readonly string[];
  readonly listener: HarnessListener;
  /** Rejects when the session ends in whatever way. */
  readonly over: Promise<never>;
}

const MOST_RELEASES = 1024;
const MOST_PROCESSES = 16;
/** Milliseconds that a release of a session that opened too late may take. */
const LATE_RELEASE_MS = 5000;

/** One at a time: what an earlier native session still says is heard no more. */
export class Harness {
  readonly driver: RuntimeDriver;
  readonly #options: HarnessOptions;
  readonly #releases: (() => void | Promise<void>)[] = [];
  readonly #processes = new Set<AdapterProcess>();
  readonly #starting = new Set<Promise<AdapterProcess>>();
  /** Of the native session that is heard; aborted when it is not to be heard any more. */
  #life = new AbortController();
  #native: unknown;

  constructor(options: HarnessOptions) {
    this.#options = options;
    this.driver = options.instance.driver;
  }

  /** The driver's session; undefined before there is one. */
  get native(): unknown {
    return this.#native;
  }

  /** What the adapter knows of the native session. */
  state(): NativeSessionState | undefined {
    return this.#native === undefined ? undefined : this.driver.getBinding(this.#native);
  }

  /** Whether it can be ended by force and opened again as the same native session. */
  isReplaceable(): boolean {
    const owned = [...this.#processes];
    return (
      owned.length > 0 &&
      owned.every(({ ownership }) => ownership === "session") &&
      this.driver.capabilities.resume &&
      this.#options.binding.stored.state === "bound"
    );
  }

  /** Opens or resumes the native session. */
  async connect(milliseconds: number): Promise<void> {
    this.#life = new AbortController();
    const life = this.#life.signal;
    const opening = this.#open(life);
    const late = () =>
      this.#fault("open_timeout", `the adapter did not open the session within ${milliseconds} ms`);
    try {
      this.#native = await within(milliseconds, Promise.race([opening, this.#options.over]), late);
    } catch (error) {
      this.#life.abort();
      // One that opens after all is closed again.
      opening
        .then((native) => this.driver.dispose(native))
        .catch(() => undefined)
        // What it wanted to be released was registered after the others were.
        .finally(() => void this.releaseAll(LATE_RELEASE_MS));
      throw error;
    }
  }

  /** Ends the native session's live side and its own processes. Never rejects. */
  async disconnect(milliseconds: number): Promise<void> {
    this.#life.abort();
    const native = this.#native;
    this.#native = undefined;
    try {
      if (native !== undefined) {
        const gone = Promise.resolve().then(() => this.driver.dispose(native));
        await within(milliseconds, gone, () => new Error(`not done within ${milliseconds} ms`));
      }
    } catch (error) {
      this.#options.listener.warn("dispose_failed", thrownText(error));
    }
    // One that starts is closed in its handshake, or as soon as it has started.
    await Promise.allSettled(this.#starting);
    await Promise.allSettled([...this.#processes].map((process) => process.release()));
  }

  /** What the driver wanted to be released, the last first, each in so many milliseconds. Never rejects. */
  async releaseAll(milliseconds: number): Promise<void> {
    for (const release of this.#releases.splice(0).toReversed()) {
      try {
        const late = () => new Error(`not released within ${milliseconds} ms`);
        await within(milliseconds, Promise.resolve().then(release), late);
      } catch (error) {
        this.#options.listener.warn("release_failed", thrownText(error));
      }
    }
  }

  async #open(life: AbortSignal): Promise<unknown> {
    const context = this.#context(life);
    const { stored } = this.#options.binding;
    const { nativeSessionId } = stored;
    if (nativeSessionId === undefined) return this.driver.openSession(context);
    // Whether the adapter can is checked before a session is opened.
    return this.driver.resumeSession!(context, { ...nativeStateOf(stored), nativeSessionId });
  }

  #context(life: AbortSignal): AdapterContext {
    const { instance, binding, workspace, directory, listener } = this.#options;
    const { productSessionId, generation } = binding.stored;
    const heard = (tell: () => void): void => {
      if (!life.aborted) tell();
    };
    return Object.freeze<AdapterContext>({
      productSessionId,
      runtimeInstanceId: instance.runtimeInstanceId,
      generation,
      workspace,
      config: instance.config,
      directory,
      signal: life,
      observe: (observation) => heard(() => listener.observe(observation)),
      terminal: (terminal) => heard(() => listener.terminal(terminal)),
      requestApproval: (request) => !life.aborted && listener.requestApproval(request),
      requestUserInput: (request) => !life.aborted && listener.requestUserInput(request),
      requestCleared: (request) => heard(() => listener.requestCleared(request)),
      bindingChanged: () => listener.bindingChanged(),
      reserveNative: (nativeSessionId) => binding.reserve(nativeSessionId),
      startProcess: (options) => this.#startProcess(life, options),
      closed: (message) => void afterAnswers().then(() => heard(() => listener.ended({ message }))),
      onDispose: (release) => {
        if (this.#releases.length >= MOST_RELEASES)
          throw this.#fault("too_many_releases", `there are ${MOST_RELEASES} things to release already`);
        this.#releases.push(release);
      },
      hide: (secret) => listener.hide(secret),
      warn: (code, message) => heard(() => listener.warn(code, message)),
    });
  }

  async #startProcess(life: AbortSignal, options: AdapterProcessStart): Promise<AdapterProcess> {
    const { listener, secrets, binding } = this.#options;
    if (this.#processes.size + this.#starting.size >= MOST_PROCESSES)
      throw this.#fault("too_many_processes", `the session has ${MOST_PROCESSES} processes already`);
    for (const value of Object.values(options.env ?? {}))
      if (value !== undefined && value.length >= LEAST_SECRET) listener.hide(value);
    const starting = AdapterProcess.start({
      ...options,
      secrets: [...secrets, ...(options.secrets ?? [])],
      correlationId: binding.stored.productSessionId,
      async initialize(initializing) {
        const giveUp = (): void => void initializing.close();
        life.addEventListener("abort", giveUp, { once: true });
        try {
          if (life.aborted) giveUp();
          await options.initialize?.(initializing);
        } finally {
          life.removeEventListener("abort", giveUp);
        }
      },
      onDiagnostic: (diagnostic) => {
        listener.warn(diagnostic.code, diagnostic.message);
        options.onDiagnostic?.(diagnostic);
      },
    });
    this.#starting.add(starting);
    try {
      const process = await starting;
      this.#processes.add(process);
      void this.#watch(process, life);
      if (life.aborted) await process.close();
      return process;
    } finally {
      this.#starting.delete(starting);
    }
  }

  async #watch(process: AdapterProcess, life: AbortSignal): Promise<void> {
    const end = await process.closed;
    this.#processes.delete(process);
    await afterAnswers();
    if (!life.aborted && end.reason !== "closed") this.#options.listener.ended(harnessEnd(end));
  }

  #fault(code: string, message: string): ProtocolError {
    const { productSessionId } = this.#options.binding.stored;
    return new ProtocolError(code, message, { phase: "open", correlationId: productSessionId });
  }
}

/** Whoever waits for an answer that came before an end reads it first: a turn that was accepted is not rejected. */
const afterAnswers = (): Promise<unknown> => new Promise(setImmediate);

/** Units of what a process wrote to standard error that a person is shown with its end. */
const SHOWN_STDERR = 1000;

function harnessEnd({ code, signal, stderrTail }: AdapterProcessEnd): HarnessEnd {
  return {
    ...(code !== null && { exitCode: code }),
    ...(signal !== null && { signal }),
    ...(stderrTail !== "" && { message: stderrTail.slice(-SHOWN_STDERR) }),
  };
}
