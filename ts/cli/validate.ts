// `agent-lifecycle validate`: says of each file which lines are no events, and which events do not fit together.
import { parseArgs } from "node:util";
import type { Diagnostic } from "../parser.js";
import { callNative } from "../native.js";
import { Exit, UsageError } from "./exit.js";

interface Report {
  path: string;
  format: "schema-v1" | "claude-code";
  /** Lines that are events, or records of the agent's own format. */
  events: number;
  results: Record<string, number>;
  faults: Record<string, number>;
  diagnostics: Diagnostic[];
  rejected: { code: string; message: string; offset: number; eventId: string }[];
}

export async function validate(args: string[]): Promise<Exit> {
  const { values, positionals } = parse(args);
  if (positionals.length === 0) throw new UsageError("validate needs a file");
  const reports = positionals.map(
    (path) => JSON.parse(callNative((native) => native.validateFile(path))) as Report,
  );
  if (values.json) {
    console.log(JSON.stringify(reports));
  } else {
    for (const report of reports) console.log(describe(report));
  }
  const isFaulty = reports.some((report) => Object.keys(report.faults).length > 0);
  return isFaulty ? Exit.FaultsFound : Exit.Fine;
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options: { json: { type: "boolean" } } });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function describe({ path, format, events, faults, diagnostics, rejected }: Report): string {
  const total = Object.values(faults).reduce((sum, times) => sum + times, 0);
  const found = [...diagnostics, ...rejected].toSorted((a, b) => a.offset - b.offset);
  const lines = found.map(({ code, message, offset }) => `  offset ${offset}: ${code}: ${message}`);
  if (total > found.length) lines.push(`  and ${total - found.length} more`);
  const what = format === "schema-v1" ? count(events, "event") : `${format}, ${count(events, "record")}`;
  return [`${inert(path)}: ${what}, ${count(total, "fault")}`, ...lines].join("\n");
}

const count = (number: number, word: string) => `${number} ${word}${number === 1 ? "" : "s"}`;

/** Without what would move a terminal's cursor. */
const inert = (text: string) => text.replaceAll(/\p{Cc}|\p{Cf}/gu, "");
