// `agent-lifecycle validate`: says of each file which lines are no events, and which events do not fit together.
import { parseArgs } from "node:util";
import type { Diagnostic } from "../parser.js";
import { LifecycleError } from "../error.js";
import { callNative } from "../native.js";
import { Exit, UsageError } from "./exit.js";
import { inert } from "./inert.js";

interface Report {
  path: string;
  format: "schema-v1" | "claude-code";
  /** Lines that are events, or records of the agent's own format. */
  events: number;
  results: Record<string, number>;
  faults: Record<string, number>;
  diagnostics: (Diagnostic & { line: number })[];
  rejected: {
    code: string;
    message: string;
    line: number;
    offset: number;
    childId: string;
    eventId: string;
  }[];
}

export async function validate(args: string[]): Promise<Exit> {
  const { values, positionals } = parse(args);
  if (positionals.length === 0) throw new UsageError("validate needs a file");
  const unreadable: string[] = [];
  const reports = positionals.flatMap((path) => {
    try {
      return [JSON.parse(callNative((native) => native.validateFile(path))) as Report];
    } catch (error) {
      if (!(error instanceof LifecycleError)) throw error;
      unreadable.push(error.message);
      return [];
    }
  });
  if (values.json) {
    if (reports.length > 0) console.log(JSON.stringify(reports));
  } else {
    for (const report of reports) console.log(describe(report));
  }
  for (const message of unreadable) console.error(`agent-lifecycle: ${inert(message)}`);
  if (unreadable.length > 0) return Exit.Unusable;
  const isFaulty = reports.some((report) => Object.keys(report.faults).length > 0);
  return isFaulty ? Exit.FaultsFound : Exit.Fine;
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options: { json: { type: "boolean" } } });
  } catch (error) {
    throw new UsageError((error as Error).message.split(/[.\n]/)[0]);
  }
}

function describe({ path, format, events, results, faults, diagnostics, rejected }: Report): string {
  const total = Object.values(faults).reduce((sum, times) => sum + times, 0);
  const found = [...diagnostics, ...rejected].toSorted((a, b) => a.offset - b.offset);
  const lines = found.map((fault) => {
    const { line, offset, code, message } = fault;
    const about = "childId" in fault ? ` (child ${inert(fault.childId)}, event ${inert(fault.eventId)})` : "";
    return `  line ${line}, offset ${offset}: ${code}: ${inert(message)}${about}`;
  });
  if (total > found.length) lines.push(`  and ${total - found.length} more`);
  if (events === 0 && total > 0) lines.push("  no line of it is an event");
  const unknown = results["unknown_record"] ?? 0;
  if (unknown > 0) lines.push(`  ${count(unknown, "record")} of unknown types were passed over`);
  const what = format === "schema-v1" ? count(events, "event") : `${format}, ${count(events, "record")}`;
  return [`${inert(path)}: ${what}, ${count(total, "fault")}`, ...lines].join("\n");
}

const count = (number: number, word: string) => `${number} ${word}${number === 1 ? "" : "s"}`;
