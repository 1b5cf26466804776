// Which adapters a host has and how the operator configured them. Nothing is started here but a driver's own diagnosis.
import { iterableArgument, optionsArgument } from "../arguments.js";
import {
  type AdapterCapabilities,
  type AdapterConfig,
  type AdapterTransport,
  CAPABILITY_METHODS,
  type ConfigField,
  type ConfigSchema,
  type ConfigValue,
  type RuntimeDriver,
} from "./driver.js";
import { CapabilityUnavailableError, RegistrationError } from "./errors.js";
import { LEAST_SECRET, SafeText } from "./safe-text.js";

/** A configured instance of an adapter, by the operator. */
export interface RuntimeInstanceOptions {
  /** `^[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*$`; unique. */
  readonly runtimeInstanceId: string;
  readonly adapterId: string;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

export interface RuntimeRegistryOptions {
  readonly drivers: Iterable<RuntimeDriver>;
  readonly instances: Iterable<RuntimeInstanceOptions>;
}

/** What `inspect` says of an instance; nothing of its configuration but the names of what is set. */
export interface RuntimeInstanceInspection {
  readonly runtimeInstanceId: string;
  readonly adapterId: string;
  readonly transport: AdapterTransport;
  readonly capabilities: AdapterCapabilities;
  readonly configured: readonly string[];
  /** `unknown` where the driver cannot say, or did not in time. */
  readonly availability: "available" | "unavailable" | "unknown";
  readonly version: string | null;
  readonly diagnostics: readonly RuntimeDiagnostic[];
}

/** Something that people should know. */
export interface RuntimeDiagnostic {
  readonly code: string;
  readonly message: string;
}

/** An instance with its driver, for those who open sessions. */
export interface RuntimeInstance {
  readonly runtimeInstanceId: string;
  readonly driver: RuntimeDriver;
  readonly config: AdapterConfig;
  /** Values of the configuration that are shown nowhere. */
  readonly secrets: readonly string[];
  /** Secret members whose value is too short to be found in a text. */
  readonly shortSecrets: readonly string[];
}

export interface RuntimeRegistry {
  /**
   * Asks each driver about its instances, for at most 10 seconds; what a driver throws is one of the diagnostics.
   */
  inspect(): Promise<RuntimeInstanceInspection[]>;
  /**
   * The instance of this name.
   *
   * @throws {RegistrationError} `unknown_instance`.
   */
  instance(runtimeInstanceId: string): RuntimeInstance;
  /**
   * That an instance has a capability.
   *
   * @throws {CapabilityUnavailableError} `capability_unavailable`; {RegistrationError} `unknown_instance`.
   */
  require(runtimeInstanceId: string, capability: keyof AdapterCapabilities): void;
}

const ID = /^[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*$/;
const TRANSPORTS = ["process", "in-process", "remote"];
const METHODS = ["openSession", "getBinding", "prompt", "dispose"] as const;
const DIAGNOSE_MS = 10_000;
const MOST_DIAGNOSTICS = 32;

/**
 * Checks drivers and instances, all of them before any is taken.
 *
 * @throws {RegistrationError} `invalid_driver`, `duplicate_adapter`, `capability_mismatch`, `invalid_instance`, `duplicate_instance`,
 * `unknown_adapter`, `invalid_config`.
 */
export function createRuntimeRegistry(options: RuntimeRegistryOptions): RuntimeRegistry {
  const given = optionsArgument(options, "options", ["drivers", "instances"]);
  const drivers = new Map<string, RuntimeDriver>();
  for (const driver of iterableArgument(given.drivers ?? [], "drivers")) {
    checkDriver(driver);
    if (drivers.has(driver.adapterId))
      refuse("duplicate_adapter", `there are two drivers for ${driver.adapterId}: keep one`);
    drivers.set(driver.adapterId, driver);
  }
  const instances = new Map<string, RuntimeInstance>();
  for (const one of iterableArgument(given.instances ?? [], "instances")) {
    const instance = instanceOf(one, drivers);
    if (instances.has(instance.runtimeInstanceId))
      refuse("duplicate_instance", `there are two instances ${instance.runtimeInstanceId}: rename one`);
    instances.set(instance.runtimeInstanceId, instance);
  }
  const instanceNamed = (runtimeInstanceId: string): RuntimeInstance =>
    instances.get(runtimeInstanceId) ??
    refuse(
      "unknown_instance",
      `there is no runtime instance ${shown(runtimeInstanceId)}; there are: ${[...instances.keys()].join(", ") || "none"}`,
    );
  return {
    inspect: () => Promise.all([...instances.values()].map(inspectionOf)),
    instance: instanceNamed,
    require(runtimeInstanceId, capability) {
      const { driver } = instanceNamed(runtimeInstanceId);
      if (driver.capabilities[capability]) return;
      throw capabilityUnavailable(driver.adapterId, capability);
    },
  };
}

export function capabilityUnavailable(adapterId: string, capability: string): CapabilityUnavailableError {
  return new CapabilityUnavailableError(
    "capability_unavailable",
    `the adapter ${adapterId} does not have the capability ${capability}`,
    { phase: "request", details: { adapterId, capability } },
  );
}

function checkDriver(driver: RuntimeDriver): void {
  if (typeof driver !== "object" || driver === null) refuse("invalid_driver", "a driver must be an object");
  if (!isId(driver.adapterId))
    refuse("invalid_driver", `adapterId of a driver must match ${String(ID)}`, "adapterId");
  const of = `the driver ${driver.adapterId}`;
  if (!TRANSPORTS.includes(driver.transport))
    refuse("invalid_driver", `${of} must say its transport: ${TRANSPORTS.join(", ")}`, "transport");
  for (const method of METHODS)
    if (typeof driver[method] !== "function") refuse("invalid_driver", `${of} must have ${method}`, method);
  for (const [capability, method] of Object.entries(CAPABILITY_METHODS)) {
    const isAdvertised = (driver.capabilities as unknown as Record<string, unknown> | undefined)?.[
      capability
    ];
    if (typeof isAdvertised !== "boolean")
      refuse("invalid_driver", `${of} must say whether it has the capability ${capability}`, capability);
    if (isAdvertised === (typeof driver[method] === "function")) continue;
    const what = isAdvertised
      ? `advertises ${capability} and has no ${method}`
      : `has ${method} and does not advertise ${capability}`;
    refuse("capability_mismatch", `${of} ${what}`, capability);
  }
  for (const [name, field] of Object.entries(driver.configSchema ?? {})) {
    if (!(field.type in TYPES))
      refuse("invalid_driver", `${of}: the type of config.${name} must be ${Object.keys(TYPES).join(", ")}`);
    if (field.default !== undefined && !TYPES[field.type](field.default))
      refuse("invalid_driver", `${of}: the default of config.${name} must be of type ${field.type}`);
  }
}

function instanceOf(
  options: RuntimeInstanceOptions,
  drivers: ReadonlyMap<string, RuntimeDriver>,
): RuntimeInstance {
  const { runtimeInstanceId, adapterId, config } = options ?? {};
  if (!isId(runtimeInstanceId))
    refuse(
      "invalid_instance",
      `runtimeInstanceId of an instance must match ${String(ID)}`,
      "runtimeInstanceId",
    );
  const driver = drivers.get(adapterId);
  if (driver === undefined)
    refuse(
      "unknown_adapter",
      `the instance ${runtimeInstanceId} names an adapter that there is no driver for; there are: ${[...drivers.keys()].join(", ") || "none"}`,
      "adapterId",
    );
  const schema = driver.configSchema ?? {};
  const checked = configOf(runtimeInstanceId, config ?? {}, schema);
  const secrets: string[] = [];
  const shortSecrets: string[] = [];
  for (const [name, field] of Object.entries(schema)) {
    if (field.secret !== true) continue;
    for (const value of [checked[name] ?? []].flat()) {
      if (typeof value !== "string") continue;
      if (value.length >= LEAST_SECRET) secrets.push(value);
      else shortSecrets.push(name);
    }
  }
  return Object.freeze({ runtimeInstanceId, driver, config: checked, secrets, shortSecrets });
}

const TYPES: Record<ConfigField["type"], (value: unknown) => value is ConfigValue> = {
  string: (value) => typeof value === "string",
  number: (value): value is number => typeof value === "number" && Number.isFinite(value),
  boolean: (value) => typeof value === "boolean",
  strings: (value): value is string[] =>
    Array.isArray(value) && value.every((one) => typeof one === "string"),
};

/** Never repeats a value: it may be a secret. */
function configOf(
  instance: string,
  config: Readonly<Record<string, unknown>>,
  schema: ConfigSchema,
): AdapterConfig {
  const of = `the configuration of ${instance}`;
  if (typeof config !== "object" || config === null || Array.isArray(config))
    refuse("invalid_config", `${of} must be an object`, "config");
  const unknown = Object.keys(config).find((name) => !Object.hasOwn(schema, name));
  if (unknown !== undefined)
    refuse(
      "invalid_config",
      `${of} has no member ${shown(unknown)}; there are: ${Object.keys(schema).join(", ") || "none"}`,
      `config.${shown(unknown)}`,
    );
  const checked: Record<string, ConfigValue> = {};
  for (const [name, field] of Object.entries(schema)) {
    const value = config[name] ?? field.default;
    if (value === undefined) {
      if (field.required === true)
        refuse("invalid_config", `${of} must have ${name} (${field.type})`, `config.${name}`);
      continue;
    }
    if (!TYPES[field.type](value))
      refuse("invalid_config", `${of}: ${name} must be of type ${field.type}`, `config.${name}`);
    checked[name] = typeof value === "object" ? Object.freeze([...value]) : value;
  }
  return Object.freeze(checked);
}

async function inspectionOf(instance: RuntimeInstance): Promise<RuntimeInstanceInspection> {
  const { runtimeInstanceId, driver, config, secrets, shortSecrets } = instance;
  const safe = new SafeText(secrets);
  const said: RuntimeDiagnostic[] = shortSecrets.map((name) => ({
    code: "short_secret",
    message: `the value of ${name} is shorter than ${LEAST_SECRET} units: it cannot be kept out of texts of the harness`,
  }));
  let availability: RuntimeInstanceInspection["availability"] = "unknown";
  let version: string | null = null;
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // It keeps the script alive: a diagnosis that hangs may wait for nothing that would.
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), DIAGNOSE_MS);
  });
  try {
    if (driver.diagnose !== undefined) {
      const diagnosis = await Promise.race([driver.diagnose({ config, signal: controller.signal }), silence]);
      if (diagnosis === undefined) {
        said.push({
          code: "diagnosis_timeout",
          message: `the driver did not answer within ${DIAGNOSE_MS} ms`,
        });
      } else {
        availability = diagnosis.available === true ? "available" : "unavailable";
        if (diagnosis.version !== undefined) version = safe.of(diagnosis.version);
        for (const { code, message } of (diagnosis.diagnostics ?? []).slice(0, MOST_DIAGNOSTICS))
          said.push({ code: safe.of(code), message: safe.of(message) });
      }
    }
  } catch (error) {
    said.push({ code: "diagnosis_failed", message: safe.of(error) });
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
  return {
    runtimeInstanceId,
    adapterId: driver.adapterId,
    transport: driver.transport,
    capabilities: { ...driver.capabilities },
    configured: Object.keys(config),
    availability,
    version,
    diagnostics: said,
  };
}

const isId = (value: unknown): value is string =>
  typeof value === "string" && value.length <= 512 && ID.test(value);

/** A name from outside: bounded, and nothing that would move a cursor. */
const shown = (name: unknown): string =>
  JSON.stringify(String(name).slice(0, 64).replaceAll(/\p{C}/gu, "\u{fffd}"));

function refuse(code: string, message: string, path?: string): never {
  throw new RegistrationError(code, message, {
    phase: "register",
    ...(path !== undefined && { details: { path } }),
  });
}
