// What the screen shows of the rows, and what a key makes of it. Pure: a key and a view give a view.
import type { Row } from "../row.js";
import { type Arrangement, type Filter, type Item, above, arrange } from "./items.js";

export interface View extends Arrangement {
  /** The key of the selected item. */
  selected: string | null;
  /** Where that stood last, for when it goes away. */
  at: number;
  /** The first item on the screen. */
  top: number;
  panel: "none" | "explain" | "help";
  /** The text that was looked for. */
  find: string;
  /** Whether that text is being typed. */
  typing: boolean;
  /** A word on the last key. */
  message: string;
}

export const FIRST_VIEW: View = {
  filter: "all",
  grouped: false,
  folded: new Set(),
  selected: null,
  at: 0,
  top: 0,
  panel: "none",
  find: "",
  typing: false,
  message: "",
};

/** A key as `node:readline` names it. */
export interface Key {
  name?: string | undefined;
  ctrl?: boolean | undefined;
  meta?: boolean | undefined;
  /** What was typed, where that is text. */
  text?: string | undefined;
}

const FILTERS: readonly Filter[] = ["all", "active", "attention"];
/** UTF-16 units of a text that are searched, and of a text to look for. */
const SEARCHED = 1024;
const FIND = 64;

/** The view after a key, or `quit`. `page` is the number of items on the screen. */
export function press(view: View, key: Key, rows: readonly Row[], page: number): View | "quit" {
  if (key.ctrl && key.name === "c") return "quit";
  const quiet = view.message === "" ? view : { ...view, message: "" };
  return quiet.typing ? type(quiet, key, rows) : command(quiet, key, rows, page);
}

function command(view: View, key: Key, rows: readonly Row[], page: number): View | "quit" {
  const move = (by: number) => moved(view, arrange(rows, view), by);
  // Escape alone comes as a meta key without another.
  if (key.ctrl || (key.meta && key.name !== "escape")) return view;
  switch (key.text === "?" || key.text === "/" || key.text === "N" ? key.text : key.name) {
    case "q":
      return "quit";
    case "escape":
      return view.panel === "none" ? view : { ...view, panel: "none" };
    case "j":
    case "down":
      return move(1);
    case "k":
    case "up":
      return move(-1);
    case "pagedown":
      return move(Math.max(1, page - 1));
    case "pageup":
      return move(-Math.max(1, page - 1));
    case "home":
      return move(-Infinity);
    case "end":
      return move(Infinity);
    case "left":
      return folded(view, rows, true);
    case "right":
      return folded(view, rows, false);
    case "return":
    case "enter":
    case "space":
      return folded(view, rows);
    case "f": {
      const filter = FILTERS[(FILTERS.indexOf(view.filter) + 1) % FILTERS.length]!;
      return settle({ ...view, filter }, arrange(rows, { ...view, filter }));
    }
    case "g": {
      const grouped = !view.grouped;
      return settle({ ...view, grouped }, arrange(rows, { ...view, grouped }));
    }
    case "e":
      return { ...view, panel: view.panel === "explain" ? "none" : "explain" };
    case "?":
      return { ...view, panel: view.panel === "help" ? "none" : "help" };
    case "/":
      return { ...view, typing: true, find: "" };
    case "n":
      return view.find === "" ? view : found(view, rows, 1, 1);
    case "N":
      return view.find === "" ? view : found(view, rows, -1, -1);
    default:
      return view;
  }
}

function type(view: View, key: Key, rows: readonly Row[]): View {
  if (key.name === "escape") return { ...view, typing: false, find: "" };
  if (key.name === "return" || key.name === "enter") return { ...view, typing: false };
  if (key.name === "backspace") return { ...view, find: Array.from(view.find).slice(0, -1).join("") };
  if (key.ctrl || key.meta || key.text === undefined || /[\p{Cc}\p{Cs}]/u.test(key.text)) return view;
  const find = view.find + key.text;
  return find.length > FIND ? view : found({ ...view, find }, rows, 1, 0);
}

/** Selects the next row (`way` 1, or -1 for the one before) that has the text, `from` so far from the selected one. */
function found(view: View, rows: readonly Row[], way: 1 | -1, from: number): View {
  const all = arrange(rows, { ...view, folded: new Set() }).flatMap((item) =>
    item.kind === "row" ? [item.row] : [],
  );
  const wanted = view.find.toLowerCase();
  const start = Math.max(
    0,
    all.findIndex(({ key }) => key === view.selected),
  );
  for (let step = 0; step < all.length; step += 1) {
    const place = (start + from + step * way + 2 * all.length) % all.length;
    const row = all[place]!;
    if (!isIn(row, wanted)) continue;
    const unfolded = new Set(view.folded);
    for (const key of above(rows, row.key)) unfolded.delete(key);
    const next = { ...view, folded: unfolded, selected: row.key };
    return settle(next, arrange(rows, next));
  }
  return { ...view, message: `nothing here has ${JSON.stringify(view.find)}` };
}

const isIn = (row: Row, wanted: string): boolean =>
  [row.title, row.childId, row.activity, row.place.cwd, row.place.branch, row.provider, row.model]
    .concat(row.tools.open.map(({ name }) => name))
    .some((text) => text?.slice(0, SEARCHED).toLowerCase().includes(wanted));

function moved(view: View, items: readonly Item[], by: number): View {
  if (items.length === 0) return view;
  const settled = settle(view, items);
  const at = Math.min(items.length - 1, Math.max(0, settled.at + by));
  return { ...settled, at, selected: items[at]!.key };
}

function folded(view: View, rows: readonly Row[], fold?: boolean): View {
  const item = arrange(rows, view).find(({ key }) => key === view.selected);
  if (item === undefined || item.below === 0) return view;
  const next = new Set(view.folded);
  if (fold ?? !item.folded) next.add(item.key);
  else next.delete(item.key);
  return { ...view, folded: next };
}

/** The view with something selected: what was, else what stands there now. */
export function settle(view: View, items: readonly Item[]): View {
  const known = items.findIndex(({ key }) => key === view.selected);
  const at = known === -1 ? Math.max(0, Math.min(view.at, items.length - 1)) : known;
  const selected = items[at]?.key ?? null;
  return at === view.at && selected === view.selected ? view : { ...view, at, selected };
}

/** The view scrolled so that the selected item is among the `page` ones on the screen. */
export function scrolled(view: View, items: readonly Item[], page: number): View {
  const shown = Math.min(Math.max(view.top, view.at - page + 1), view.at);
  const top = Math.max(0, Math.min(shown, items.length - page));
  return top === view.top ? view : { ...view, top };
}
