// What the events of one child add up to, and rows of that, in plain JavaScript.

const RECENT_TURNS = 32;
const TERMINAL = new Set(["completed", "failed", "cancelled", "lost"]);

export class Facts {
  title = null;
  model = null;
  place = { cwd: null, branch: null };
  turn = null;
  turns = { count: 0, recent: [] };
  tools = 0;
  openTools = new Map();
  waits = new Map();
  usage = null;
  context = null;
  #counted;

  tell({ title, model, cwd, branch, context, usage }) {
    if (title !== undefined) this.title = title;
    if (model !== undefined) this.model = model;
    if (cwd !== undefined) this.place.cwd = cwd;
    if (branch !== undefined) this.place.branch = branch;
    if (context !== undefined) this.context = context;
    for (const message of usage ?? []) this.#count(message);
  }

  #count(message) {
    const before = this.#counted?.messageId === message.messageId ? this.#counted : undefined;
    this.usage ??= { input: 0, cached: 0, output: 0 };
    for (const name of ["input", "cached", "output"]) {
      this.usage[name] += message[name] - (before?.[name] ?? 0);
    }
    this.#counted = message;
  }

  add(agent, turnId, at) {
    switch (agent.kind) {
      case "session.started":
      case "agent.metadata":
      case "subagent.started":
        if (agent.title !== undefined) this.title = agent.title;
        if (agent.model !== undefined) this.model = agent.model.id;
        break;
      case "turn.started":
        this.turn = { turnId: agent.turnId, open: true };
        this.turns.count++;
        this.turns.recent.push({ turnId: agent.turnId });
        if (this.turns.recent.length > RECENT_TURNS) this.turns.recent.shift();
        this.waits.clear();
        this.openTools.clear();
        break;
      case "agent.done": {
        const ended = turnId ?? this.turn?.turnId;
        if (this.turn?.turnId === ended) {
          this.turn = { turnId: ended, open: false, outcome: agent.outcome };
          this.openTools.clear();
        }
        const past = this.turns.recent.find((turn) => turn.turnId === ended);
        if (past !== undefined) past.outcome = agent.outcome;
        this.waits.clear();
        break;
      }
      case "tool.started":
        this.tools++;
        this.openTools.set(agent.toolId, { toolId: agent.toolId, name: agent.name, since: at });
        break;
      case "tool.finished":
        this.openTools.delete(agent.toolId);
        break;
      case "wait.started":
        this.waits.set(agent.waitId, { waitId: agent.waitId, reason: agent.reason, since: at });
        break;
      case "wait.finished":
        this.waits.delete(agent.waitId);
        break;
    }
  }
}

/** A row for each of `children`: `{source, childId, rootChildId, parentChildId, state, facts, ...}`. */
export function rowsOf(children) {
  const live = new Map();
  for (const { parentChildId, state } of children) {
    if (parentChildId !== undefined && !TERMINAL.has(state))
      live.set(parentChildId, (live.get(parentChildId) ?? 0) + 1);
  }
  return Array.from(children, (child) => row(child, live.get(child.childId) ?? 0));
}

function row(child, liveChildren) {
  const { source, childId, rootChildId, parentChildId, state, stateSince, startedAt, activity, facts } =
    child;
  const key = (id) => (id === rootChildId ? source : `${source}#${id}`);
  const isOver = TERMINAL.has(state);
  const waitsForChild = child.waitingReason === "prompt" && liveChildren > 0;
  const isCounted = childId === rootChildId || facts.turn !== null || facts.tools > 0;
  return {
    key: key(childId),
    childId,
    source,
    parentKey: parentChildId === undefined ? null : key(parentChildId),
    state,
    stateSince,
    waitingReason: waitsForChild ? "child" : (child.waitingReason ?? null),
    waits: isOver ? [] : [...facts.waits.values()],
    turn: facts.turn,
    turns: facts.turns,
    activity: activity ?? null,
    tools: { count: isCounted ? facts.tools : null, open: isOver ? [] : [...facts.openTools.values()] },
    liveChildren,
    title: facts.title,
    model: facts.model,
    place: facts.place,
    startedAt,
    usage: facts.usage,
    context: facts.context,
  };
}
