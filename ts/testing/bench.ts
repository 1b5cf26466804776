// Where one rule is tried: an instance of the driver under test, a store of its own, and live sessions of which all that is said is kept.
import fs from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { BindingStore } from "../runtime/binding-store.js";
import type { BindingMode, BindingRepository, RuntimeSessionBinding } from "../runtime/binding.js";
import { type AdapterContext, CAPABILITY_METHODS, type RuntimeDriver } from "../runtime/driver.js";
import { openRuntimeSession } from "../runtime/open.js";
import { type RuntimeDiagnostic, type RuntimeRegistry, createRuntimeRegistry } from "../runtime/registry.js";
import type { AgentRuntimeSemanticEvent, AgentRuntimeSemanticEventKind } from "../runtime/semantic-event.js";
import type { RuntimeSession } from "../runtime/session.js";
import type { ScenarioSetup } from "./scenario.js";

/** An adapter does not keep a rule. */
export class ConformanceFailure extends Error {}
// On the prototype, as for the built-in errors, so that it is no own member of each error.
Object.defineProperty(ConformanceFailure.prototype, "name", {
  value: "ConformanceFailure",
  configurable: true,
  writable: true,
});

/** @throws {ConformanceFailure} with what was expected, where it is not so. */
export function check(isSo: boolean, message: string): asserts isSo {
  if (!isSo) throw new ConformanceFailure(message);
}

/** An event of one of these kinds. */
export type EventOf<Kind extends AgentRuntimeSemanticEventKind> = Extract<
  AgentRuntimeSemanticEvent,
  { kind: Kind }
>;

/** A live session with what it said. */
export class Trial {
  readonly events: AgentRuntimeSemanticEvent[];
  readonly diagnostics: RuntimeDiagnostic[];
  readonly session: RuntimeSession;
  /** What the driver made: what its operations take. */
  readonly native: unknown;
  readonly #listeners: Set<() => void>;

  constructor(heard: Heard, session: RuntimeSession, native: unknown) {
    this.events = heard.events;
    this.diagnostics = heard.diagnostics;
    this.#listeners = heard.listeners;
    this.session = session;
    this.native = native;
  }

  /** The events of a kind so far. */
  of<Kind extends AgentRuntimeSemanticEventKind>(...kinds: Kind[]): EventOf<Kind>[] {
    return this.events.filter((event): event is EventOf<Kind> => (kinds as string[]).includes(event.kind));
  }

  /** The messages of the assistant, joined. */
  text(turnId?: string): string {
    return this.of("assistant_message")
      .filter((event) => turnId === undefined || event.turnId === turnId)
      .map(({ text }) => text)
      .join("");
  }

  /** Waits until something is so; looked at after each event. The rule's time bounds it. */
  until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isSo()) return;
        this.#listeners.delete(look);
        resolve();
      };
      this.#listeners.add(look);
      look();
    });
  }
}

interface Heard {
  readonly events: AgentRuntimeSemanticEvent[];
  readonly diagnostics: RuntimeDiagnostic[];
  readonly listeners: Set<() => void>;
}

export const INSTANCE = "conformance";

/** The registry with the one instance that a rule needs. @throws {RegistrationError} as `createRuntimeRegistry` does. */
export const registryOf = (driver: RuntimeDriver, config: ScenarioSetup["config"]): RuntimeRegistry =>
  createRuntimeRegistry({
    drivers: [driver],
    instances: [{ runtimeInstanceId: INSTANCE, adapterId: driver.adapterId, config }],
  });

/** One rule's place. */
export class Bench {
  readonly driver: RuntimeDriver;
  readonly setup: ScenarioSetup;
  readonly registry: RuntimeRegistry;
  readonly #folder: string;
  readonly #abortMs: number;
  readonly #trials: RuntimeSession[] = [];
  /** What the driver made last for each session. */
  readonly #natives = new Map<string, unknown>();
  #made = 0;
  #store: BindingRepository;

  private constructor(
    driver: RuntimeDriver,
    setup: ScenarioSetup,
    folder: string,
    store: BindingRepository,
    abortMs: number,
  ) {
    this.driver = driver;
    this.setup = setup;
    this.#folder = folder;
    this.#store = store;
    this.#abortMs = abortMs;
    const heard = ({ productSessionId }: AdapterContext, native: unknown): void => {
      this.#natives.set(productSessionId, native);
      this.#made += 1;
    };
    this.registry = registryOf(listening(driver, heard), setup.config);
  }

  static async make(
    driver: RuntimeDriver,
    make: (folder: string) => ScenarioSetup | Promise<ScenarioSetup>,
    abortMs: number,
  ): Promise<Bench> {
    const folder = await fs.mkdtemp(path.join(tmpdir(), "agent-lifecycle-conformance-"));
    try {
      for (const name of ["workspace", "harness"]) await fs.mkdir(path.join(folder, name));
      const setup = await make(path.join(folder, "harness"));
      const store = await openStore(folder);
      return new Bench(driver, setup, folder, store, abortMs);
    } catch (error) {
      await fs.rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Opens a session. Sessions of one id are the same session. */
  async open(productSessionId = "ps_conformance", mode: BindingMode = "normal"): Promise<Trial> {
    const heard: Heard = { events: [], diagnostics: [], listeners: new Set() };
    // Not at once: what an event tells of may still be under way.
    const tell = (): void =>
      void setImmediate(() => {
        for (const listener of heard.listeners) listener();
      });
    const session = await openRuntimeSession({
      store: this.#store,
      registry: this.registry,
      productSessionId,
      runtimeInstanceId: INSTANCE,
      workspace: path.join(this.#folder, "workspace"),
      mode,
      publish: false,
      abortMs: this.#abortMs,
      onEvent(event) {
        heard.events.push(event);
        tell();
      },
      onDiagnostic(diagnostic) {
        heard.diagnostics.push(diagnostic);
        tell();
      },
    });
    this.#trials.push(session);
    return new Trial(heard, session, this.#natives.get(productSessionId));
  }

  /** The stored binding. @throws {ConformanceFailure} without one. */
  async binding(productSessionId = "ps_conformance"): Promise<RuntimeSessionBinding> {
    const binding = await this.#store.get(productSessionId);
    check(binding !== undefined, "the session has no binding");
    return binding;
  }

  /** How many native sessions the driver opened or resumed so far. */
  get made(): number {
    return this.#made;
  }

  /** As if the host had ended orderly and begun anew: no live session, and the store read from its file. */
  async restart(): Promise<void> {
    await Promise.all(this.#trials.splice(0).map((session) => session.dispose()));
    await this.#store.close();
    this.#store = await openStore(this.#folder);
  }

  async close(): Promise<void> {
    await Promise.all(this.#trials.map((session) => session.dispose()));
    await this.#store.close();
    await fs.rm(this.#folder, { recursive: true, force: true });
  }
}

const openStore = (folder: string): Promise<BindingRepository> =>
  BindingStore.open(path.join(folder, "bindings.db"));

/** The driver, and whoever wants to know hears of what it makes. */
function listening(
  driver: RuntimeDriver,
  heard: (context: AdapterContext, native: unknown) => void,
): RuntimeDriver {
  const { adapterId, transport, capabilities, nativeTurnIds, configSchema } = driver;
  const methods: Record<string, unknown> = {};
  const names = ["diagnose", "openSession", "getBinding", "prompt", "requestEnded", "dispose"] as const;
  for (const name of [...names, ...Object.values(CAPABILITY_METHODS)]) {
    if (typeof driver[name] !== "function") continue;
    const call = (driver[name] as (...given: unknown[]) => unknown).bind(driver);
    const makes = name === "openSession" || name === "resumeSession";
    methods[name] = makes
      ? async (context: AdapterContext, ...given: unknown[]) => {
          const native = await call(context, ...given);
          heard(context, native);
          return native;
        }
      : call;
  }
  return { adapterId, transport, capabilities, nativeTurnIds, configSchema, ...methods } as RuntimeDriver;
}
