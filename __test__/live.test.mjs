// End to end: journals that grow in random pieces, with restarts of the monitor, show what one reading shows.
import assert from "node:assert/strict";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { openMonitor, readStatus } from "../index.js";

const root = path.join(import.meta.dirname, "..");
const recordings = process.env["AGENT_LIFECYCLE_RECORDINGS"] ?? path.join(root, "..", "shared", "recordings");

/** Every session: a folder with its journals. Fixtures always, recordings where they are. */
function sessions() {
  const found = [];
  for (const provider of ["claude-code", "codex"]) {
    for (const base of [path.join(root, "fixtures", provider), path.join(recordings, provider)]) {
      if (existsSync(base)) for (const name of readdirSync(base)) found.push(path.join(base, name));
    }
  }
  return found;
}

/** The journals below a folder, by path. */
function journals(folder, below = "") {
  return readdirSync(path.join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const name = path.join(below, entry.name);
    if (entry.isDirectory()) return journals(folder, name);
    return entry.name.endsWith(".jsonl") ? [name] : [];
  });
}

/** A generator of numbers from 0 to 1, the same at every run (mulberry32). */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** The pieces of all journals in the order of their records' times: of each line a part, then its rest. */
function pieces(folder, random) {
  const lines = [];
  for (const name of journals(folder)) {
    const bytes = readFileSync(path.join(folder, name));
    let at = 0;
    let time = "";
    while (at < bytes.length) {
      const end = bytes.indexOf(10, at);
      const line = bytes.subarray(at, end < 0 ? bytes.length : end + 1);
      const told = /"timestamp":"([^"]*)"/.exec(line.toString("latin1"))?.[1] ?? "";
      if (told > time) time = told;
      lines.push({ name, time, line });
      at += line.length;
    }
  }
  lines.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  return lines.flatMap(({ name, line }) => {
    const cut = Math.floor(random() * line.length);
    return [
      { name, bytes: line.subarray(0, cut) },
      { name, bytes: line.subarray(cut) },
    ];
  });
}

/** What of a row does not depend on when it was read. */
const MEMBERS = [
  "key",
  "parentKey",
  "state",
  "waitingReason",
  "turns",
  "tools",
  "liveChildren",
  "title",
  "model",
  "usage",
  "lateEvidence",
];
const shown = (rows) =>
  rows
    .map((row) => Object.fromEntries(MEMBERS.map((name) => [name, row[name]])))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));

const TERMINAL = new Set(["completed", "failed", "cancelled", "lost"]);

test(
  "journals that grow, with two restarts in between, show what one reading shows",
  { timeout: 240_000 },
  async (t) => {
    const place = mkdtempSync(path.join(tmpdir(), "live-"));
    t.after(() => rmSync(place, { recursive: true, force: true }));
    const random = numbers(7);
    const all = sessions().map((folder, number) => ({
      folder,
      at: path.join(place, "projects", String(number)),
      left: pieces(folder, random),
    }));
    assert.ok(all.length > 20, `${all.length} sessions`);
    for (const { folder, at } of all) {
      // What stands beside journals is there from the start.
      cpSync(folder, at, { recursive: true, filter: (source) => !source.endsWith(".jsonl") });
    }
    // Sessions of fixtures and recordings with one id would be copies of each other.
    const sources = all.map(({ at }) => at);
    const ended = new Map();
    const backwards = [];
    const onChange = ({ upserted, removed }) => {
      for (const key of removed) ended.delete(key);
      for (const { key, state, attempt } of upserted) {
        const before = ended.get(key);
        if (before !== undefined && before !== state)
          backwards.push(`${key} ${before} -> ${state} ${attempt}`);
        if (TERMINAL.has(state)) ended.set(key, state);
      }
    };
    const journal = path.join(place, "monitor.jsonl");
    const open = () => openMonitor({ sources, journal, activeWithinMs: Number.MAX_SAFE_INTEGER, onChange });
    let monitor = await open();
    const total = all.reduce((sum, { left }) => sum + left.length, 0);
    let written = 0;
    const restarts = [Math.floor(total / 3), Math.floor((2 * total) / 3)];
    while (all.some(({ left }) => left.length > 0)) {
      for (const { at, left } of all) {
        for (const { name, bytes } of left.splice(0, 1 + Math.floor(random() * 6))) {
          const file = path.join(at, name);
          mkdirSync(path.dirname(file), { recursive: true });
          appendFileSync(file, bytes);
          written += 1;
        }
      }
      if (random() < 0.2) await wait(20);
      if (written > restarts[0]) {
        restarts.shift();
        await monitor.close();
        monitor = await open();
      }
    }
    assert.equal(restarts.length, 0);
    const expected = shown((await readStatus({ sources })).rows);
    const end = Date.now() + 60_000;
    const same = () => JSON.stringify(shown(monitor.rows())) === JSON.stringify(expected);
    while (!same() && Date.now() < end) await wait(50);
    const rows = shown(monitor.rows());
    await monitor.close();
    assert.deepEqual(rows, expected);
    assert.deepEqual(backwards, []);
  },
);
