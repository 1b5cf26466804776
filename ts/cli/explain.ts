// `agent-lifecycle explain`: why a row is in its state, with the records that say so.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { openMonitor } from "../monitor.js";
import type { Explanation } from "../explanation.js";
import type { Row } from "../row.js";
import { explanationWords } from "../watch/explanation.js";
import type { OpenMonitor } from "../watch/monitor.js";
import { stateWords, titleWords } from "../watch/words.js";
import { Exit, UsageError } from "./exit.js";
import { inert } from "./inert.js";
import { CENTURY_MS, noticeText } from "./watch.js";

/** Rows that are named where an id is not clear. */
const NAMED = 10;

/** The command with a monitor of one's own. */
export const explainWith =
  (open: OpenMonitor) =>
  async (args: string[]): Promise<Exit> => {
    const { id, paths, json } = parse(args);
    const monitor = await open({
      sources: paths.length === 0 ? "default" : paths.map((path) => resolve(path)),
      // Whatever is named is looked for, however old it is.
      activeWithinMs: CENTURY_MS,
      onChange: () => {},
      onDiagnostic: (diagnostic) => console.error(`agent-lifecycle: ${oneLine(noticeText(diagnostic))}`),
      signal: new AbortController().signal,
      ref: true,
    });
    try {
      const found = chosen(monitor.rows(), id);
      const { row, why } = readOnce(found, monitor.explain(found.key));
      if (json) {
        const explanation = why === undefined ? null : withoutDeadline(why);
        console.log(JSON.stringify({ key: row.key, explanation, row }));
        return Exit.Fine;
      }
      const said = explanationWords(row, why, Date.now());
      const width = Math.max(...said.map(([name]) => name.length));
      for (const [name, text] of said) console.log(`${name.padEnd(width)}  ${oneLine(text)}`);
      return Exit.Fine;
    } finally {
      await monitor.close();
    }
  };

/** `agent-lifecycle explain`. */
export const explain = explainWith(openMonitor);

/**
 * The command ends before any deadline: it asks nobody, and does not wait out the proof that a process is dead. A source that gives
 * snapshots can still be asked, which `pending` says.
 */
function readOnce(row: Row, why: Explanation | undefined): { row: Row; why: Explanation | undefined } {
  if (why?.reconciliation?.asked !== "pending") return { row, why };
  const isNobody = row.freshness.reconcile === "pending" && row.capabilities.snapshot !== "known";
  const reconcile = isNobody ? "unavailable" : row.freshness.reconcile;
  return {
    row: { ...row, freshness: { ...row.freshness, reconcile } },
    why: { ...why, reconciliation: { ...why.reconciliation, asked: "unasked" } },
  };
}

/** The deadline of a question that is put to nobody would be another one at each call. */
function withoutDeadline(why: Explanation) {
  if (why.reconciliation?.asked !== "unasked") return why;
  const { reason, asked } = why.reconciliation;
  return { ...why, reconciliation: { reason, asked } };
}

const oneLine = (text: string): string => inert(text).replaceAll(/[\n\u2028\u2029]+/g, " ");

/** The row that `id` names: by its key, its child id, else by the beginning of either, where that is one row's. */
function chosen(rows: Row[], id: string): Row {
  const ways = [
    (row: Row) => row.key === id,
    (row: Row) => row.childId === id,
    (row: Row) => row.key.startsWith(id) || row.childId.startsWith(id),
  ];
  for (const is of ways) {
    const [found, ...more] = rows.filter(is);
    if (found === undefined) continue;
    if (more.length === 0) return found;
    const named = [found, ...more]
      .slice(0, NAMED)
      .map((row) => `${row.key} (${stateWords(row)}, ${titleWords(row)})`);
    const others = more.length + 1 - named.length;
    const rest = others > 0 ? [`and ${others} more`] : [];
    throw new UsageError(
      `${JSON.stringify(id)} is ${more.length + 1} rows; name one by its key:\n${[...named.map(oneLine), ...rest].map((text) => `  ${text}`).join("\n")}`,
    );
  }
  throw new UsageError(
    `there is no row ${JSON.stringify(id)}, however old; the keys are in what \`agent-lifecycle status --json --all\` prints`,
  );
}

function parse(args: string[]) {
  let parsed;
  try {
    parsed = parseArgs({ args, allowPositionals: true, options: { json: { type: "boolean" } } });
  } catch (error) {
    throw new UsageError((error as Error).message.split(/[.\n]/)[0]);
  }
  const [id, ...paths] = parsed.positionals;
  if (id === undefined || id === "") throw new UsageError("explain needs the id or the key of a row");
  return { id, paths, json: parsed.values.json === true };
}
