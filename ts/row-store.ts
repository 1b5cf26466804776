// The rows of a monitor in another process: fed with its changes, read by whatever draws them. Loads no addon.
import { LifecycleError } from "./error.js";
import { inTreeOrder } from "./row-order.js";
import type { ChangeSet, Row } from "./row.js";

/** The rows as they are after all changes so far. */
export interface RowStore {
  /** The cursor of the newest changes; `undefined` before the first. A monitor's `changesSince(cursor)` goes on from there. */
  readonly cursor: string | undefined;
  /**
   * Takes changes, and says whether a row is other than before. The same changes again do nothing: they are known by their cursor.
   *
   * @throws {LifecycleError} `invalid_argument` for what are no changes; the rows are as before.
   */
  apply(changes: ChangeSet): boolean;
  /**
   * All rows in the order of a monitor's `rows()`: roots as they started, each with those below it. Frozen, and the same array until
   * a row changes; a row that did not change is the same object in each snapshot.
   */
  snapshot(): readonly Row[];
  /** The row of a key. */
  get(key: string): Row | undefined;
  /** Calls `listener` after changes that changed a row, until the function that it returns is called. */
  subscribe(listener: () => void): () => void;
}

/** Cursors remembered; changes that come again after as many others would be taken for new. */
const CURSORS = 4096;

/** An empty store. Its functions work detached from it. */
export function createRowStore(): RowStore {
  let rows = new Map<string, Row>();
  // The newest snapshot that was asked for, and what happened since.
  let ordered: readonly Row[] = Object.freeze([]);
  let isOld = false;
  let isMoved = false;
  let cursor: string | undefined;
  const seen = new Set<string>();
  const listeners = new Set<{ call: () => void }>();

  function apply(changes: ChangeSet): boolean {
    check(changes);
    if (seen.has(changes.cursor)) return false;
    const next = changes.reset ? new Map<string, Row>() : new Map(rows);
    for (const key of changes.removed) next.delete(key);
    for (const row of changes.upserted) next.set(row.key, shared(rows.get(row.key), row) as Row);
    const changed = next.size !== rows.size || [...next].some(([key, row]) => rows.get(key) !== row);
    ({ cursor } = changes);
    seen.add(cursor);
    if (seen.size > CURSORS) seen.delete(seen.values().next().value!);
    if (!changed) return false;
    isMoved ||= next.size !== rows.size || [...next.values()].some((row) => moves(rows.get(row.key), row));
    isOld = true;
    rows = next;
    // A copy: a listener may subscribe, unsubscribe, or apply more changes.
    for (const listener of Array.from(listeners)) if (listeners.has(listener)) listener.call();
    return true;
  }

  function snapshot(): readonly Row[] {
    if (isOld) {
      ordered = Object.freeze(
        isMoved ? inTreeOrder(rows.values()) : ordered.map(({ key }) => rows.get(key)!),
      );
      isOld = isMoved = false;
    }
    return ordered;
  }

  return Object.freeze({
    get cursor() {
      return cursor;
    },
    apply,
    snapshot,
    get: (key: string) => rows.get(key),
    subscribe(call: () => void) {
      const listener = { call };
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  });
}

/** Whether the order may be another one with `row` in the place of `before`. */
const moves = (before: Row | undefined, row: Row): boolean =>
  before !== row &&
  (before?.parentKey !== row.parentKey ||
    before.startedAt !== row.startedAt ||
    before.source !== row.source ||
    before.childId !== row.childId);

function refuse(path: string, what: string): never {
  throw new LifecycleError("invalid_argument", `${path} must be ${what}`, { path });
}

function check(changes: ChangeSet): void {
  if (typeof changes !== "object" || changes === null) refuse("changes", "an object");
  const { cursor, upserted, removed, reset } = changes;
  if (typeof cursor !== "string") refuse("changes.cursor", "text");
  if (typeof reset !== "boolean") refuse("changes.reset", "true or false");
  if (!Array.isArray(removed) || removed.some((key) => typeof key !== "string"))
    refuse("changes.removed", "an array of keys");
  if (!Array.isArray(upserted)) refuse("changes.upserted", "an array of rows");
  for (const [at, row] of upserted.entries()) {
    for (const member of ["key", "childId", "source", "startedAt"] as const)
      if (typeof row?.[member] !== "string") refuse(`changes.upserted[${at}].${member}`, "text");
  }
}

/** `value` frozen and apart from the caller's, with every part of `before` that is equal to its own. */
function shared(before: unknown, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const old = Array.isArray(before) ? before : [];
    const parts = value.map((part, at) => shared(old[at], part));
    const same = old.length === parts.length && parts.every((part, at) => Object.is(part, old[at]));
    return same && Array.isArray(before) ? before : Object.freeze(parts);
  }
  const old = isRecord(before) ? before : {};
  const parts = Object.entries(value).map(([name, part]): [string, unknown] => [
    name,
    shared(Object.hasOwn(old, name) ? old[name] : undefined, part),
  ]);
  const same =
    Object.keys(old).length === parts.length &&
    parts.every(([name, part]) => Object.hasOwn(old, name) && Object.is(part, old[name]));
  return same && isRecord(before) ? before : Object.freeze(Object.fromEntries(parts));
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
