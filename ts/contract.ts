// The schema-v1 contract: its types, and the check that decides whether a value is an event.
import { LifecycleError } from "./error.js";
import { callNative } from "./native.js";

/** The literal state of a child. The last four are terminal: nothing leaves them. */
export type LifecycleState =
  "created" | "starting" | "running" | "waiting" | "completed" | "failed" | "cancelled" | "lost";

/** What a `waiting` child waits for. */
export type WaitingReason = "prompt" | "permission" | "question" | "blocked" | "child" | "other";

/** What an event says. */
export type LifecycleEventKind =
  "created" | "state_changed" | "activity" | "heartbeat" | "terminal" | "reconciliation" | "diagnostic";

/** Whether something can be relied on. */
export type Capability = "known" | "unknown";

/** What a source can tell about a child; what it does not say is `unknown`. */
export interface Capabilities {
  /** All events since the start are there. */
  history: Capability;
  /** Heartbeats are sent. */
  heartbeat: Capability;
  /** Complete snapshots can be had. */
  snapshot: Capability;
  /** It can be cancelled. */
  cancel: Capability;
  /** A terminal state comes with its cause. */
  terminalCause: Capability;
}

/** Where a child comes from. Ids have 1 to 512 UTF-8 bytes after trimming. */
export interface Lineage {
  /** The root of the tree that the child belongs to. */
  rootChildId: string;
  /** The child that started it. */
  parentChildId?: string | undefined;
  /** Which life of the same thing this is: a safe integer of 0 or more. */
  attempt: number;
  /** Whether somebody else started it and it was adopted. */
  external: boolean;
  /** When it was adopted (RFC 3339 UTC); required where `external` is true. */
  adoptedAt?: string | undefined;
}

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

interface Envelope {
  schemaVersion: 1;
  /** Unique within (source, sourceEpoch, childId). 1 to 512 UTF-8 bytes after trimming, as the next three. */
  eventId: string;
  /** Who says it. Two processes that live at the same time are two sources. */
  source: string;
  /** The life of the source's sequence space: a new one whenever the sequences start anew. */
  sourceEpoch: string;
  /** Whom it is about. */
  childId: string;
  lineage: Lineage;
  /** RFC 3339 UTC with seconds and up to 9 fraction digits. */
  observedAt: string;
  /** The place in the source's own order for this child and epoch; only where the source can guarantee it. */
  sequence?: number | undefined;
  /** Display text; cut to 512 UTF-16 code units. */
  activity?: string | undefined;
  /** At most 32 levels and 64 KiB of JSON; secrets in it are redacted. */
  details?: { [key: string]: Json } | undefined;
}

interface Created {
  kind: "created";
  state: "created";
  waitingReason?: undefined;
}

interface StateChanged {
  kind: "state_changed";
  state: Exclude<LifecycleState, "created" | "waiting">;
  waitingReason?: undefined;
}

interface Waiting {
  kind: "state_changed";
  state: "waiting";
  /** `other` where it is left out. */
  waitingReason?: WaitingReason | undefined;
}

interface Terminal {
  kind: "terminal";
  state: "completed" | "failed" | "cancelled" | "lost";
  waitingReason?: undefined;
}

interface Stateless {
  kind: "activity" | "heartbeat" | "reconciliation" | "diagnostic";
  state?: undefined;
  waitingReason?: undefined;
}

/** What a caller may give as an event: capabilities may be left out in part or whole. */
export type LifecycleEventInput = Envelope &
  (Created | StateChanged | Waiting | Terminal | Stateless) & {
    capabilities?: Partial<Capabilities> | undefined;
  };

type Without<Union, Member extends PropertyKey> = Union extends unknown ? Omit<Union, Member> : never;

/** What an event says, without who says it, of whom and when: for helpers that fill in the rest. */
export type LifecycleEventBody = Without<
  LifecycleEventInput,
  "schemaVersion" | "eventId" | "source" | "sourceEpoch" | "childId" | "lineage" | "observedAt"
>;

/** A normalised schema-v1 event. */
export type LifecycleEvent = Envelope &
  (Created | StateChanged | Waiting | Terminal | Stateless) & { capabilities: Capabilities };

/**
 * The normalised event in `value`, judged as `JSON.parse(JSON.stringify(value))`: ids trimmed, unknown members dropped,
 * capabilities filled in, secrets in `details` and `activity` redacted.
 *
 * @throws {LifecycleError} with the code and path of the first member that breaks a rule; see `docs/contract.md`.
 */
export function normalizeLifecycleEvent(value: unknown): LifecycleEvent {
  const text = eventText(value);
  return JSON.parse(callNative((native) => native.normalizeEvent(text))) as LifecycleEvent;
}

/** The JSON text that an event is judged by. */
export function eventText(event: unknown): string {
  return jsonText(event, "event", "invalid_event");
}

/**
 * The JSON text of a value; `name` is what messages call it.
 *
 * @throws {LifecycleError} `code` where JSON cannot hold it, `too_deep` where it is nested too deep to be written.
 */
export function jsonText(value: unknown, name: string, code: string): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value) as string | undefined;
  } catch (cause) {
    if (cause instanceof RangeError && cause.message.includes("call stack")) {
      const message = `the ${name} is nested more than 512 levels deep; flatten it`;
      throw new LifecycleError("too_deep", message, { path: "$", cause });
    }
    const message = `the ${name} cannot be written as JSON; give plain values without cycles and BigInts`;
    throw new LifecycleError(code, message, { path: "$", cause });
  }
  if (text === undefined) {
    throw new LifecycleError(code, `the ${name} must be a JSON value, not ${typeof value}`, { path: "$" });
  }
  return text;
}
