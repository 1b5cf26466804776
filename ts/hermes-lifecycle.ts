// Hermes' delegations as schema-v1 events, and as what a projector is asked beside them.
import { optionalText, optionsArgument, set, textArgument } from "./arguments.js";
import type { ContentLevel } from "./bridge.js";
import { type Capabilities, type LifecycleEvent, jsonText } from "./contract.js";
import type { HermesDelegationEvent, HermesInput, HermesIntent, HermesStatusSnapshot } from "./hermes.js";
import { callNative } from "./native.js";
import type { LifecycleRecord, LifecycleSnapshot } from "./projector.js";

export interface HermesLifecycleOptions {
  /** The source of the events, such as `hermes/<instance>`: one name for each Hermes that lives. */
  source: string;
  /** Their epoch; a new one whenever Hermes or the host starts anew. The first complete snapshot enters it. */
  sourceEpoch: string;
  /** The child of this source that stands for the host's own session: the root, and the parent of what it delegated. */
  rootChildId?: string | undefined;
  /** How much of prompts and texts goes into events; `titles` by default. */
  content?: ContentLevel | undefined;
  /** What the host can do and tell; all `unknown` by default. Whether the cause of an end is known is Hermes' to say. */
  capabilities?: Partial<Omit<Capabilities, "terminalCause">> | undefined;
}

/** What something of Hermes makes. Give it to a projector in this order. */
export interface HermesOutput {
  /** For `reconcile`; there for a complete snapshot. */
  snapshot?: LifecycleSnapshot;
  /** For `apply`, each. */
  events: LifecycleEvent[];
  /** For `requestReconciliation`, each. */
  questions: { source: string; childId: string; reason: string; now: string }[];
  /** What makes no event, and why. */
  reported: HermesReport[];
}

/** Why something of Hermes makes no event; each code is explained in `docs/hermes.md`. */
export type HermesReportCode =
  | "already_created"
  | "illegal_transition"
  | "invalid_state"
  | "late_event"
  | "too_many_children"
  | "unknown_child";

/** Something of Hermes that makes no event. */
export interface HermesReport {
  code: HermesReportCode;
  /** The child and its session, as Hermes names them. */
  childId: string;
  sessionId: string;
  message: string;
}

export interface HermesLifecycle {
  /**
   * What a delegation event (Hermes' own, or normalised), an input or an intent makes. A status that is not understood is reported, and
   * is a note on its child. `now` is the time of an intent, which has none of its own; the clock's by default.
   *
   * @throws {LifecycleError} as `normalizeHermesDelegationEvent`, but for the status.
   */
  push(
    message:
      | HermesDelegationEvent
      | HermesInput
      | HermesIntent
      | { readonly type: string; readonly [member: string]: unknown },
    options?: { now?: string | undefined },
  ): HermesOutput;

  /**
   * What a status snapshot makes: of a complete one a snapshot for `reconcile`, of an incomplete one heartbeats. Use it in place of the
   * inputs and intents, not beside them: the projector counts who was left out.
   *
   * @throws {LifecycleError} `invalid_snapshot`, `invalid_id`, `invalid_timestamp`, `too_deep`.
   */
  snapshot(snapshot: HermesStatusSnapshot): HermesOutput;

  /**
   * Says how a child is where nothing that was pushed made it so: an authority set its state, or it was lost. Give it the `record` of each
   * result of `reconcile` and `reconciliationFailed`.
   *
   * @returns whether the record is of the present life of a child that is known and has not ended; else it changes nothing.
   * @throws {LifecycleError} `invalid_argument`, `invalid_timestamp`.
   */
  corrected(record: Pick<LifecycleRecord, "source" | "childId" | "state" | "stateSince">): boolean;

  /** The id in the projection of a child's newest life. */
  childId(childId: string, sessionId: string): string;
}

/**
 * The lifecycle of the delegations of one Hermes. It applies nothing itself.
 *
 * @throws {LifecycleError} `invalid_id`, `invalid_option`, `invalid_argument`.
 */
export function hermesLifecycle(options: HermesLifecycleOptions): HermesLifecycle {
  const given = optionsArgument(options, "options", OPTIONS);
  const said = optionsArgument(given.capabilities, "capabilities", CAPABILITIES);
  const capability = (name: (typeof CAPABILITIES)[number]) =>
    optionalText(said[name], `capabilities.${name}`) ?? "unknown";
  const native = {
    source: textArgument(given.source, "source"),
    sourceEpoch: textArgument(given.sourceEpoch, "sourceEpoch"),
    ...set("rootChildId", optionalText(given.rootChildId, "rootChildId")),
    content: optionalText(given.content, "content") ?? "titles",
    history: capability("history"),
    heartbeat: capability("heartbeat"),
    snapshot: capability("snapshot"),
    cancel: capability("cancel"),
  };
  const lifecycle = callNative((addon) => new addon.NativeHermes(native));
  return {
    push(message, pushed) {
      const text = jsonText(message, "message", "invalid_event");
      const { now } = optionsArgument(pushed, "options", ["now"]);
      const time = optionalText(now, "now") ?? new Date().toISOString();
      return JSON.parse(callNative(() => lifecycle.push(text, time))) as HermesOutput;
    },
    snapshot(snapshot) {
      const text = jsonText(snapshot, "snapshot", "invalid_snapshot");
      return JSON.parse(callNative(() => lifecycle.snapshot(text))) as HermesOutput;
    },
    corrected(record) {
      const members: Partial<LifecycleRecord> = optionsArgument(record, "record");
      const member = (name: "source" | "childId" | "state" | "stateSince") =>
        textArgument(members[name], `record.${name}`);
      const names: [string, string, string] = [member("source"), member("childId"), member("state")];
      const since = member("stateSince");
      return callNative(() => lifecycle.corrected(...names, since));
    },
    childId(childId, sessionId) {
      const ids: [string, string] = [textArgument(childId, "childId"), textArgument(sessionId, "sessionId")];
      return callNative(() => lifecycle.childId(...ids));
    },
  };
}

const OPTIONS = ["source", "sourceEpoch", "rootChildId", "content", "capabilities"] as const;
const CAPABILITIES = ["history", "heartbeat", "snapshot", "cancel"] as const;
