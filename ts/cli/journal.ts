// `agent-lifecycle journal`: looks after a journal.
import fs from "node:fs";
import { parseArgs } from "node:util";
import { type JournalProblem, JsonlLifecycleJournal } from "../journal.js";
import { LifecycleProjector } from "../projector.js";
import { Exit, UsageError } from "./exit.js";
import { inert } from "./inert.js";

interface Flags {
  json: boolean;
  keep: number | undefined;
  confirmed: boolean;
}

type Run = (journal: JsonlLifecycleJournal, flags: Flags) => Promise<Exit>;

const RUNS: Record<string, Run> = { verify, repair, rotate, replay };

export async function journal(args: string[]): Promise<Exit> {
  const { values, positionals } = parse(args, {
    json: { type: "boolean" },
    keep: { type: "string" },
    "no-shared-writers": { type: "boolean" },
  });
  const [name = "", path, ...more] = positionals;
  const act = Object.hasOwn(RUNS, name) ? RUNS[name] : undefined;
  if (act === undefined) throw new UsageError("journal needs verify, repair, rotate or replay, and a file");
  if (path === undefined || more.length > 0) throw new UsageError(`journal ${name} needs one file`);
  if (!fs.existsSync(path)) throw new UsageError(`there is no file ${path}`);
  const keep = values["keep"] === undefined ? undefined : Number(values["keep"]);
  const flags = { json: values["json"] === true, keep, confirmed: values["no-shared-writers"] === true };
  const opened = new JsonlLifecycleJournal(path);
  try {
    return await act(opened, flags);
  } finally {
    await opened.close();
  }
}

async function verify(opened: JsonlLifecycleJournal, { json }: Flags): Promise<Exit> {
  const found = await opened.verify();
  if (json) {
    console.log(JSON.stringify(found));
  } else {
    const numbers = found.entries === 0 ? "" : `, ${found.firstSequence} to ${found.lastSequence}`;
    const verdict = found.valid ? "valid" : "damaged";
    console.log(`${inert(opened.path)}: ${verdict}, ${count(found.entries, "entry", "entries")}${numbers}`);
    for (const { after, before } of found.holes) console.log(`  no entries between ${after} and ${before}`);
    if (found.holeCount > found.holes.length)
      console.log(`  and ${found.holeCount - found.holes.length} more holes`);
    describe(found.problems, found.problemCount);
  }
  return found.valid ? Exit.Fine : Exit.FaultsFound;
}

async function repair(opened: JsonlLifecycleJournal, { json }: Flags): Promise<Exit> {
  const done = await opened.repair();
  if (json) {
    console.log(JSON.stringify(done));
  } else if (done.changed) {
    console.log(
      `${inert(opened.path)}: repaired, ${count(done.kept, "entry", "entries")} kept, ${done.renumbered} renumbered, ` +
        `${done.quarantined} in quarantine`,
    );
    describe(done.problems, done.problemCount);
    if (done.quarantine !== null) console.log(`  what was no event is in ${inert(done.quarantine)}`);
  } else {
    console.log(`${inert(opened.path)}: valid, nothing was changed`);
  }
  return Exit.Fine;
}

async function rotate(opened: JsonlLifecycleJournal, { json, keep, confirmed }: Flags): Promise<Exit> {
  if (!confirmed)
    throw new UsageError(
      "journal rotate needs --no-shared-writers (sharedWriters: false): it says that every writer opens the journal by name under its lock",
    );
  const done = await opened.rotate({ sharedWriters: false, ...(keep !== undefined && { keep }) });
  if (json) console.log(JSON.stringify(done));
  else if (done.old === null) console.log(`${inert(opened.path)}: empty, nothing was changed`);
  else
    console.log(
      `${inert(opened.path)}: ${count(done.entries, "entry", "entries")}; the old ones are in ${inert(done.old)}`,
    );
  return Exit.Fine;
}

async function replay(opened: JsonlLifecycleJournal, { json }: Flags): Promise<Exit> {
  const projector = new LifecycleProjector();
  const { entries, results, problems, problemCount } = await opened.replayInto(projector);
  if (json) {
    console.log(JSON.stringify({ entries, results, problems, problemCount, rows: projector.list() }));
  } else {
    const what = Object.entries(results).map(([status, times]) => `${times} ${status}`);
    console.log(`${inert(opened.path)}: ${count(entries, "entry", "entries")}: ${what.join(", ") || "none"}`);
    for (const { key, state } of projector.list()) console.log(`  ${inert(key)} ${state}`);
    describe(problems, problemCount);
  }
  return problemCount > 0 ? Exit.FaultsFound : Exit.Fine;
}

function parse(args: string[], options: Record<string, { type: "boolean" | "string" }>) {
  try {
    return parseArgs({ args, allowPositionals: true, options });
  } catch (error) {
    throw new UsageError((error as Error).message.split(/[.\n]/)[0]);
  }
}

function describe(problems: JournalProblem[], total: number): void {
  for (const { code, message, offset } of problems)
    console.log(`  offset ${offset}: ${code}: ${inert(message)}`);
  if (total > problems.length) console.log(`  and ${total - problems.length} more`);
}

const count = (number: number, one: string, many: string) => `${number} ${number === 1 ? one : many}`;
