// What is said of a row. What is not known is said as unknown; how old evidence is says nothing about the child.
import type { Row } from "../row.js";

const TERMINAL: ReadonlySet<string> = new Set(["completed", "failed", "cancelled", "lost"]);

export const hasEnded = (row: Row): boolean => TERMINAL.has(row.state);

/** Whether it is at work or waits for somebody: the rows of `status --active`. */
export const isActive = (row: Row): boolean =>
  !hasEnded(row) && !(row.state === "waiting" && row.waitingReason === "prompt");

/**
 * Whether it calls for a person: it asks for a permission or an answer, or something holds it. A turn that ended is no call: an idle
 * session waits as long as its user likes.
 */
export const callsForYou = ({ attention }: Row): boolean => attention !== null && attention.kind !== "prompt";

/** The literal state, and what it waits for. */
export const stateWords = (row: Pick<Row, "state" | "waitingReason">): string =>
  row.waitingReason === null ? row.state : `${row.state} ${row.waitingReason}`;

export const titleWords = (row: Row): string => row.title ?? row.childId;

/** How long somebody is waited for, its live children, the open tool or the newest activity, and how its last turn ended. */
export function doingWords(row: Row, now: number): string {
  const parts: string[] = [];
  if (row.attention !== null && callsForYou(row))
    parts.push(`for ${span(now - Date.parse(row.attention.since))}`);
  const asked = row.waits.find(({ text }) => text !== undefined)?.text;
  if (asked !== undefined) parts.push(asked);
  if (row.liveChildren > 0) parts.push(`${row.liveChildren} live`);
  const [tool, ...more] = row.tools.open;
  if (tool !== undefined) {
    const others = more.length > 0 ? ` and ${more.length} more` : "";
    parts.push(`${tool.name} ${span(now - Date.parse(tool.since))}${others}`);
  } else if (row.provider === null && row.activity !== null) {
    parts.push(row.activity);
  }
  if (row.turn?.outcome !== undefined && !hasEnded(row)) parts.push(`last turn ${row.turn.outcome}`);
  return parts.join(", ");
}

const ASKED = { pending: "being asked", unanswered: "no answer", unavailable: "no way to ask" } as const;

/** Said of one that has not ended, where evidence says so; in the words of `crates/core/src/display/words.rs`. */
export const PROCESS_DEAD = "process dead";

/** Whether its process is known to be gone, and it has not ended. */
export const hasDeadProcess = (row: Row): boolean => !hasEnded(row) && row.evidence.processAlive === "no";

/**
 * Whether its process is dead, and how old its newest evidence is; of one that ended, how long it lived. `narrow` says the one
 * thing that weighs most.
 */
export function freshnessWords(row: Row, now: number, narrow = false): string {
  if (hasEnded(row)) return `lived ${span(Date.parse(row.stateSince) - Date.parse(row.startedAt))}`;
  const age = span(now - Date.parse(row.freshness.at));
  const about = row.freshness.estimated ? `~${age}` : age;
  const { stale, reconcile } = row.freshness;
  const isDead = hasDeadProcess(row);
  if (isDead && narrow) return PROCESS_DEAD;
  const parts = [stale ? `stale ${about}` : `${about} ago`];
  if (isDead) parts.unshift(PROCESS_DEAD);
  if (!narrow && reconcile !== null && (stale || isDead)) parts.push(ASKED[reconcile]);
  return parts.join(", ");
}

/** Why the row may not be all that happened. */
export function doubtWords(row: Row): string {
  const unread = ["malformed", "oversize", "invalid_utf8", "too_deep"]
    .map((code) => row.diagnostics[code] ?? 0)
    .reduce((sum, times) => sum + times, 0);
  const parts: string[] = [];
  if (unread > 0) parts.push(counted(unread, "bad line"));
  if (row.gapDetected) parts.push("events missing");
  if (row.epochConflict !== null) parts.push("epoch conflict");
  if (row.lateEvidence > 0) parts.push(`${row.lateEvidence} late`);
  if (row.degraded) parts.push("degraded");
  return parts.join(", ");
}

/** The program, else the source by its name; below a root, nothing. */
export const agentWords = (row: Row): string => (row.parentKey === null ? programWords(row) : "");

/** The program with its version, else the source by its name. */
export function programWords(row: Row): string {
  if (row.provider === null) return row.source;
  return row.agentVersion === null ? row.provider : `${row.provider} ${row.agentVersion}`;
}

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

/** A span of time in one unit that fits: `4 s`, `3 min`, `5 h`, `12 d`. */
export function span(millis: number): string {
  if (Number.isNaN(millis)) return "?";
  const seconds = Math.floor(Math.max(millis, 0) / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}
