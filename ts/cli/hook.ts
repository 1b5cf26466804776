// `agent-lifecycle hook install|status|uninstall`: our hooks in Claude Code's settings.
import fs from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { LifecycleError } from "../error.js";
import {
  type SettingsFile,
  hookStatus,
  readSettings,
  withHooks,
  withoutHooks,
  writeSettings,
} from "../hooks-install.js";
import { Exit, UsageError } from "./exit.js";
import { inert } from "./inert.js";

interface Flags {
  dryRun: boolean;
  json: boolean;
}

type Act = (read: SettingsFile, flags: Flags) => Exit;

const ACTS: Record<string, Act> = { install, status, uninstall };

export async function hook(args: string[]): Promise<Exit> {
  const { values, positionals } = parse(args);
  const [name = "", ...more] = positionals;
  const act = Object.hasOwn(ACTS, name) ? ACTS[name] : undefined;
  if (act === undefined || more.length > 0)
    throw new UsageError("hook needs one of install, status, uninstall and run");
  const flags = { dryRun: values["dry-run"] === true, json: values["json"] === true };
  if (flags.dryRun && act === status)
    throw new UsageError("hook status changes nothing: it has no --dry-run");
  if (flags.json && act !== status) throw new UsageError("--json is for hook status");
  try {
    const file = values["settings"] ?? defaultSettings();
    // Where there is no settings file, and perhaps no folder for it, there is nothing that could be wrong with it.
    const isMissing = act !== install && !fs.existsSync(file) && !isLink(file);
    return act(
      isMissing ? { path: path.resolve(file), text: undefined, mode: 0 } : readSettings(file),
      flags,
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    // The system's own words name the call and the path.
    throw new LifecycleError("unusable_settings", `nothing was changed: ${(error as Error).message}`);
  }
}

const isLink = (file: string): boolean =>
  fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;

const defaultSettings = (): string =>
  path.join(process.env["CLAUDE_CONFIG_DIR"] || path.join(homedir(), ".claude"), "settings.json");

function install(read: SettingsFile, { dryRun }: Flags): Exit {
  return change(read, withHooks(read.text), dryRun, "the hooks are installed");
}

function uninstall(read: SettingsFile, { dryRun }: Flags): Exit {
  const text = read.text === undefined ? undefined : withoutHooks(read.text);
  return change(read, text, dryRun, "the hooks are gone");
}

function change(read: SettingsFile, text: string | undefined, dryRun: boolean, done: string): Exit {
  if (dryRun) {
    process.stdout.write(text ?? "");
  } else if (text === undefined || text === read.text) {
    console.log(`${inert(read.path)}: ${done} already, nothing was changed`);
  } else {
    const backup = writeSettings(read, text);
    console.log(`${inert(read.path)}: ${done}. Sessions that run already may need a restart.`);
    if (backup !== undefined) console.log(`  what it was before is in ${inert(backup)}`);
  }
  return Exit.Fine;
}

function status(read: SettingsFile, { json }: Flags): Exit {
  const found = hookStatus(read.text);
  if (json) {
    console.log(JSON.stringify({ settings: read.path, ...found }));
  } else {
    const why = read.text === undefined ? " (there is no such file)" : "";
    console.log(`${inert(read.path)}: ${found.state}${why}`);
    if (found.state !== "installed" && found.state !== "not installed")
      for (const [event, standing] of Object.entries(found.events)) console.log(`  ${event}: ${standing}`);
    if (found.disabled) console.log("  no hook runs: the settings have disableAllHooks");
  }
  return found.state === "installed" && !found.disabled ? Exit.Fine : Exit.FaultsFound;
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { settings: { type: "string" }, "dry-run": { type: "boolean" }, json: { type: "boolean" } },
    });
  } catch (error) {
    throw new UsageError((error as Error).message.split(/[.\n]/)[0]);
  }
}
