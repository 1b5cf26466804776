// A row in one of five words. Loads no addon, so that a renderer can use it.
import type { LifecycleState, WaitingReason } from "./contract.js";
import { LifecycleError } from "./error.js";
import type { Row } from "./row.js";

/**
 * - `working`: it was announced, starts, runs, or waits for its own children.
 * - `waiting`: for a permission, an answer, or something else.
 * - `blocked`: an error or a limit holds it.
 * - `idle`: its turn ended, and the user is next.
 * - `done`: it ended, in whatever way.
 */
export type HostStatus = "working" | "waiting" | "blocked" | "idle" | "done";

const BY_STATE: ReadonlyMap<LifecycleState, HostStatus> = new Map([
  ["created", "working"],
  ["starting", "working"],
  ["running", "working"],
  ["waiting", "waiting"],
  ["completed", "done"],
  ["failed", "done"],
  ["cancelled", "done"],
  ["lost", "done"],
]);

const BY_REASON: ReadonlyMap<WaitingReason | null, HostStatus> = new Map([
  ["child", "working"],
  ["blocked", "blocked"],
  ["prompt", "idle"],
]);

/**
 * The row in one word, for a host whose own display has no more. `done` is no success, and a stale row keeps its word: show
 * `row.state` and `row.freshness` wherever there is room.
 *
 * @throws {LifecycleError} `invalid_argument` for a state that is none of the eight: no word would be true of it.
 */
export function hostStatus(row: Pick<Row, "state" | "waitingReason">): HostStatus {
  const status = BY_STATE.get(row?.state);
  if (status === undefined) {
    throw new LifecycleError("invalid_argument", "row.state must be one of the eight states", {
      path: "row.state",
    });
  }
  return status === "waiting" ? (BY_REASON.get(row.waitingReason) ?? status) : status;
}
