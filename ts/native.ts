// The only module that loads the addon. It is loaded at the first call, so that importing the package works (and
// `instanceof LifecycleError` with it) where the platform package is missing.
import type * as Native from "../native.js";
import { LifecycleError } from "./error.js";

export type { Native };

let binding: typeof Native | undefined;

/** Runs one call into the addon; a refusal of the core is thrown as a `LifecycleError`. */
export function callNative<T>(run: (native: typeof Native) => T): T {
  binding ??= load();
  try {
    return run(binding);
  } catch (error) {
    throw fromNative(error);
  }
}

/** A refusal of the core as a `LifecycleError`; any other error as it is. For rejections of native promises too. */
export function fromNative(error: unknown): unknown {
  // By name, not by class: under Jest and in vm contexts the addon's errors are of another realm.
  if (error instanceof LifecycleError || (error as Error | null)?.name !== "LifecycleError") return error;
  const refusal = error as TypeError & { code: string; path?: string };
  return new LifecycleError(refusal.code, refusal.message, { path: refusal.path });
}

function load(): typeof Native {
  try {
    return require("../native.js") as typeof Native;
  } catch (cause) {
    throw new LifecycleError("addon_missing", missingMessage(), { cause });
  }
}

/** The package that holds the addon and the process guard for this platform. */
export function platformPackage(): string {
  const { platform, arch } = process;
  const libc = platform === "linux" ? linuxLibc() : undefined;
  const abi = platform === "win32" ? "msvc" : libc === "glibc" ? "gnu" : libc;
  return ["agent-lifecycle", platform, arch, abi].filter(Boolean).join("-");
}

function missingMessage(): string {
  const { platform, arch } = process;
  const libc = platform === "linux" ? linuxLibc() : undefined;
  const name = platformPackage();
  const where = `platform ${platform}, arch ${arch}, libc ${libc ?? "not applicable"}`;
  const { version, optionalDependencies: prebuilt } = require("../package.json") as Manifest;
  const fix =
    prebuilt && !(name in prebuilt)
      ? `There is none for this platform; there are ${Object.keys(prebuilt).join(", ")}.`
      : `Reinstall on the machine that runs it and without --omit=optional, or add it by name: ` +
        `npm install ${name}@${version}`;
  return (
    `The native addon of agent-lifecycle could not be loaded: the package ${name} is missing or does not fit ` +
    `(${where}). ${fix}`
  );
}

/** The manifest; the platform packages are named in the published one only. */
interface Manifest {
  version: string;
  optionalDependencies?: Record<string, string>;
}

function linuxLibc(): "glibc" | "musl" {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header?.glibcVersionRuntime ? "glibc" : "musl";
}
