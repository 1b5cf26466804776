// What a hook of an agent leaves behind: one small file in the spool of the state directory. Never fails, prints or delays.
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { safeAgentString } from "./agent-text.js";
import { redact } from "./redact.js";
import { makeStateFolder } from "./state-directory.js";

const INPUT_BYTES = 1024 * 1024;
/** A hook's input is there at once; whoever leaves it open must not keep the hook. */
const INPUT_MS = 2000;
const AGE_MS = 24 * 60 * 60 * 1000;
/** From which age a file that was never finished is nobody's any more. */
const UNFINISHED_MS = 60_000;
const FILES = 4096;
/** Entries that one run looks at, and files that it removes. */
const ENTRIES = 2 * FILES;
const REMOVALS = 256;

/** The members that are kept of each hook event beside `hook_event_name` and `session_id`, and the length of each at most. */
const MEMBERS: Record<string, Record<string, number>> = {
  PermissionRequest: { agent_id: 256, tool_name: 96, tool_use_id: 256 },
  Notification: { agent_id: 256, notification_type: 64, message: 512 },
  SubagentStart: { agent_id: 256, agent_type: 96 },
  SubagentStop: { agent_id: 256, agent_type: 96 },
  Stop: { agent_id: 256 },
  SessionEnd: { reason: 64 },
};
const SESSION_ID = 256;

/** A file of the spool. */
export interface SpoolFile {
  spoolVersion: 1;
  provider: string;
  /** When the hook ran, RFC 3339 UTC. */
  receivedAt: string;
  event: { hook_event_name: string; session_id: string } & Record<string, string>;
}

/** Reads a hook's input from stdin and leaves its file. Settles in about two seconds at most, whatever happens. */
export async function runHook(): Promise<void> {
  try {
    const now = Date.now();
    const text = await input(process.stdin);
    const file = text === undefined ? undefined : spoolFile(text, new Date(now).toISOString());
    if (file !== undefined) drop(makeStateFolder("spool"), JSON.stringify(file), now);
  } catch {
    // A hook that cannot say something says nothing.
  }
}

/** What stands in the spool for the input of a Claude Code hook; nothing for what is no such input, or of no use. */
export function spoolFile(text: string, receivedAt: string): SpoolFile | undefined {
  const given: unknown = JSON.parse(text);
  if (typeof given !== "object" || given === null) return undefined;
  const { hook_event_name: name, session_id: session } = given as Record<string, unknown>;
  const members = typeof name === "string" && Object.hasOwn(MEMBERS, name) ? MEMBERS[name] : undefined;
  const sessionId = safeAgentString(session, SESSION_ID);
  if (members === undefined || sessionId === undefined) return undefined;
  const event: SpoolFile["event"] = { hook_event_name: name as string, session_id: sessionId };
  for (const [member, length] of Object.entries(members)) {
    const value = safeAgentString((given as Record<string, unknown>)[member], length);
    if (value !== undefined) event[member] = value;
  }
  // The text of a notification is for versions that do not say its type.
  if (event["notification_type"] !== undefined) delete event["message"];
  const file = redact({ spoolVersion: 1 as const, provider: "claude-code", receivedAt, event });
  return file.event.session_id === sessionId ? file : undefined;
}

/** All of the input, or what came of it in time; nothing where it is too long. */
function input(stream: NodeJS.ReadStream): Promise<string | undefined> {
  if (stream.isTTY) return Promise.resolve(undefined);
  return new Promise((settle) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (): void =>
      settle(bytes > INPUT_BYTES ? undefined : new TextDecoder("utf-8").decode(Buffer.concat(chunks)));
    setTimeout(end, INPUT_MS).unref();
    stream.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      // The rest is read all the same: the agent must not meet a closed pipe.
      if (bytes <= INPUT_BYTES) chunks.push(chunk);
    });
    stream.on("end", end);
    stream.on("error", end);
  });
}

function drop(folder: string, text: string, now: number): void {
  const name = `${now}-${process.pid}-${randomBytes(4).toString("hex")}.json`;
  const temporary = path.join(folder, `.${name}.tmp`);
  try {
    fs.writeFileSync(temporary, text, { flag: "wx", mode: 0o600 });
    fs.renameSync(temporary, path.join(folder, name));
  } catch {
    fs.rmSync(temporary, { force: true });
  }
  prune(folder, now);
}

const NAME = /^(\.?)(\d{13})-\d{1,10}-[0-9a-f]{1,32}\.json(\.tmp)?$/;

/** Removes what is too old, and the oldest of too many. Files of other names are nobody's to remove. */
function prune(folder: string, now: number): void {
  const kept: string[] = [];
  const old: string[] = [];
  const directory = fs.opendirSync(folder, { bufferSize: 256 });
  try {
    for (let seen = 0; seen < ENTRIES; seen++) {
      const entry = directory.readSync();
      if (entry === null) break;
      const match = NAME.exec(entry.name);
      if (match === null || entry.isDirectory()) continue;
      const [, , time, isUnfinished] = match;
      // A time that is far ahead is of a clock that was wrong.
      const age = Math.abs(now - Number(time));
      const isOld = age > (isUnfinished === undefined ? AGE_MS : UNFINISHED_MS);
      (isOld ? old : kept).push(entry.name);
    }
  } finally {
    directory.closeSync();
  }
  const tooMany = kept.length > FILES ? kept.toSorted().slice(0, kept.length - FILES) : [];
  for (const name of [...old, ...tooMany].slice(0, REMOVALS)) {
    try {
      fs.rmSync(path.join(folder, name), { force: true });
    } catch {
      // One that cannot be removed must not keep the others.
    }
  }
}
