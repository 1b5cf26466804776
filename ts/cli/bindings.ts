// `agent-lifecycle bindings`: looks at a store of bindings, and frees what the dead own. It never shows a native id, a locator or a
// value of metadata.
import { parseArgs } from "node:util";
import { type BindingStore, existingStore, repairStore, storeOverview } from "../runtime/binding-store.js";
import type { BindingHistoryEntry, BindingInspection } from "../runtime/binding.js";
import { BindingError } from "../runtime/errors.js";
import { Exit, UsageError } from "./exit.js";
import { counted } from "../watch/words.js";
import { inert } from "./inert.js";

interface Flags {
  json: boolean;
  dryRun: boolean;
  release: string | undefined;
}

interface Subcommand {
  /** What it takes beside the file. */
  takes: "session" | "nothing";
  options: readonly string[];
  run: (store: BindingStore, session: string, flags: Flags) => Promise<Exit>;
}

const RUNS: Record<string, Subcommand> = {
  list: { takes: "nothing", options: ["json"], run: list },
  inspect: { takes: "session", options: ["json"], run: inspect },
  history: { takes: "session", options: ["json"], run: history },
  repair: { takes: "nothing", options: ["json", "dry-run", "release"], run: repair },
};

export async function bindings(args: string[]): Promise<Exit> {
  const { values, positionals } = parse(args);
  const [name = "", file, session, ...more] = positionals;
  const command = Object.hasOwn(RUNS, name) ? RUNS[name] : undefined;
  if (command === undefined)
    throw new UsageError("bindings needs list, inspect, history or repair, and a file");
  const takesSession = command.takes === "session";
  if (file === undefined || (session !== undefined) !== takesSession || more.length > 0)
    throw new UsageError(`bindings ${name} needs one file${takesSession ? " and one product session" : ""}`);
  const unknown = Object.keys(values).find((option) => !command.options.includes(option));
  if (unknown !== undefined) throw new UsageError(`bindings ${name} has no option --${unknown}`);
  const flags = {
    json: values.json === true,
    dryRun: values["dry-run"] === true,
    release: values.release,
  };
  const store = await existingStore(file);
  try {
    return await command.run(store, session ?? "", flags);
  } catch (error) {
    // A damaged row is what was looked for; a file that is no store is not.
    if (!(error instanceof BindingError) || error.code !== "binding_corrupt") throw error;
    console.error(`agent-lifecycle: ${inert(error.message)}`);
    return Exit.FaultsFound;
  } finally {
    await store.close();
  }
}

async function list(store: BindingStore, _session: string, { json }: Flags): Promise<Exit> {
  const found = await storeOverview(store);
  if (json) {
    console.log(JSON.stringify(found));
  } else {
    const rows = found.bindings.map((one) => [
      one.productSessionId,
      one.state,
      one.adapterId,
      one.runtimeInstanceId,
      String(one.revision),
      String(one.generation),
      ownerText(one.owner),
      one.updatedAt,
    ]);
    if (rows.length === 0) console.log("no bindings");
    else
      table([
        ["SESSION", "STATE", "ADAPTER", "INSTANCE", "REVISION", "GENERATION", "OWNER", "UPDATED"],
        ...rows,
      ]);
    describe(found.corrupt);
  }
  return found.corrupt.length > 0 ? Exit.FaultsFound : Exit.Fine;
}

async function inspect(store: BindingStore, session: string, { json }: Flags): Promise<Exit> {
  const found = await store.inspect(session);
  if (found === undefined) throw new UsageError(`there is no binding of ${session}`);
  if (json) {
    console.log(JSON.stringify(found));
    return Exit.Fine;
  }
  const { owner, diagnostic, metadataKeys, ...rest } = found;
  const shown = {
    ...rest,
    ...(metadataKeys && { metadataKeys: metadataKeys.join(", ") }),
    ...(diagnostic && {
      diagnostic: `${diagnostic.code} (${diagnostic.phase}, ${diagnostic.at}): ${diagnostic.message}`,
    }),
    owner: ownerText(owner),
  };
  table(Object.entries(shown).map(([name, value]) => [name, String(value)]));
  return Exit.Fine;
}

async function history(store: BindingStore, session: string, { json }: Flags): Promise<Exit> {
  const found = await store.history(session);
  if (found.length === 0) throw new UsageError(`there is no history of ${session}`);
  const entries = found.map(shownEntry);
  if (json) {
    console.log(JSON.stringify(entries));
    return Exit.Fine;
  }
  const rows = entries.map((one) => [
    String(one.revision),
    String(one.generation),
    one.mode === undefined ? one.change : `${one.change} (${one.mode})`,
    one.state,
    one.hasNativeSession ? "yes" : "no",
    one.at,
  ]);
  table([["REVISION", "GENERATION", "CHANGE", "STATE", "NATIVE SESSION", "AT"], ...rows]);
  return Exit.Fine;
}

async function repair(store: BindingStore, _session: string, flags: Flags): Promise<Exit> {
  const found = await repairStore(store, flags.dryRun, flags.release);
  const { corrupt, fileFaults, strayNativeIds, freed, freedReservations, owned } = found;
  if (flags.json) {
    console.log(JSON.stringify(found));
  } else {
    const verb = flags.dryRun ? "would free" : "freed";
    console.log(`${counted(found.bindings, "binding")} can be read`);
    describe(corrupt);
    for (const fault of fileFaults) console.log(`file: ${inert(fault)}`);
    if (strayNativeIds > 0) console.log(`${strayNativeIds} native sessions are claimed for no binding`);
    for (const id of freed) console.log(`${verb} ${inert(id)}`);
    if (freedReservations > 0) console.log(`${verb} ${freedReservations} reservations`);
    for (const id of owned) console.log(`stays claimed, its owner is not provably dead: ${inert(id)}`);
  }
  return corrupt.length + fileFaults.length + strayNativeIds > 0 ? Exit.FaultsFound : Exit.Fine;
}

/** An entry of the history without its native id. */
function shownEntry({ nativeSessionId, ...rest }: BindingHistoryEntry) {
  return { ...rest, hasNativeSession: nativeSessionId !== undefined };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { json: { type: "boolean" }, "dry-run": { type: "boolean" }, release: { type: "string" } },
    });
  } catch (error) {
    throw new UsageError((error as Error).message.split(/[.\n]/)[0]);
  }
}

function ownerText(owner: BindingInspection["owner"]): string {
  if (owner === undefined) return "none";
  return owner.pid === undefined ? owner.status : `pid ${owner.pid}, ${owner.status}`;
}

function describe(corrupt: readonly { productSessionId?: string; what: string }[]): void {
  for (const { productSessionId = "a row without a readable id", what } of corrupt)
    console.log(`damaged: ${inert(productSessionId)}: ${what}`);
}

/** Rows in columns that are as wide as their widest cell. */
function table(rows: readonly string[][]): void {
  const cells = rows.map((row) => row.map((cell) => inert(cell).replaceAll("\n", " ")));
  const widths = cells[0]?.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0))) ?? [];
  for (const row of cells)
    console.log(
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}
