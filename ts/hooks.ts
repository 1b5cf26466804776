// The settings that make Claude Code run our hook.
import path from "node:path";
import { optionalText, optionsArgument } from "./arguments.js";

/** The hooks of Claude Code that say something of a lifecycle which its journals do not, or later. */
export const HOOK_EVENTS = [
  "PermissionRequest",
  "Notification",
  "SubagentStart",
  "SubagentStop",
  "Stop",
  "SessionEnd",
] as const;

export type HookEventName = (typeof HOOK_EVENTS)[number];

/** A hook that runs in the background, so that the agent never waits for it. */
export interface HookCommand {
  type: "command";
  command: string;
  async: true;
  /** Seconds after which Claude Code ends it. */
  timeout: number;
}

/** A part of Claude Code's `settings.json`. */
export interface HookSettings {
  hooks: Record<HookEventName, { hooks: HookCommand[] }[]>;
}

export interface HookSettingsOptions {
  /** How a shell starts `agent-lifecycle`, such as `npx agent-lifecycle`; by default this Node with this package's own file. */
  command?: string | undefined;
}

/** What the command of each of our hooks ends with: by this they are known again. The number is that of this set of hooks. */
const MARK = "hook run --installed agent-lifecycle@";
const SET = 1;
const TIMEOUT_SECONDS = 10;

/** What belongs into Claude Code's `settings.json` so that each of the hooks drops its file. Merge it, or use `agent-lifecycle hook install`. */
export function hookSettings(options?: HookSettingsOptions): HookSettings {
  const start =
    optionalText(optionsArgument(options, "options", ["command"]).command, "command") ?? ownCommand();
  const command = `${start} ${MARK}${SET}`;
  const groups = () => [
    { hooks: [{ type: "command" as const, command, async: true as const, timeout: TIMEOUT_SECONDS }] },
  ];
  return {
    hooks: Object.fromEntries(HOOK_EVENTS.map((name) => [name, groups()])) as HookSettings["hooks"],
  };
}

/** Whether a hook in somebody's settings is one of ours, of any installation and version. */
export function isOurHook(hook: unknown): boolean {
  const command = (hook as { command?: unknown } | null)?.command;
  if (typeof command !== "string") return false;
  const at = command.lastIndexOf(MARK);
  return at >= 0 && /^\d{1,6}$/.test(command.slice(at + MARK.length));
}

/** Paths, not names: the agent's `PATH` may lack both. */
function ownCommand(): string {
  return [process.execPath, path.join(__dirname, "cli", "main.js")].map(quoted).join(" ");
}

function quoted(word: string): string {
  // Both shells of Claude Code on Windows take slashes and double quotes.
  if (process.platform === "win32") return `"${word.replaceAll("\\", "/")}"`;
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
