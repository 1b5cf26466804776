// The screen as lines. Pure: rows, view, size and time give lines of exactly the width.
import type { Row } from "../row.js";
import { cell, columnsOf, fit } from "./columns.js";
import type { Said } from "./explanation.js";
import { type Item, arrange } from "./items.js";
import { type View, scrolled, settle } from "./view.js";
import {
  agentWords,
  callsForYou,
  counted,
  doingWords,
  doubtWords,
  freshnessWords,
  hasDeadProcess,
  hasEnded,
  stateWords,
  titleWords,
} from "./words.js";

export interface Model {
  /** In tree order. */
  rows: readonly Row[];
  /** Sessions that are left out for their age. */
  hidden: number;
  view: View;
  /** Why the selected row is in its state, while the panel shows that. */
  explanation: readonly Said[];
  /** Something that the monitor reported; shown until the next. */
  notice: string;
  width: number;
  height: number;
  /** Milliseconds since 1970: what ages are relative to. */
  now: number;
  color: boolean;
}

export interface Picture {
  lines: string[];
  /** The view with what is selected and scrolled as it is shown. */
  view: View;
  /** Items on the screen: how far a page goes. */
  page: number;
}

const HELP: readonly Said[] = [
  ["↑ ↓ j k", "select; page up, page down, home, end"],
  ["space enter", "fold or unfold; ← folds, → unfolds"],
  ["f", "all, active (at work, or waits for somebody), attention (wants you: no mere prompt)"],
  ["g", "group by folder, or not"],
  ["e", "why the selected row is in its state, and on which records that rests"],
  ["/ n N", "find text; the next, the one before"],
  ["esc", "close what is open"],
  ["q ctrl-c", "quit"],
  ["", ""],
  ["stale", "the evidence is old; that says nothing about how the agent is"],
  ["!", "what is shown may not be all that happened: e says why"],
];

const SGR = { bold: "1", dim: "2", reverse: "7" } as const;
const STATE_COLORS: Record<Row["state"], string> = {
  created: "36",
  starting: "36",
  running: "32",
  waiting: "33",
  completed: "2",
  failed: "31",
  lost: "31",
  cancelled: "35",
};
const YELLOW = "33";
const RED = "31";

/** Rows above and below the items: two of head, one of foot. */
const FRAME = 3;

export function render(model: Model): Picture {
  const { width, height, rows } = model;
  const items = arrange(rows, model.view);
  const body = Math.max(0, height - FRAME);
  const panel = panelLines(model, body);
  const page = body - panel.length;
  const view = scrolled(settle(model.view, items), items, page);
  const widths = columnWidths(width);
  const shown = items.slice(view.top, view.top + page).map((item) => itemLine(item, view, widths, model));
  if (items.length === 0 && page > 0) shown.push(cell(nothing(model), width));
  while (shown.length < page) shown.push(" ".repeat(width));
  const lines = [head(model), columnHeads(widths, width), ...shown, ...panel, foot({ ...model, view })];
  return { lines: lines.slice(0, height), view, page };
}

interface Widths {
  state: number;
  title: number;
  doing: number;
  freshness: number;
  agent: number;
}

/** Blanks between columns, and columns for the marks before the first. */
const GAP = 2;

/**
 * The columns for a width: they depend on nothing else, so that nothing moves while rows change. The program goes first, then what
 * is done; the state and how fresh it is stay as long as anything does.
 */
function columnWidths(width: number): Widths {
  const room = Math.max(0, width - GAP);
  const state = Math.min(room, 18);
  const freshness = room < 36 ? 0 : room < 116 ? 14 : 30;
  const agent = room < 116 ? 0 : 20;
  const taken = [state, freshness, agent].reduce((sum, one) => sum + (one > 0 ? one + GAP : 0), 0);
  const rest = Math.max(0, room - taken);
  const doing = rest < 30 ? 0 : Math.min(40, Math.floor((rest - GAP) * 0.42));
  return { state, title: rest - (doing > 0 ? doing + GAP : 0), doing, freshness, agent };
}

const ORDER = ["state", "title", "doing", "freshness", "agent"] as const;

/** Texts in their columns, painted, as a line of exactly `width`. */
function columns(
  mark: string,
  texts: Record<keyof Widths, string>,
  widths: Widths,
  width: number,
  painter: (text: string, column: keyof Widths) => string = (text) => text,
): string {
  const shown = ORDER.filter((column) => widths[column] > 0);
  const cells = shown.map((column) => painter(cell(texts[column], widths[column]), column));
  const used = shown.reduce((sum, column) => sum + widths[column], 0) + GAP * Math.max(0, shown.length - 1);
  const begin = cell(mark, Math.min(GAP, width));
  return begin + cells.join(" ".repeat(GAP)) + " ".repeat(Math.max(0, width - columnsOf(begin) - used));
}

function columnHeads(widths: Widths, width: number): string {
  const texts = { state: "STATE", title: "TITLE", doing: "DOING", freshness: "EVIDENCE", agent: "PROGRAM" };
  return painted(columns("", texts, widths, width), SGR.dim);
}

function itemLine(item: Item, view: View, widths: Widths, model: Model): string {
  const isSelected = item.key === view.selected;
  const { width, now, color } = model;
  if (item.kind === "folder") {
    const name = item.folder === null ? "folder not known" : item.folder;
    const line = cell(`${isSelected ? "›" : " "} ${folderName(name, width, item)}`, width);
    return painted(line, isSelected ? SGR.reverse : SGR.bold);
  }
  const { row } = item;
  const doubts = doubtWords(row);
  const isNarrow = widths.agent === 0;
  const texts = {
    state: stateWords(row),
    title: `${item.prefix}${item.folded ? `[+${item.below}] ` : ""}${titleWords(row)}`,
    doing: doingWords(row, now),
    freshness: freshnessWords(row, now, isNarrow) + (isNarrow || doubts === "" ? "" : `, ${doubts}`),
    agent: agentWords(row),
  };
  const mark = `${isSelected ? "›" : " "}${doubts === "" ? " " : "!"}`;
  const isPlain = isSelected || !color;
  const line = columns(mark, texts, widths, width, (text, column) =>
    isPlain ? text : paint(text, column, row),
  );
  return isSelected ? painted(line, SGR.reverse) : line;
}

/** The folder's name with what tells folders apart, its end, where it is too long. */
function folderName(name: string, width: number, { below, folded }: Item): string {
  const count = folded ? `  [+${counted(below, "session")}]` : `  ${counted(below, "session")}`;
  return fitEnd(name, width - GAP - columnsOf(count)) + count;
}

/** The end of `text` that fits `columns`: of a path, the part that says most. */
export function fitEnd(text: string, room: number): string {
  const whole = fit(text, 4096);
  if (columnsOf(whole) <= room) return whole;
  let kept = "";
  for (const character of Array.from(whole).toReversed()) {
    if (columnsOf(character + kept) + 1 > room) break;
    kept = character + kept;
  }
  return room > 0 ? `…${kept}` : "";
}

function paint(text: string, column: keyof Widths, row: Row): string {
  if (column === "state") return painted(text, STATE_COLORS[row.state]);
  if (column === "doing" && row.turn?.outcome === "error") return painted(text, RED);
  if (column === "freshness" && ((row.freshness.stale && !hasEnded(row)) || hasDeadProcess(row)))
    return painted(text, YELLOW);
  return hasEnded(row) ? painted(text, SGR.dim) : text;
}

const painted = (text: string, code: string): string => `\u001b[${code}m${text}\u001b[0m`;

function head({ rows, hidden, view, width }: Model): string {
  const roots = rows.filter((row) => row.key === row.rootKey).length;
  const wanted = rows.filter(callsForYou).length;
  const parts = [
    // First, so that no width cuts it off.
    ...(wanted > 0 ? [wanted === 1 ? "1 wants you" : `${wanted} want you`] : []),
    counted(roots, "session"),
    counted(rows.length - roots, "sub-agent"),
    `${rows.filter((row) => !hasEnded(row)).length} not ended`,
  ];
  const stale = rows.filter((row) => row.freshness.stale && !hasEnded(row)).length;
  if (stale > 0) parts.push(`${stale} stale`);
  if (hidden > 0) parts.push(`${hidden} older not shown`);
  const right = `${view.grouped ? "by folder, " : ""}${view.filter}`;
  return painted(sides(` ${parts.join(", ")}`, `${right} `, width), SGR.reverse);
}

/** Two texts at the ends of a line; the left one is cut where both do not fit. */
function sides(left: string, right: string, width: number): string {
  const end = fit(right, width);
  return (
    cell(left, Math.max(0, width - columnsOf(end) - 1)) + cell(` ${end}`, Math.min(width, columnsOf(end) + 1))
  );
}

function foot({ view, width, notice }: Model): string {
  if (view.typing) return sides(`/${view.find}▏`, view.message || "enter keeps, esc leaves", width);
  if (view.message !== "") return cell(` ${view.message}`, width);
  if (notice !== "") return sides(` ${notice}`, "? help  q quit", width);
  return cell(" ↑↓ select  space fold  f filter  g folders  e explain  / find  ? help  q quit", width);
}

function nothing({ rows, view }: Model): string {
  if (rows.length === 0) return "  No agent session found.";
  return `  None of ${counted(rows.length, "row")} is shown: the filter is ${view.filter}. f shows others.`;
}

/** The panel at the bottom, at most two thirds of the room, with a line above it. */
function panelLines(model: Model, body: number): string[] {
  const { view, width } = model;
  if (view.panel === "none") return [];
  const said = view.panel === "help" ? HELP : model.explanation;
  const name = Math.min(Math.max(...said.map(([first]) => columnsOf(first)), 0), Math.floor(width / 3));
  const title = view.panel === "help" ? "keys" : said.length > 0 ? "why" : "why: no row is selected";
  const rule = cell(`── ${title} ${"─".repeat(Math.max(0, width - columnsOf(title) - 4))}`, width);
  const room = Math.max(0, Math.floor((body * 2) / 3) - 1);
  const lines = said.map(([first, text]) => {
    const column = Math.max(0, width - name - GAP - 1);
    const isPath = first.startsWith("[") || first === "key";
    return cell(
      ` ${cell(first, name)}${" ".repeat(GAP)}${isPath ? fitEnd(text, column) : fit(text, column)}`,
      width,
    );
  });
  const cut =
    lines.length > room
      ? [
          ...lines.slice(0, room - 1),
          cell(`   and ${lines.length - room + 1} more: a higher window, or agent-lifecycle explain`, width),
        ]
      : lines;
  return room === 0 ? [] : [painted(rule, SGR.dim), ...cut];
}
