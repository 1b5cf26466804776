// Host processes that a test starts, moves by hand and kills, in a home of their own; and what they leave behind.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { BindingStore } from "agent-lifecycle";
import { until } from "./adapter.mjs";

const program = path.join(import.meta.dirname, "runtime-host.mjs");

/** A text that a message says at once, and the end of its turn. */
export const answer = (text) => [
  { observe: { kind: "assistant", text: { delta: text }, done: true } },
  { end: { status: "completed" } },
];

/** A home with a store of bindings, a state directory and a folder of native sessions. */
export function runtimeHome(t) {
  const home = fs.mkdtempSync(path.join(tmpdir(), "agent-lifecycle-hosts-"));
  const state = path.join(home, "state");
  const env = { ...process.env, HOME: home, USERPROFILE: home, LOCALAPPDATA: state, XDG_STATE_HOME: state };
  const children = new Set();
  t.after(() => {
    for (const child of children) child.kill("SIGKILL");
    fs.rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  });
  return {
    home,
    env,
    file: path.join(home, "bindings.db"),
    generations: () => {
      const folder = path.join(state, "agent-lifecycle", "generations");
      return fs.existsSync(folder) ? fs.readdirSync(folder) : [];
    },
    /** The folder where the harness keeps the native sessions of a product session, and how many it has made. */
    sessionsOf: (id) => path.join(home, "native", id),
    made: (id) => {
      const folder = path.join(home, "native", id);
      return fs.existsSync(folder) ? fs.readdirSync(folder).length : 0;
    },
    async host(stop) {
      const child = spawn(process.execPath, [program, JSON.stringify({ home, stop })], {
        cwd: home,
        env,
        stdio: ["pipe", "pipe", "inherit"],
      });
      children.add(child);
      child.once("close", () => children.delete(child));
      return new Host(child);
    },
    /** What the store has, read by this process. */
    async stored(read) {
      const store = await BindingStore.open(path.join(home, "bindings.db"));
      try {
        return await read(store);
      } finally {
        await store.close();
      }
    },
  };
}

/** A host process: what it said, and what it is asked to do. */
class Host {
  said = [];
  isOver = false;
  #news = new EventEmitter();
  #child;

  constructor(child) {
    this.#child = child;
    // What is asked of one that is gone is answered by its end.
    child.stdin.on("error", () => undefined);
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.said.push(JSON.parse(line));
      this.#news.emit("news");
    });
    this.closed = once(child, "close").then(([code, signal]) => {
      this.isOver = true;
      this.#news.emit("news");
      return { code, signal };
    });
  }

  get pid() {
    return this.#child.pid;
  }

  /** The first of what it said that this is true of, once it is said; undefined where it is gone without. */
  async until(isIt) {
    for (;;) {
      const found = this.said.find(isIt);
      if (found !== undefined || this.isOver) return found;
      await once(this.#news, "news");
    }
  }

  /** Asks for an action; its outcome, undefined where the host died over it. */
  async ask(id, action, more = {}) {
    const number = this.said.length;
    this.#child.stdin.write(`${JSON.stringify({ id, do: action, ...more })}\n`);
    return this.until(
      (one) =>
        this.said.indexOf(one) >= number && one.id === id && (one.done === action || one.failed === action),
    );
  }

  /** Asks, and throws where it was refused. */
  async do(id, action, more) {
    const outcome = await this.ask(id, action, more);
    if (outcome?.done !== action) throw new Error(`${action}: ${JSON.stringify(outcome)}`);
    return outcome.result;
  }

  event(id, kind) {
    return this.until((one) => one.id === id && one.event === kind);
  }

  kill() {
    this.#child.kill("SIGKILL");
    return this.closed;
  }

  async end() {
    this.#child.stdin.write(`${JSON.stringify({ do: "end" })}\n`);
    return this.closed;
  }
}

/** A text that a process and all below it have in their environment. */
export const mark = () => `mark-${randomUUID()}`;

/** The processes that have this mark. */
export function marked(text) {
  return fs.readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return fs.readFileSync(`/proc/${pid}/environ`).includes(text);
    } catch {
      // It is gone, or another user's.
      return false;
    }
  });
}

export const noneMarked = (text) => until(`no process of ${text}`, () => marked(text).length === 0);
