// Rows `journal` and `journal-length`: 64 appends that are asked for at once, durability os, to journals that hold the corpus. A
// round adds 64 lines to each journal, which changes little.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { JsonlLifecycleJournal } from "agent-lifecycle";
import { ReplayingJournal } from "./baselines/journal.mjs";
import { measure } from "./measure.mjs";

const CONCURRENT = 64;
/** Lines of the shorter journal of `journal-length`. */
const SHORT = 10_000;

const folder = mkdtempSync(path.join(os.tmpdir(), "bench-journal-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const events = Array.from({ length: CONCURRENT }, (_, at) => ({
  schemaVersion: 1,
  eventId: `append-${at}`,
  source: "bench",
  sourceEpoch: "1",
  childId: "child",
  lineage: { rootChildId: "child", attempt: 0, external: false },
  kind: "heartbeat",
  observedAt: "2026-01-01T00:00:00Z",
}));

/** Makes a journal of the last `limit` lines once, and appends to it in each run. */
function appending(name, open, limit = Infinity) {
  let journal;
  return async (chunks) => {
    if (journal === undefined) {
      const file = path.join(folder, name);
      numbered(chunks, limit, file);
      journal = open(file);
      // What is in it is read once, at the first append.
      await journal.append(events[0]);
    }
    const written = await Promise.all(events.map((event) => journal.append(event)));
    return { first: written[0].journalSequence, last: written.at(-1).journalSequence };
  };
}

/** Writes the last `limit` lines of the corpus as a journal. */
function numbered(chunks, limit, file) {
  const lines = Buffer.concat(chunks).toString().trimEnd().split("\n");
  const from = Math.max(0, lines.length - limit);
  for (let at = from; at < lines.length; at += 10_000) {
    const part = lines.slice(at, at + 10_000);
    const text = part.map((line, index) => `${line.slice(0, -1)},"journalSequence":${at + index + 1}}\n`);
    writeFileSync(file, text.join(""), { flag: "a", mode: 0o600 });
  }
}

const ours = (file) => new JsonlLifecycleJournal(file, { durability: "os" });

const ROWS = {
  append: {
    native: appending("native", ours),
    replaying: appending("replaying", (file) => new ReplayingJournal(file)),
  },
  length: {
    native: appending("long", ours),
    short: appending("short", ours, SHORT),
  },
};

await measure(
  ROWS[process.argv[4]],
  ({ first, last }) => last - first,
  ({ first }) => ({ entries: first - 2 }),
);
process.exit(0);
