// Private folders of live sessions: each has a record of its owner, and those of dead owners are removed.
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { callNative } from "../native.js";
import { makeStateFolder } from "../state-directory.js";

const OWNER = "owner.json";
/** Folders that one sweep removes at most, so that an opening stays quick. */
const SWEPT = 256;
/** Milliseconds after which a folder that was never finished is one that a crash has left. */
const UNFINISHED_MS = 86_400_000;

/** A private folder, 0700, that lives as long as what it was made for. */
export interface Generation {
  readonly directory: string;
  /** Removes it with all that is in it. More than once is as good as once. */
  close(): void;
}

/** The names of those that live here: nobody has to look at them. */
const own = new Set<string>();

/**
 * Makes a private folder in the state directory, and removes those of the dead: whose session is opened here may have just been killed.
 * Where this process does not come to the end of its own, the next one does.
 *
 * @throws {LifecycleError} `state_directory`.
 */
export function openGeneration(): Generation {
  sweep();
  const folder = makeStateFolder("generations");
  // Nobody sees it under its name before its owner is on record.
  const name = randomBytes(12).toString("hex");
  const unfinished = path.join(folder, `new-${name}`);
  fs.mkdirSync(unfinished, { mode: 0o700 });
  const identity = callNative((native) => native.ownIdentity());
  fs.writeFileSync(path.join(unfinished, OWNER), `${identity}\n`, { mode: 0o600 });
  const directory = path.join(folder, `g-${name}`);
  fs.renameSync(unfinished, directory);
  own.add(path.basename(directory));
  return {
    directory,
    close() {
      own.delete(path.basename(directory));
      remove(directory);
    },
  };
}

let hasSwept = false;

/** Removes what dead processes left, once in the life of this one. */
export function sweepGenerations(): void {
  if (!hasSwept) sweep();
}

/** What cannot be removed now is left for the next. */
function sweep(): void {
  hasSwept = true;
  try {
    const folder = makeStateFolder("generations");
    const others = fs.readdirSync(folder).filter((name) => !own.has(name));
    const dead = others.map((name) => path.join(folder, name));
    for (const directory of dead.filter(isDead).slice(0, SWEPT)) remove(directory);
  } catch {
    // Without a state directory there is nothing to sweep, and whoever needs one is told by itself.
  }
}

function isDead(directory: string): boolean {
  const name = path.basename(directory);
  if (name.startsWith("dead-")) return true;
  try {
    if (name.startsWith("new-")) return Date.now() - fs.statSync(directory).mtimeMs > UNFINISHED_MS;
    if (!name.startsWith("g-")) return false;
    const record = fs.readFileSync(path.join(directory, OWNER), "utf8");
    return callNative((native) => native.isProvablyDead(record));
  } catch {
    return false;
  }
}

/** Under another name first: what is removed in part has lost its record, and is swept all the same. */
function remove(directory: string): void {
  let doomed = directory;
  try {
    if (!path.basename(directory).startsWith("dead-")) {
      doomed = path.join(path.dirname(directory), `dead-${randomBytes(12).toString("hex")}`);
      fs.renameSync(directory, doomed);
    }
    fs.rmSync(doomed, { recursive: true, force: true });
  } catch {
    // Another process was quicker, or something is held open: the next sweep tries again.
  }
}
