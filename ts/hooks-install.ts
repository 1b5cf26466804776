// Our hooks in Claude Code's settings file: put in, looked for, taken out. Everything else in the file stays as it was written.
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { LifecycleError } from "./error.js";
import { HOOK_EVENTS, type HookEventName, hookSettings, isOurHook } from "./hooks.js";
import { type Place, insert, layoutOf, memberOf, places, remove, replace } from "./json-edit.js";

/** What is added to the name of a settings file for the copy that is kept of it. */
const BACKUP = ".agent-lifecycle-backup";
const FILE_BYTES = 4 * 1024 * 1024;

/** How an event's hook of ours stands in the settings. */
export type HookStanding = "installed" | "other version" | "absent";

export interface HookStatus {
  /** `partly`: of some events only. `other version`: of all events, but not each as this installation would write it. */
  state: "installed" | "partly" | "other version" | "not installed";
  events: Record<HookEventName, HookStanding>;
  /** Whether the settings switch all hooks off. */
  disabled: boolean;
}

/** A settings file that was read. */
export interface SettingsFile {
  /** The file itself, where its name is a link. */
  path: string;
  /** Its text; undefined where there is none yet. */
  text: string | undefined;
  mode: number;
}

/**
 * Reads a settings file.
 *
 * @throws {LifecycleError} `unusable_settings` where it is no JSON object in a regular file, or a link that leads out of its folder.
 */
export function readSettings(file: string): SettingsFile {
  const folder = path.dirname(path.resolve(file));
  if (!fs.existsSync(folder)) {
    const why = `there is no folder ${folder}; create it, or name another file with --settings`;
    unusable(file, why);
  }
  const real = path.join(fs.realpathSync(folder), path.basename(file));
  const target = linked(file, real);
  let stat: fs.Stats;
  try {
    stat = fs.lstatSync(target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      return { path: target, text: undefined, mode: 0o600 };
    throw error;
  }
  if (!stat.isFile()) unusable(file, "it is no regular file");
  if (stat.size > FILE_BYTES) unusable(file, `it has more than ${FILE_BYTES} bytes`);
  const text = utf8(file, fs.readFileSync(target));
  valueOf(file, text);
  return { path: target, text, mode: stat.mode & 0o777 };
}

/** Where a link leads, if that is in its own folder. */
function linked(file: string, real: string): string {
  if (fs.lstatSync(real, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return real;
  const to = path.resolve(path.dirname(real), fs.readlinkSync(real));
  const target = fs.existsSync(to) ? fs.realpathSync(to) : to;
  if (target.startsWith(path.dirname(real) + path.sep)) return target;
  return unusable(
    file,
    `it is a link to ${target}, outside its folder; to change that file, name it: --settings ${target}`,
  );
}

function utf8(file: string, bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return unusable(file, "it is not UTF-8");
  }
}

function valueOf(file: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return unusable(file, "it is not JSON");
  }
  if (!isObject(value)) return unusable(file, "it is not a JSON object");
  const { hooks } = value;
  if (hooks !== undefined && !isObject(hooks)) return unusable(file, "its member hooks is no object");
  for (const name of HOOK_EVENTS) {
    const groups = hooks?.[name];
    if (groups !== undefined && !Array.isArray(groups))
      return unusable(file, `its member hooks.${name} is no list`);
  }
  return value;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function unusable(file: string, why: string): never {
  throw new LifecycleError("unusable_settings", `${file} cannot be changed: ${why}. Nothing was changed.`, {
    path: file,
  });
}

/** Where our hooks of one event stand. */
interface Found {
  groups: Place;
  group: number;
  hooks: Place;
  hook: number;
  value: unknown;
}

function found(text: string, name: string): Found[] {
  const hooksOf = memberOf(places(text), "hooks");
  const groups = hooksOf && memberOf(hooksOf, name);
  if (groups === undefined) return [];
  return groups.parts.flatMap((part, group) => {
    const hooks = memberOf(part.value, "hooks");
    if (hooks?.kind !== "array") return [];
    return hooks.parts.flatMap(({ start, end }, hook) => {
      const value: unknown = JSON.parse(text.slice(start, end));
      return isOurHook(value) ? [{ groups, group, hooks, hook, value }] : [];
    });
  });
}

/** How our hooks stand in a text. */
export function hookStatus(text = "{}"): HookStatus {
  const wanted = hookSettings().hooks;
  const events = Object.fromEntries(
    HOOK_EVENTS.map((name) => {
      const values = found(text, name).map(({ value }) => value);
      const isAsWanted = values.length === 1 && isDeepStrictEqual(values[0], wanted[name][0]?.hooks[0]);
      return [name, values.length === 0 ? "absent" : isAsWanted ? "installed" : "other version"];
    }),
  ) as Record<HookEventName, HookStanding>;
  const standings = new Set(Object.values(events));
  const isPartly = standings.has("absent");
  let state: HookStatus["state"] = standings.has("other version") ? "other version" : "installed";
  if (isPartly) state = standings.size > 1 ? "partly" : "not installed";
  const settings = JSON.parse(text) as { disableAllHooks?: unknown };
  return { state, events, disabled: settings.disableAllHooks === true };
}

/** The text with our hooks in it, each once and as this installation writes it. The same text where they are. */
export function withHooks(before = "{}\n"): string {
  const layout = layoutOf(before);
  let text = before;
  if (memberOf(places(text), "hooks") === undefined)
    text = insert(text, places(text), 0, { key: "hooks", value: {} }, layout);
  for (const [name, groups] of Object.entries(hookSettings().hooks)) {
    for (let more = found(text, name)[1]; more !== undefined; more = found(text, name)[1])
      text = without(text, name, more);
    const [first] = found(text, name);
    const [group] = groups;
    const hook = group?.hooks[0];
    if (first !== undefined) {
      const place = first.hooks.parts[first.hook]?.value;
      if (place !== undefined && !isDeepStrictEqual(first.value, hook))
        text = replace(text, place, 5, hook, layout);
      continue;
    }
    const hooks = memberOf(places(text), "hooks");
    const list = hooks && memberOf(hooks, name);
    if (list !== undefined) text = insert(text, list, 2, { value: group }, layout);
    else if (hooks !== undefined) text = insert(text, hooks, 1, { key: name, value: groups }, layout);
  }
  return text;
}

/** The text without our hooks, and without the lists and the object that are empty then. */
export function withoutHooks(before: string): string {
  let text = before;
  for (const name of HOOK_EVENTS) {
    for (let [first] = found(text, name); first !== undefined; [first] = found(text, name))
      text = without(text, name, first);
  }
  return text;
}

function without(text: string, name: string, { groups, group, hooks, hook }: Found): string {
  if (hooks.parts.length > 1) return remove(text, hooks, hook);
  if (groups.parts.length > 1) return remove(text, groups, group);
  const root = places(text);
  const all = memberOf(root, "hooks");
  if (all === undefined) return text;
  if (all.parts.length > 1) return remove(text, all, indexOf(all, name));
  return remove(text, root, indexOf(root, "hooks"));
}

const indexOf = (place: Place, key: string): number => place.parts.findLastIndex((part) => part.key === key);

/**
 * Puts a text in the place of what was read, in one step, and keeps the former one beside it.
 *
 * @returns the path of the copy; undefined where there was no file.
 * @throws {LifecycleError} `unusable_settings` where somebody else changed the file meanwhile.
 */
export function writeSettings(read: SettingsFile, text: string): string | undefined {
  const backup = read.text === undefined ? undefined : `${read.path}${BACKUP}`;
  const temporary = written(read.path, text, read.mode);
  try {
    const now = readSettings(read.path).text;
    if (now !== read.text) unusable(read.path, "another program has changed it just now; try again");
    if (backup !== undefined) fs.renameSync(written(backup, read.text ?? "", read.mode), backup);
    fs.renameSync(temporary, read.path);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
  return backup;
}

/** A new file beside `file` with the text, synced; its path. */
function written(file: string, text: string, mode: number): string {
  const temporary = `${file}.${process.pid}-${randomBytes(4).toString("hex")}.tmp`;
  const handle = fs.openSync(temporary, "wx", mode);
  try {
    // The umask must not narrow what the file had.
    if (process.platform !== "win32") fs.fchmodSync(handle, mode);
    fs.writeFileSync(handle, text);
    fs.fsyncSync(handle);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  } finally {
    fs.closeSync(handle);
  }
  return temporary;
}
