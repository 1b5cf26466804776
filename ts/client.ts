// The entry `agent-lifecycle/client`: what a renderer needs of rows. It loads no addon, so it runs where Node-API does not.
export type { Capabilities, Capability, LifecycleState, WaitingReason } from "./contract.js";
export { hostStatus } from "./host-status.js";
export type { HostStatus } from "./host-status.js";
export { treeOf } from "./row.js";
export type { ChangeSet, Outcome, Row, RowTree } from "./row.js";
export { createRowStore } from "./row-store.js";
export type { RowStore } from "./row-store.js";
