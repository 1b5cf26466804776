// A session's journal to rows as fast as we could write it in JavaScript: the lines of a chunk are cut out of one text, and what the
// mapper says changes the rows in place. There are no events, so nothing of theirs: no ids, no check, no copies, no order.
import { isAscii } from "node:buffer";
import { Mapper } from "./claude.mjs";
import { SECRET_TEXT } from "./event.mjs";
import { Facts, rowsOf } from "./facts.mjs";

const ENDS = { success: "completed", error: "failed", cancelled: "cancelled" };
const TRIGGER = new RegExp(SECRET_TEXT.source, "i");

export class FastSession {
  #mapper = new Mapper();
  #rest = [];
  #root;
  #children = new Map();
  #at;
  #say = (item) => this.#take(item);

  /** Takes all chunks of the journal. */
  read(chunks) {
    for (const chunk of chunks) this.#push(chunk);
  }

  rows() {
    return rowsOf([...this.#children.values()]);
  }

  #push(chunk) {
    const end = chunk.lastIndexOf(10) + 1;
    if (end === 0) {
      this.#rest.push(chunk);
      return;
    }
    const head = chunk.subarray(0, end);
    const bytes = this.#rest.length === 0 ? head : Buffer.concat([...this.#rest, head]);
    this.#rest = end === chunk.length ? [] : [chunk.subarray(end)];
    let from = 0;
    for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, from)) {
      const line = bytes.subarray(from, at);
      this.#record(JSON.parse(isAscii(line) ? line.latin1Slice() : line.utf8Slice()));
      from = at + 1;
    }
  }

  #record(record) {
    if (record.timestamp !== undefined) this.#at = record.timestamp;
    this.#root ??= record.sessionId;
    this.#mapper.record(record, this.#say);
  }

  #take(item) {
    const { kind } = item;
    if (kind === "activity") return;
    if (kind === "subagent.started" || kind === "session.started") {
      this.#begin(item);
      return;
    }
    const id = item.launch ?? item.subagentId ?? this.#root;
    const child = this.#children.get(id);
    if (kind === "facts") {
      child.facts.tell(item.facts);
      return;
    }
    if (item.title !== undefined) item.title = shown(item.title);
    child.facts.add(item, this.#mapper.turnId, this.#at);
    switch (kind) {
      case "confirmed":
        if (child.state === "created") this.#change(child, "running");
        break;
      case "turn.started":
        this.#change(child, "running");
        break;
      case "agent.done":
        this.#change(child, "waiting", "prompt");
        break;
      case "wait.started":
        this.#change(child, "waiting", item.reason);
        break;
      case "wait.finished":
        if (child.facts.waits.size === 0) this.#change(child, "running");
        break;
      case "subagent.done":
        this.#change(child, ENDS[item.outcome]);
        break;
      case "tool.started":
        child.activity = shown(
          item.description === undefined ? item.name : `${item.name}: ${item.description}`,
        ).slice(0, 512);
        break;
    }
  }

  #begin(item) {
    const childId = item.subagentId ?? this.#root;
    const facts = new Facts();
    if (item.title !== undefined) item.title = shown(item.title);
    facts.add(item, undefined, this.#at);
    this.#children.set(childId, {
      source: `claude-code/${this.#root}`,
      childId,
      rootChildId: this.#root,
      parentChildId: item.subagentId === undefined ? undefined : this.#root,
      state: item.subagentId === undefined ? "starting" : "created",
      stateSince: this.#at,
      startedAt: this.#at,
      waitingReason: undefined,
      activity: undefined,
      facts,
    });
  }

  #change(child, state, reason) {
    if (child.state !== state) {
      child.state = state;
      child.stateSince = this.#at;
    }
    child.waitingReason = reason;
  }
}

const shown = (text) => (TRIGGER.test(text) ? text.replace(SECRET_TEXT, "[REDACTED]") : text);
