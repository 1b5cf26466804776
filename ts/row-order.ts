// The order of rows: that of `rows()` of a projection, for whoever has only the rows.
import type { Row } from "./row.js";

/** A time as text that sorts as the time does: the fraction of RFC 3339 has as many digits as it needs. */
function sortable(time: string): string {
  const fraction = /\.(\d+)Z$/.exec(time)?.[1] ?? "";
  return `${time.slice(0, 19)}.${fraction.padEnd(9, "0")}`;
}

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

/**
 * Rows in tree order: roots as they started, children below their parents as they started, ties by source, then childId. A row
 * whose parent is not among the rows is a root, and so is one of a circle of parents: every row is there, once.
 */
export function inTreeOrder(rows: Iterable<Row>): Row[] {
  const placed = Array.from(rows, (row) => ({ row, start: sortable(row.startedAt) }));
  placed.sort(
    (a, b) =>
      compare(a.start, b.start) ||
      compare(a.row.source, b.row.source) ||
      compare(a.row.childId, b.row.childId) ||
      compare(a.row.key, b.row.key),
  );
  const known = new Set(placed.map(({ row }) => row.key));
  const roots: Row[] = [];
  const below = new Map<string, Row[]>();
  for (const { row } of placed) {
    const parent = row.parentKey;
    if (parent === null || !known.has(parent)) roots.push(row);
    else if (below.has(parent)) below.get(parent)!.push(row);
    else below.set(parent, [row]);
  }
  const ordered = new Map<string, Row>();
  // Whatever is left after the roots stands in a circle; its first member is taken for a root.
  for (const start of [roots, placed.map(({ row }) => row)].flat()) {
    const stack = [start];
    for (let row = stack.pop(); row !== undefined; row = stack.pop()) {
      if (ordered.has(row.key)) continue;
      ordered.set(row.key, row);
      stack.push(...(below.get(row.key) ?? []).toReversed());
    }
  }
  return [...ordered.values()];
}
