// Journals of publishers that are long dead.
import fs from "node:fs/promises";
import path from "node:path";
import { callNative } from "./native.js";

const OLD_MS = 7 * 24 * 60 * 60 * 1000;
/** Entries of the folder that are looked at, and journals that are removed, at one opening. */
const ENTRIES = 4096;
const REMOVALS = 64;
/** Bytes in which the first line of a journal ends. */
const FIRST_LINE = 16_384;

/**
 * Removes journals that nobody has written for seven days, whose first line says that a publisher made them, and whose owner is
 * provably dead; with what stands beside them. Anything else stays. Never rejects.
 */
export async function removeOldJournals(folder: string): Promise<void> {
  try {
    const names = await entries(folder);
    let removed = 0;
    for (const name of names) {
      if (!name.endsWith(".jsonl")) continue;
      if (removed === REMOVALS) return;
      if (!(await isOldAndOwnerless(folder, name))) continue;
      removed += 1;
      const beside = names.filter((other) => other.startsWith(`${name}.`));
      for (const each of [name, ...beside])
        await fs.rm(path.join(folder, each), { recursive: true, force: true });
    }
  } catch {
    // Tidying up can wait for the next publisher.
  }
}

async function entries(folder: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of await fs.opendir(folder)) {
    names.push(name);
    if (names.length === ENTRIES) break;
  }
  return names;
}

async function isOldAndOwnerless(folder: string, name: string): Promise<boolean> {
  try {
    const file = path.join(folder, name);
    const stat = await fs.lstat(file);
    if (!stat.isFile() || Date.now() - stat.mtimeMs < OLD_MS) return false;
    const owner = ownerOf(await firstLine(file), name);
    return owner !== undefined && callNative((addon) => addon.isProvablyDead(JSON.stringify(owner)));
  } catch {
    return false;
  }
}

async function firstLine(file: string): Promise<string> {
  const handle = await fs.open(file, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(FIRST_LINE), 0, FIRST_LINE, 0);
    const text = buffer.toString("utf8", 0, bytesRead);
    return text.slice(0, Math.max(text.indexOf("\n"), 0));
  } finally {
    await handle.close();
  }
}

/** Who made the journal, where its first line is the note of a publisher whose source gives the file its name. */
function ownerOf(line: string, name: string): unknown {
  const note = JSON.parse(line) as {
    kind?: unknown;
    childId?: unknown;
    source?: unknown;
    details?: { owner?: unknown };
  };
  const isOurs =
    note.kind === "diagnostic" &&
    note.childId === "@source" &&
    typeof note.source === "string" &&
    `${note.source.replace("/", "-")}.jsonl` === name;
  return isOurs ? note.details?.owner : undefined;
}
