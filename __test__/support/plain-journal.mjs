// A journal writer of another hand, after "The shared protocol" and "The file" of docs/journal-format.md alone: nothing of this
// package is used. Run: node plain-journal.mjs <path> <name> <count>. It prints each number that it wrote, with the event's id.
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const readOwner = (directory) => {
  try {
    return JSON.parse(fs.readFileSync(path.join(directory, "owner.json"), "utf8"));
  } catch {
    return undefined;
  }
};

const isDead = (pid) => {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
};

/** Takes the lock; answers the token. */
export async function acquire(journal, { timeoutMs = 5000, staleMs = 300_000 } = {}) {
  const lock = `${journal}.lock`;
  const token = crypto.randomUUID();
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      fs.mkdirSync(lock);
      const record = { pid: process.pid, token, createdAt: new Date().toISOString() };
      fs.writeFileSync(path.join(lock, "owner.json"), JSON.stringify(record));
      return token;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const owner = readOwner(lock);
    const age = ageOf(lock, owner);
    if (owner !== undefined && age >= staleMs && isDead(owner.pid)) {
      reclaim(lock, owner, token);
      continue;
    }
    if (Date.now() >= deadline)
      throw new Error(`plain writer: ${lock} is held by pid ${owner?.pid}, since ${age} ms`);
    await pause(5 + Math.random() * 10);
  }
}

function ageOf(lock, owner) {
  try {
    const created = typeof owner?.createdAt === "number" ? owner.createdAt : Date.parse(owner?.createdAt);
    return Date.now() - Math.max(fs.statSync(lock).mtimeMs, Number.isNaN(created) ? 0 : created);
  } catch {
    return 0;
  }
}

function reclaim(lock, judged, token) {
  const moved = `${lock}.stale-${token}`;
  try {
    fs.renameSync(lock, moved);
  } catch (error) {
    if (error.code === "ENOENT") return;
    throw error;
  }
  if (readOwner(moved)?.token === judged.token) fs.rmSync(moved, { recursive: true, force: true });
  else if (!fs.existsSync(lock)) fs.renameSync(moved, lock);
}

export function release(journal, token) {
  const lock = `${journal}.lock`;
  if (readOwner(lock)?.token !== token) return false;
  fs.rmSync(lock, { recursive: true, force: true });
  return true;
}

/** Appends one event; answers its number. */
export async function append(journal, event, options) {
  const token = await acquire(journal, options);
  try {
    const file = fs.openSync(journal, "a+", 0o600);
    try {
      const { size } = fs.fstatSync(file);
      const sequence = lastSequence(file, size) + 1;
      const line = `${JSON.stringify({ ...event, journalSequence: sequence })}\n`;
      if (readOwner(`${journal}.lock`)?.token !== token) throw new Error("plain writer: lost the lock");
      fs.writeSync(file, line);
      if (readOwner(`${journal}.lock`)?.token !== token) throw new Error("plain writer: lost the lock");
      return sequence;
    } finally {
      fs.closeSync(file);
    }
  } finally {
    release(journal, token);
  }
}

function lastSequence(file, size) {
  if (size === 0) return 0;
  const bytes = Buffer.alloc(Math.min(size, 300_000));
  fs.readSync(file, bytes, 0, bytes.length, size - bytes.length);
  if (bytes.at(-1) !== 10) throw new Error("plain writer: the last line is torn");
  const line = bytes.toString("utf8").trimEnd().split("\n").at(-1);
  return JSON.parse(line).journalSequence;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , journal, name, count] = process.argv;
  for (let at = 0; at < Number(count); at++) {
    const eventId = `${name}-${at}`;
    const event = {
      schemaVersion: 1,
      eventId,
      source: "plain",
      sourceEpoch: "1",
      childId: name,
      lineage: { rootChildId: name, attempt: 0, external: false },
      kind: "heartbeat",
      observedAt: new Date().toISOString(),
    };
    console.log(`${await append(journal, event, { timeoutMs: 60_000 })} ${eventId}`);
  }
}
