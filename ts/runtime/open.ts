// Opens a session that a host runs itself: its binding, a claim on it, the native session, and what is written of that.
import {
  booleanOption,
  functionOption,
  iterableArgument,
  numberOption,
  optionalText,
  optionsArgument,
  textArgument,
} from "../arguments.js";
import { thrownText } from "../callbacks.js";
import { LONGEST_TIMER_MS } from "../timers.js";
import type { BindingClaim, BindingMode, BindingRepository, RuntimeSessionBinding } from "./binding.js";
import { AvailabilityError, BindingError, ProtocolError, RegistrationError, RuntimeError } from "./errors.js";
import { type Generation, openGeneration } from "./generation.js";
import { NativeBinding, isLost } from "./native-binding.js";
import { bindingFault, nativeFault } from "./native-fault.js";
import {
  type RuntimeDiagnostic,
  type RuntimeInstance,
  type RuntimeRegistry,
  capabilityUnavailable,
} from "./registry.js";
import type { AgentRuntimeSemanticEvent } from "./semantic-event.js";
import { LiveSession } from "./live-session.js";
import { LEAST_SECRET, SafeText } from "./safe-text.js";
import type { RuntimeSession } from "./session.js";
import { rowsFrom, sessionRows } from "./session-rows.js";

export interface OpenRuntimeSessionOptions {
  /** Where bindings are kept. */
  readonly store: BindingRepository;
  readonly registry: RuntimeRegistry;
  /** The product's own id of the session, such as `ps_...`. */
  readonly productSessionId: string;
  /** The instance of a new session. A session that has one keeps it; another one is only taken with `mode: "rebind"`. */
  readonly runtimeInstanceId?: string | undefined;
  /** The folder that the agent works in. */
  readonly workspace: string;
  /**
   * `normal` by default: opens what is bound, or something new where nothing is. `repair` also tries a native session that was
   * missing or in error. `rebind` gives the recorded native session up and opens a new one.
   */
  readonly mode?: BindingMode | undefined;
  /** Gets each event, in order. */
  readonly onEvent?: ((event: AgentRuntimeSemanticEvent) => unknown) | undefined;
  /** Gets what people should know beside the events. */
  readonly onDiagnostic?: ((diagnostic: RuntimeDiagnostic) => unknown) | undefined;
  /** Texts that are redacted everywhere, of 8 UTF-16 code units or more each. */
  readonly secrets?: Iterable<string> | undefined;
  /** What the session is called in rows; its id by default. */
  readonly title?: string | undefined;
  /** Whether the session is a row of `status`, `watch` and monitors of this user; true by default. */
  readonly publish?: boolean | undefined;
  /** Milliseconds to open the native session; 60,000 by default. */
  readonly openMs?: number | undefined;
  /** Milliseconds that a harness has to end a turn that is aborted; 10,000 by default. */
  readonly abortMs?: number | undefined;
  /** Milliseconds that `dispose` may take before it is forced; 30,000 by default. */
  readonly disposeMs?: number | undefined;
}

const OPTIONS = [
  "store",
  "registry",
  "productSessionId",
  "runtimeInstanceId",
  "workspace",
  "mode",
  "onEvent",
  "onDiagnostic",
  "secrets",
  "title",
  "publish",
  "openMs",
  "abortMs",
  "disposeMs",
] as const;
const MODES: readonly BindingMode[] = ["normal", "repair", "rebind"];

interface Opening {
  store: BindingRepository;
  registry: RuntimeRegistry;
  productSessionId: string;
  runtimeInstanceId: string | undefined;
  workspace: string;
  mode: BindingMode;
  secrets: readonly string[];
  title: string | undefined;
  publish: boolean;
  openMs: number;
  abortMs: number;
  disposeMs: number;
  onEvent: OpenRuntimeSessionOptions["onEvent"];
  onDiagnostic: OpenRuntimeSessionOptions["onDiagnostic"];
}

const attempts = new WeakMap<BindingRepository, Map<string, Promise<RuntimeSession>>>();

/**
 * Opens the session of this id: exactly the native session that is bound, or a new one where nothing is. Calls for one session of one
 * store that overlap share the first attempt.
 *
 * @throws {BindingError} as a rejection: `binding_missing`, `binding_error` (without asking the harness, but with `repair`),
 *   `binding_owned`, `binding_instance`, and those of the store.
 * @throws {RegistrationError} `unknown_instance`. {CapabilityUnavailableError} where something is bound and the adapter cannot resume.
 * @throws {ProtocolError} `open_timeout`, `open_failed`; an {AvailabilityError} or another error of this package goes through as it is.
 */
export function openRuntimeSession(options: OpenRuntimeSessionOptions): Promise<RuntimeSession> {
  let opening: Opening;
  try {
    opening = openingOf(options);
  } catch (error) {
    return Promise.reject(error);
  }
  const { store, productSessionId } = opening;
  const underWay = attempts.get(store) ?? new Map<string, Promise<RuntimeSession>>();
  attempts.set(store, underWay);
  const shared = underWay.get(productSessionId);
  if (shared !== undefined) return shared;
  const attempt = open(opening).finally(() => underWay.delete(productSessionId));
  underWay.set(productSessionId, attempt);
  return attempt;
}

function openingOf(options: OpenRuntimeSessionOptions): Opening {
  const given = optionsArgument(options, "options", OPTIONS);
  const mode = optionalText(given.mode, "mode") ?? "normal";
  if (!(MODES as readonly string[]).includes(mode)) {
    throw new RegistrationError("invalid_argument", `mode must be ${MODES.join(", ")}`, {
      phase: "open",
      details: { path: "mode" },
    });
  }
  for (const [name, member] of [
    ["store", "claim"],
    ["registry", "instance"],
  ] as const) {
    if (typeof (given[name] as Record<string, unknown> | undefined)?.[member] === "function") continue;
    throw new RegistrationError("invalid_argument", `${name} is missing, or is none`, {
      phase: "open",
      details: { path: name },
    });
  }
  return {
    store: given.store!,
    registry: given.registry!,
    productSessionId: textArgument(given.productSessionId, "productSessionId").trim(),
    runtimeInstanceId: optionalText(given.runtimeInstanceId, "runtimeInstanceId"),
    workspace: textArgument(given.workspace, "workspace"),
    mode: mode as BindingMode,
    secrets: Array.from(iterableArgument(given.secrets ?? [], "secrets"), (one, at) =>
      secretOption(one, `secrets[${at}]`),
    ),
    title: optionalText(given.title, "title"),
    publish: booleanOption(given.publish, "publish") ?? true,
    openMs: timeOption(given.openMs, "openMs", 60_000),
    abortMs: timeOption(given.abortMs, "abortMs", 10_000),
    disposeMs: timeOption(given.disposeMs, "disposeMs", 30_000),
    onEvent: functionOption(given.onEvent, "onEvent"),
    onDiagnostic: functionOption(given.onDiagnostic, "onDiagnostic"),
  };
}

function secretOption(value: unknown, name: string): string {
  const secret = textArgument(value, name);
  if (secret.length >= LEAST_SECRET) return secret;
  const message = `${name} must be of ${LEAST_SECRET} UTF-16 code units or more: a shorter one cannot be found in texts`;
  throw new RegistrationError("invalid_option", message, { phase: "open", details: { path: name } });
}

function timeOption(value: unknown, name: string, usual: number): number {
  const time = numberOption(value, name) ?? usual;
  if (time > 0 && time <= LONGEST_TIMER_MS) return time;
  throw new RegistrationError(
    "invalid_option",
    `${name} must be more than 0 and at most ${LONGEST_TIMER_MS} milliseconds`,
    {
      phase: "open",
      details: { path: name },
    },
  );
}

async function open(opening: Opening): Promise<RuntimeSession> {
  const { store, productSessionId, mode } = opening;
  const found = await bindingOf(opening);
  const instance = instanceFor(opening, found);
  if (mode === "normal") checkState(found);
  const claim = await store.claim(productSessionId, { repair: mode !== "normal" });
  try {
    // Between the look and the claim somebody else may have had it.
    if (mode === "normal") checkState(claim.binding);
    const binding = await rebound(opening, instance, claim);
    const needsResume = binding.stored.nativeSessionId !== undefined;
    if (needsResume && !instance.driver.capabilities.resume)
      throw capabilityUnavailable(instance.driver.adapterId, "resume");
    return await live(opening, instance, binding);
  } catch (error) {
    await claim.release().catch(() => false);
    throw error;
  }
}

/** The recorded binding, or a new one. */
async function bindingOf(opening: Opening): Promise<RuntimeSessionBinding> {
  const { store, registry, productSessionId, runtimeInstanceId } = opening;
  const found = await store.get(productSessionId);
  if (found !== undefined) return found;
  if (runtimeInstanceId === undefined) {
    throw bindingError(
      "binding_not_found",
      "there is no such session: give the runtimeInstanceId of a new one",
      opening,
    );
  }
  const { adapterId } = registry.instance(runtimeInstanceId).driver;
  try {
    return await store.create({ productSessionId, runtimeInstanceId, adapterId });
  } catch (error) {
    const made =
      error instanceof BindingError && error.code === "binding_exists"
        ? await store.get(productSessionId)
        : undefined;
    if (made === undefined) throw error;
    return made;
  }
}

/** The instance that runs the session: the recorded one, or with `rebind` the given one. */
function instanceFor(opening: Opening, binding: RuntimeSessionBinding): RuntimeInstance {
  const { registry, mode, runtimeInstanceId } = opening;
  if (mode === "rebind" && runtimeInstanceId !== undefined) return registry.instance(runtimeInstanceId);
  if (runtimeInstanceId !== undefined && runtimeInstanceId !== binding.runtimeInstanceId) {
    const message = `the session belongs to the instance ${binding.runtimeInstanceId}: leave runtimeInstanceId out, or open with mode "rebind"`;
    throw bindingError("binding_instance", message, opening);
  }
  const instance = registry.instance(binding.runtimeInstanceId);
  if (instance.driver.adapterId === binding.adapterId) return instance;
  const message = `the session was made with the adapter ${binding.adapterId}, and its instance now has another: open with mode "rebind"`;
  throw bindingError("binding_instance", message, opening);
}

function checkState({ state, diagnostic, productSessionId }: RuntimeSessionBinding): void {
  if (state !== "missing" && state !== "error") return;
  const why = diagnostic === undefined ? "" : ` (${diagnostic.code}: ${diagnostic.message})`;
  const message = `the native session is recorded as ${state}${why}: open with mode "repair" to try it again, or "rebind" for a new one`;
  throw new BindingError(state === "missing" ? "binding_missing" : "binding_error", message, {
    phase: "open",
    correlationId: productSessionId,
    details: { state },
  });
}

/** With `rebind` the recorded native session is given up first, and the session may change its instance. */
async function rebound(
  opening: Opening,
  instance: RuntimeInstance,
  claim: BindingClaim,
): Promise<NativeBinding> {
  const { store, mode, productSessionId } = opening;
  if (mode !== "rebind") return new NativeBinding(store, claim, mode);
  const { runtimeInstanceId, driver } = instance;
  const binding = await store.update(
    { productSessionId, runtimeInstanceId, adapterId: driver.adapterId, state: "unbound" },
    { expectedRevision: claim.binding.revision, mode: "rebind", generation: claim.generation },
  );
  return new NativeBinding(store, { ...claim, binding, release: () => claim.release() }, "normal");
}

async function live(
  opening: Opening,
  instance: RuntimeInstance,
  binding: NativeBinding,
): Promise<RuntimeSession> {
  const { workspace, abortMs, disposeMs, openMs, onEvent, onDiagnostic, productSessionId } = opening;
  const { adapterId } = instance.driver;
  const secrets = [...opening.secrets, ...instance.secrets];
  const safe = new SafeText(secrets);
  const title = safe.of(opening.title ?? productSessionId);
  const failed = (error: Error) => onDiagnostic?.({ code: "not_published", message: safe.of(error) });
  const rows = opening.publish
    ? rowsFrom(() => sessionRows({ adapterId, workspace, title, failed }))
    : undefined;
  const { directory, close } = privateFolder(binding);
  let session: LiveSession;
  try {
    session = new LiveSession({
      instance,
      binding,
      workspace,
      directory,
      secrets,
      safe,
      openMs,
      abortMs,
      disposeMs,
      onEvent,
      onDiagnostic,
      rows,
      async onDisposed() {
        close();
        await binding.release();
      },
    });
  } catch (error) {
    close();
    throw error;
  }
  try {
    await session.start();
    rows?.begin();
    return session.face();
  } catch (error) {
    throw await afterFailure(session, binding, error, safe);
  }
}

function privateFolder({ stored }: NativeBinding): Generation {
  try {
    return openGeneration();
  } catch (cause) {
    const message = `the private folder of the session cannot be made: ${thrownText(cause)}`;
    const { productSessionId } = stored;
    throw new AvailabilityError("directory_unavailable", message, {
      phase: "open",
      correlationId: productSessionId,
      cause,
    });
  }
}

/** Writes what a failed start says of the native session, ends what was begun, and gives the error to throw. */
async function afterFailure(
  session: LiveSession,
  binding: NativeBinding,
  error: unknown,
  safe: SafeText,
): Promise<unknown> {
  if (isLost(error)) {
    await session.loseRace();
    return error;
  }
  const fault = nativeFault(binding.stored, error, safe);
  if (fault === undefined) {
    await session.dispose();
    return asRuntimeError(error, binding, safe);
  }
  const { state, ...diagnostic } = fault;
  let failure: unknown;
  try {
    await binding.fail(state, { ...diagnostic, at: new Date().toISOString() });
  } catch (unwritten) {
    failure = unwritten;
  }
  await session.dispose();
  return failure ?? bindingFault(fault, binding.stored, safe.cause(error));
}

function asRuntimeError(error: unknown, binding: NativeBinding, safe: SafeText): RuntimeError {
  if (error instanceof RuntimeError) return safe.cleaned(error);
  return new ProtocolError("open_failed", `the adapter did not open the session: ${safe.of(error)}`, {
    phase: "open",
    correlationId: binding.stored.productSessionId,
    cause: safe.cause(error),
  });
}

function bindingError(code: string, message: string, { productSessionId }: Opening): BindingError {
  return new BindingError(code, message, { phase: "open", correlationId: productSessionId });
}
