// The types of `agent-lifecycle/client`: what must compile, and what must not.
import type { ChangeSet, Row as MainRow } from "agent-lifecycle";
import {
  type ChangeSet as ClientChangeSet,
  type HostStatus,
  type Row,
  type RowStore,
  type RowTree,
  createRowStore,
  hostStatus,
  treeOf,
} from "agent-lifecycle/client";

const store: RowStore = createRowStore();
declare const changes: ChangeSet;
// What a projector gives is what a store takes.
const changed: boolean = store.apply(changes);
const rows: readonly Row[] = store.snapshot();
const roots: readonly RowTree[] = treeOf(rows);
const alike: ClientChangeSet = changes;
const same: readonly MainRow[] = rows;
const leave: () => void = store.subscribe(() => {});
const status: HostStatus = hostStatus(rows[0]!);
const one: Row | undefined = store.get("key");
export { alike, changed, leave, one, roots, same, status };
// @ts-expect-error: a snapshot is read only.
store.snapshot().push(one!);
// @ts-expect-error: changes have a cursor.
store.apply({ upserted: [], removed: [], reset: true });
// @ts-expect-error: a store is fed, its cursor not set.
store.cursor = "c";
