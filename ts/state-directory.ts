// Where this package keeps what it writes for itself: journals of publishers and files of hooks.
import fs from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { LifecycleError } from "./error.js";

/** A folder of the state directory. */
export type StateFolder = "generations" | "guards" | "journals" | "spool";

/** What the place of the state directory depends on; for tests. */
export interface StatePlace {
  env?: NodeJS.ProcessEnv;
  platform?: NodeJS.Platform;
  home?: string;
}

/**
 * The state directory of this user: `$XDG_STATE_HOME/agent-lifecycle`, else `~/.local/state/agent-lifecycle`;
 * `~/Library/Application Support/agent-lifecycle` on macOS; `%LOCALAPPDATA%\agent-lifecycle` on Windows. It need not be there.
 */
export function stateDirectory({
  env = process.env,
  platform = process.platform,
  home = homedir(),
}: StatePlace = {}): string {
  return path.join(parent(env, platform, home), "agent-lifecycle");
}

function parent(env: NodeJS.ProcessEnv, platform: NodeJS.Platform, home: string): string {
  if (platform === "win32") return env["LOCALAPPDATA"] || path.join(home, "AppData", "Local");
  if (platform === "darwin") return path.join(home, "Library", "Application Support");
  const state = env["XDG_STATE_HOME"];
  // The base directory specification: a relative path is to be ignored.
  return state !== undefined && path.isAbsolute(state) ? state : path.join(home, ".local", "state");
}

/**
 * The path of a folder of the state directory, made where it is not there: 0700, and brought to that where it is wider.
 *
 * @throws {LifecycleError} `state_directory` where it cannot be made or belongs to another user.
 */
export function makeStateFolder(name: StateFolder): string {
  let folder = "the state directory";
  try {
    folder = stateDirectory();
    if (!path.isAbsolute(folder)) throw new Error("there is no home folder");
    makePrivate(folder);
    folder = path.join(folder, name);
    makePrivate(folder);
    return folder;
  } catch (cause) {
    const { message } = cause as Error;
    throw new LifecycleError("state_directory", `${folder} cannot be used: ${message}`, {
      path: folder,
      cause,
    });
  }
}

function makePrivate(folder: string): void {
  make(folder);
  const stat = fs.statSync(folder);
  if (!stat.isDirectory()) throw new Error("it is no folder");
  const own = process.geteuid?.();
  if (own === undefined) return;
  if (stat.uid !== own) throw new Error("it belongs to another user");
  if ((stat.mode & 0o077) !== 0) fs.chmodSync(folder, 0o700);
}

/** Not Node's recursive way: in a place such as `/proc`, where nothing can be made, that one never ends. */
function make(folder: string): void {
  try {
    fs.mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    const above = path.dirname(folder);
    if (code !== "ENOENT" || fs.existsSync(above)) throw error;
    make(above);
    make(folder);
  }
}
