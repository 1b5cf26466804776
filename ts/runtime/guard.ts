// Where the process guard is: given, beside the addon in the platform package, or written from the copy in the addon.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { LifecycleError } from "../error.js";
import { callNative, platformPackage } from "../native.js";
import { makeStateFolder } from "../state-directory.js";
import { AvailabilityError } from "./errors.js";

const FILE = process.platform === "win32" ? "agent-lifecycle-guard.exe" : "agent-lifecycle-guard";

let found: string | undefined;

/**
 * The path of a guard that can be run.
 *
 * @throws {AvailabilityError} `guard_unavailable`.
 */
export function findGuard(given: string | undefined): string {
  if (given !== undefined) {
    const place = path.resolve(given);
    if (isExecutable(place)) return place;
    throw unavailable(`guardPath ${place} is no file that can be run`);
  }
  found ??= besideAddon() ?? fromAddon();
  return found;
}

/** What was found could not be run: it is looked for again next time. */
export function forgetGuard(): void {
  found = undefined;
}

/** In an Electron archive nothing can be run; what is unpacked lies beside it under the same name. */
export function outsideArchive(place: string): string {
  return place.replace(/([\\/]app\.asar)(?=[\\/])/, "$1.unpacked");
}

function besideAddon(): string | undefined {
  try {
    // Asked of the manifest: the addon itself may be one that a clone has built.
    const manifest = createRequire(__filename).resolve(`${platformPackage()}/package.json`);
    const place = outsideArchive(path.join(path.dirname(fs.realpathSync(manifest)), FILE));
    return isExecutable(place) ? place : undefined;
  } catch {
    return undefined;
  }
}

function fromAddon(): string {
  try {
    const place = callNative((native) => native.writeGuard(makeStateFolder("guards")));
    if (place !== null) return place;
  } catch (cause) {
    if (!(cause instanceof LifecycleError)) throw cause;
    throw unavailable(`its copy cannot be written: ${cause.message}`, cause);
  }
  throw unavailable("this build of the addon has no copy of it");
}

function isExecutable(place: string): boolean {
  try {
    fs.accessSync(place, fs.constants.X_OK);
    return fs.statSync(place).isFile();
  } catch {
    return false;
  }
}

/** The error for a guard that is not there or cannot be run. */
export function unavailable(why: string, cause?: unknown): AvailabilityError {
  const message =
    `The process guard is not available: ${why}. Install ${platformPackage()}, or give guardPath: the path of its ` +
    `${FILE}, in a folder from which programs may be run`;
  return new AvailabilityError("guard_unavailable", message, {
    phase: "start",
    ...(cause === undefined ? {} : { cause }),
  });
}
