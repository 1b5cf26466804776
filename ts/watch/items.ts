// Which lines the screen has, and in which order: rows filtered, grouped and folded. Pure.
import type { Row } from "../row.js";
import { callsForYou, isActive } from "./words.js";

/** `attention` shows what calls for a person; each shows what stands above such a row too. */
export type Filter = "all" | "active" | "attention";

export interface Arrangement {
  filter: Filter;
  /** Whether sessions stand below the folder in which they work. */
  grouped: boolean;
  /** Keys of items whose rows below are not shown. */
  folded: ReadonlySet<string>;
}

export type Item =
  | { kind: "folder"; key: string; folder: string | null; below: number; folded: boolean }
  | {
      kind: "row";
      key: string;
      row: Row;
      /** The branches before its title. */
      prefix: string;
      /** Rows below: all where it is folded, else those directly below. */
      below: number;
      folded: boolean;
    };

/** Levels that are drawn as branches; what lies deeper is drawn at the last of them, with a mark. */
const LEVELS = 9;

const FILTERS: Record<Filter, (row: Row) => boolean> = {
  all: () => true,
  active: isActive,
  attention: callsForYou,
};

/** The items for rows in tree order. Sessions that started last come first; below a row its children come as they started. */
export function arrange(rows: readonly Row[], { filter, grouped, folded }: Arrangement): Item[] {
  const { roots, below } = forest(rows, FILTERS[filter]);
  roots.reverse();
  if (!grouped) return roots.flatMap((root) => branch(root, below, folded));
  const folders = new Map<string | null, Row[]>();
  for (const root of roots) {
    const members = folders.get(root.place.cwd);
    if (members === undefined) folders.set(root.place.cwd, [root]);
    else members.push(root);
  }
  return [...folders].flatMap(([folder, members]): Item[] => {
    const key = folderKey(folder);
    const isFolded = folded.has(key);
    const heading: Item = { kind: "folder", key, folder, below: members.length, folded: isFolded };
    return isFolded ? [heading] : [heading, ...members.flatMap((root) => branch(root, below, folded))];
  });
}

/** No key of a row: those have no NUL. */
const folderKey = (folder: string | null) => `\0${folder ?? ""}`;

/** What must be unfolded for the row of `key` to be seen. */
export function above(rows: readonly Row[], key: string): string[] {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const keys = new Set<string>();
  let row = byKey.get(key);
  while (row?.parentKey != null && !keys.has(row.parentKey)) {
    keys.add(row.parentKey);
    row = byKey.get(row.parentKey) ?? row;
  }
  return row === undefined ? [] : [...keys, folderKey(row.place.cwd)];
}

type Below = ReadonlyMap<string, readonly Row[]>;

/** The rows that match and those above them. */
function forest(rows: readonly Row[], matches: (row: Row) => boolean) {
  const kept = new Set<string>();
  const parentOf = new Map(rows.map((row) => [row.key, row.parentKey]));
  for (const row of rows.filter(matches)) {
    let key: string | null = row.key;
    while (key !== null && !kept.has(key) && parentOf.has(key)) {
      kept.add(key);
      key = parentOf.get(key) ?? null;
    }
  }
  const roots: Row[] = [];
  const below = new Map<string, Row[]>();
  const seen = new Set<string>();
  for (const row of rows) {
    if (!kept.has(row.key)) continue;
    // A parent comes before its children; in a circle of parents the first member stands as a root.
    if (row.parentKey === null || !seen.has(row.parentKey)) roots.push(row);
    else if (below.has(row.parentKey)) below.get(row.parentKey)!.push(row);
    else below.set(row.parentKey, [row]);
    seen.add(row.key);
  }
  return { roots, below };
}

function branch(root: Row, below: Below, folded: ReadonlySet<string>): Item[] {
  const items: Item[] = [];
  const stack = [{ row: root, prefix: "", trunk: "", level: 0 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { row, prefix, trunk, level } = next;
    const children = below.get(row.key) ?? [];
    const isFolded = folded.has(row.key) && children.length > 0;
    const hidden = isFolded ? countBelow(row, below) : children.length;
    items.push({ kind: "row", key: row.key, row, prefix, below: hidden, folded: isFolded });
    if (isFolded) continue;
    for (const [at, child] of [...children.entries()].toReversed()) {
      const last = at === children.length - 1;
      const deep = level === LEVELS;
      stack.push({
        row: child,
        prefix: deep ? `${trunk}⋯ ` : `${trunk}${last ? "└─ " : "├─ "}`,
        trunk: deep ? trunk : `${trunk}${last ? "   " : "│  "}`,
        level: deep ? level : level + 1,
      });
    }
  }
  return items;
}

function countBelow(row: Row, below: Below): number {
  let count = 0;
  const stack = [row];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const children = below.get(next.key) ?? [];
    count += children.length;
    stack.push(...children);
  }
  return count;
}
