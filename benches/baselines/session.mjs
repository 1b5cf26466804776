// A session's journal to rows in plain JavaScript: `indexOf`, `toString`, `JSON.parse`, the mapper, a bridge to schema-v1 events,
// the projector of plain.mjs, and what the events add up to.
import { Mapper } from "./claude.mjs";
import { normalizeEvent } from "./event.mjs";
import { Facts, rowsOf } from "./facts.mjs";
import { plain } from "./jsonl.mjs";
import { EDGES, PlainProjector } from "./plain.mjs";

const ENDS = { success: "completed", error: "failed", cancelled: "cancelled" };
const CAPABILITIES = { history: "known" };
/** Messages whose usage waits for an event to carry it. */
const USAGES = 32;

/** Journals that hold one session, and its rows. */
export class PlainSession {
  #mapper = new Mapper();
  #bridge;
  #projector = new PlainProjector();
  #facts = new Map();

  /** Takes all chunks of the journal. */
  read(chunks) {
    plain(chunks, (records) => {
      for (const record of records) this.#record(record);
    });
  }

  #record(record) {
    this.#bridge ??= new Bridge(record.sessionId, (event) => this.#apply(event));
    this.#bridge.begin(record);
    this.#mapper.record(record, (item) => this.#bridge.take(item, this.#mapper.turnId));
    this.#bridge.end();
  }

  #apply(value) {
    const event = normalizeEvent(value);
    const { status } = this.#projector.applyNormal(event);
    if (status !== "applied") return;
    const facts = this.#facts.get(event.childId) ?? new Facts();
    this.#facts.set(event.childId, facts);
    const { details, observedAt } = event;
    if (details?.facts !== undefined) facts.tell(details.facts);
    if (details?.agent !== undefined) facts.add(details.agent, details.turnId, observedAt);
  }

  rows() {
    const children = Array.from(this.#projector.records, ({ lineage, ...record }) => ({
      ...record,
      rootChildId: lineage.rootChildId,
      parentChildId: lineage.parentChildId,
      facts: this.#facts.get(record.childId),
    }));
    return rowsOf(children);
  }
}

/** Agent events of one session as schema-v1 events over legal edges, handed to `send`. */
class Bridge {
  #source;
  #root;
  #send;
  #lives = new Map();
  #at;
  #uuid;
  #count;
  #item;
  #turnId;
  #waits = new Map();

  constructor(sessionId, send) {
    this.#root = sessionId;
    this.#source = `claude-code/${sessionId}`;
    this.#send = send;
  }

  /** The record whose items come. */
  begin({ timestamp, uuid }) {
    this.#at = timestamp ?? this.#at;
    this.#uuid = uuid ?? `${this.#uuid}+`;
    this.#count = 0;
  }

  /** No item of the record follows: facts that nothing has carried get an event. */
  end() {
    const life = this.#lives.get(this.#root);
    if (this.#count === 0 && life?.facts !== undefined) {
      this.#item = undefined;
      this.#emit(this.#root, "activity");
    }
  }

  take(item, turnId) {
    this.#item = item;
    this.#turnId = turnId;
    const root = this.#root;
    switch (item.kind) {
      case "session.started":
        this.#lives.set(root, { state: "created" });
        this.#emit(root, "created", "created");
        this.#step(root, "starting", false);
        break;
      case "facts":
        this.#keep(item.facts);
        break;
      case "turn.started":
        this.#waits.clear();
        this.#change(root, "running");
        break;
      case "agent.done":
        this.#waits.clear();
        this.#change(root, "waiting", "prompt");
        break;
      case "wait.started":
        this.#waits.set(item.waitId, item.reason);
        this.#change(root, "waiting", item.reason);
        break;
      case "wait.finished":
        this.#waits.delete(item.waitId);
        if (this.#waits.size > 0) this.#emit(root, "activity");
        else this.#change(root, "running");
        break;
      case "subagent.started":
        this.#lives.set(item.subagentId, { state: "created", parent: root });
        this.#emit(item.subagentId, "created", "created");
        this.#evidence();
        break;
      case "confirmed":
        this.#confirm(item.launch);
        this.#evidence();
        break;
      case "subagent.done":
        this.#confirm(item.subagentId);
        this.#lives.get(item.subagentId).state = ENDS[item.outcome];
        this.#emit(item.subagentId, "terminal", ENDS[item.outcome]);
        this.#evidence();
        break;
      case "tool.started": {
        const { name, description } = item;
        const text = description === undefined ? name : `${name}: ${description}`;
        this.#emit(root, "activity", undefined, text);
        break;
      }
      default:
        this.#emit(root, "activity");
    }
  }

  /** Facts wait for the next event. */
  #keep({ usage, ...facts }) {
    const life = this.#lives.get(this.#root);
    const known = life.facts?.usage ?? [];
    const [message] = usage ?? [];
    const messages =
      message === undefined
        ? known
        : [...known.filter(({ messageId }) => messageId !== message.messageId), message];
    life.facts = { ...life.facts, ...facts, ...(messages.length > 0 && { usage: messages }) };
    if (messages.length >= USAGES) this.#evidence();
  }

  #confirm(id) {
    const { state } = this.#lives.get(id);
    if (state === "created") this.#step(id, "starting", true);
    if (state === "created" || state === "starting") this.#step(id, "running", true);
  }

  /** Moves the session to `state`; the same state again is evidence. */
  #change(id, state, reason) {
    const life = this.#lives.get(id);
    if (life.state !== state && !EDGES[life.state].includes(state)) this.#step(id, "running", true);
    life.state = state;
    life.reason = reason;
    this.#emit(id, "state_changed", state);
  }

  #step(id, state, inferred) {
    this.#lives.get(id).state = state;
    this.#event(id, "state_changed", state, undefined, inferred ? { inferred } : undefined);
  }

  #evidence() {
    this.#item = undefined;
    this.#emit(this.#root, "activity");
  }

  #emit(id, kind, state, activity) {
    const life = this.#lives.get(id);
    const details = {};
    const item = this.#item;
    if (
      item !== undefined &&
      item.kind !== "facts" &&
      item.kind !== "activity" &&
      item.kind !== "confirmed"
    ) {
      details.agent = item;
      if (this.#turnId !== undefined) details.turnId = this.#turnId;
    }
    if (!life.isAnnounced) {
      life.isAnnounced = true;
      life.facts = { provider: "claude-code", sessionId: this.#root, ...life.facts };
    }
    if (life.facts !== undefined) {
      details.facts = life.facts;
      life.facts = undefined;
    }
    this.#event(id, kind, state, activity, details);
  }

  #event(id, kind, state, activity, details) {
    const life = this.#lives.get(id);
    life.adoptedAt ??= this.#at;
    const lineage = {
      rootChildId: this.#root,
      ...(life.parent !== undefined && { parentChildId: life.parent }),
      attempt: 1,
      external: true,
      adoptedAt: life.adoptedAt,
    };
    this.#send({
      schemaVersion: 1,
      eventId: `${this.#uuid}:${this.#count++}`,
      source: this.#source,
      sourceEpoch: "file",
      childId: id,
      lineage,
      kind,
      ...(state !== undefined && { state }),
      ...(state === "waiting" && { waitingReason: life.reason }),
      observedAt: this.#at,
      ...(activity !== undefined && { activity }),
      ...(details !== undefined && { details }),
      capabilities: CAPABILITIES,
    });
  }
}
