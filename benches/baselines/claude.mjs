// The records of a Claude Code journal as agent events, in plain JavaScript: what a host would write for the records that
// the corpus holds. Calls `say` for each of them.

const NOTIFICATION = "<task-notification>";
const INTERRUPTION = "[Request interrupted by user";

export class Mapper {
  /** The open turn's id, for what is being said. */
  turnId;
  #hasBegun = false;
  #uuids = new Set();
  #turn;
  #past;
  #turnIds = new Set();
  #messages = new Set();
  #calls = new Set();
  #open = new Map();
  #launches = new Map();
  #facts = {};
  #model;
  #title;
  #usage = {};

  record(record, say) {
    const { uuid, type } = record;
    const isFirst = !this.#hasBegun;
    this.#hasBegun = true;
    if (uuid !== undefined) {
      if (this.#uuids.has(uuid)) return;
      this.#uuids.add(uuid);
    }
    if (isFirst) say({ kind: "session.started" });
    this.turnId = this.#turn?.id;
    this.#program(record, say);
    if (type === "user") this.#user(record, say);
    else if (type === "assistant") this.#assistant(record, say);
    else if (type === "system") this.#system(record, say);
    else if (type === "ai-title" || type === "last-prompt") this.#named(record, say);
    if (uuid !== undefined && this.#turn?.id === this.turnId) this.#turn?.records.add(uuid);
  }

  /** Version, folder and branch, where they are new. */
  #program({ version, cwd, gitBranch }, say) {
    const known = this.#facts;
    if (version === known.version && cwd === known.cwd && gitBranch === known.gitBranch) return;
    this.#facts = { version, cwd, gitBranch };
    if (version !== undefined || cwd !== undefined)
      say({ kind: "facts", facts: { agentVersion: version, cwd, branch: gitBranch } });
  }

  #named({ aiTitle, lastPrompt }, say) {
    const title = (aiTitle ?? lastPrompt)?.trim();
    const rank = aiTitle === undefined ? 0 : 1;
    if (!title || rank < (this.#title?.rank ?? 0) || title === this.#title?.title) return;
    this.#title = { title, rank };
    say({ kind: "agent.metadata", title });
  }

  #user({ message, promptId, uuid, toolUseResult, origin, isMeta }, say) {
    if (message === undefined) return;
    let said = 0;
    const count = (item) => {
      said++;
      say(item);
    };
    const { content } = message;
    const results = Array.isArray(content) ? content.filter(({ type }) => type === "tool_result") : [];
    if (results.length > 0) {
      for (const result of results)
        this.#result(result, results.length === 1 ? toolUseResult : undefined, count);
    } else {
      const text = typeof content === "string" ? content : content.find(({ type }) => type === "text")?.text;
      if (text?.startsWith(INTERRUPTION)) {
        if (this.#turn !== undefined) this.#endTurn("cancelled", count);
      } else if (origin?.kind === "task-notification" || text?.startsWith(NOTIFICATION)) {
        this.#report(text, count);
        if (this.#turn === undefined) this.#startTurn(promptId, `user:${uuid}`, count);
      } else if (text?.trim() && !isMeta) {
        this.#startTurn(promptId, `user:${uuid}`, count);
      }
    }
    if (this.#turn !== undefined && said === 0) say({ kind: "activity" });
  }

  #startTurn(promptId, fallback, say) {
    const id = promptId !== undefined && !this.#turnIds.has(promptId) ? promptId : fallback;
    this.#turnIds.add(id);
    if (this.#turn !== undefined) this.#past = this.#turn;
    this.#turn = { id, lastMessage: undefined, records: new Set() };
    this.turnId = id;
    say({ kind: "turn.started", turnId: id });
  }

  #endTurn(outcome, say) {
    this.#past = this.#turn;
    this.#turn = undefined;
    say({ kind: "agent.done", outcome });
  }

  #assistant({ message, uuid, isApiErrorMessage }, say) {
    if (message === undefined) return;
    const { id, model, usage, stop_reason } = message;
    if (usage !== undefined && id !== undefined) this.#used(id, usage, say);
    let isPast = false;
    if (id !== undefined && this.#past?.lastMessage === id) {
      isPast = true;
      this.turnId = this.#past.id;
    } else {
      const isNew = !this.#messages.has(id);
      this.#messages.add(id);
      if (this.#turn === undefined && isNew) this.#startTurn(undefined, `assistant:${id ?? uuid}`, say);
      if (this.#turn === undefined) {
        isPast = true;
        this.turnId = this.#past?.id;
      } else {
        this.#turn.lastMessage = id;
      }
    }
    let said = 0;
    if (model !== undefined && model !== this.#model) {
      this.#model = model;
      said++;
      say({ kind: "agent.metadata", model: { id: model } });
    }
    for (const block of message.content) {
      if (block.type !== "tool_use" || this.#calls.has(block.id)) continue;
      this.#calls.add(block.id);
      said++;
      this.#call(block, say);
    }
    if (!isPast && (isApiErrorMessage || stop_reason === "end_turn"))
      this.#endTurn(isApiErrorMessage ? "error" : "success", say);
    else if (said === 0) say({ kind: "activity" });
  }

  #used(messageId, usage, say) {
    const input = usage.input_tokens ?? 0;
    const cached = (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0);
    const output = usage.output_tokens ?? 0;
    const known = this.#usage;
    if (known.messageId === messageId && known.input === input && known.cached === cached) {
      if (known.output === output) return;
    }
    this.#usage = { messageId, input, cached, output };
    say({ kind: "facts", facts: { context: { used: input + cached }, usage: [this.#usage] } });
  }

  #call({ id, name, input }, say) {
    const call = { id, name, inBackground: input.run_in_background === true };
    this.#open.set(id, call);
    if (name === "Agent" || name === "Task") {
      this.#launches.set(id, { isOver: false });
      say({ kind: "subagent.started", subagentId: id, title: input.description?.trim() });
    } else if (name === "AskUserQuestion" || name === "ExitPlanMode") {
      say({ kind: "wait.started", waitId: id, state: "waiting", reason: "question" });
    } else {
      const description = (input.description ?? input.file_path ?? input.pattern)?.trim();
      say({ kind: "tool.started", toolId: id, name, description });
    }
  }

  #result({ tool_use_id: id, is_error: isError }, details, say) {
    const call = this.#open.get(id);
    if (call === undefined) return;
    this.#open.delete(id);
    const { name, inBackground } = call;
    const outcome = isError ? "error" : "success";
    if (name === "AskUserQuestion" || name === "ExitPlanMode") say({ kind: "wait.finished", waitId: id });
    else if (name !== "Agent" && name !== "Task") say({ kind: "tool.finished", toolId: id, outcome });
    else if (details?.status === "async_launched") say({ kind: "confirmed", launch: id });
    else if (details?.status === "completed" || isError || !inBackground) this.#ended(id, outcome, say);
    else say({ kind: "confirmed", launch: id });
  }

  #report(text, say) {
    const id = /<tool-use-id>(.*?)<\/tool-use-id>/.exec(text)?.[1];
    const status = /<status>(.*?)<\/status>/.exec(text)?.[1];
    if (status === undefined) return;
    const isStopped = status === "killed" || status === "cancelled";
    this.#ended(id, status === "completed" ? "success" : isStopped ? "cancelled" : "error", say);
  }

  #ended(id, outcome, say) {
    const launch = this.#launches.get(id);
    if (launch === undefined || launch.isOver) return;
    launch.isOver = true;
    say({ kind: "subagent.done", subagentId: id, outcome });
  }

  #system({ subtype, parentUuid }, say) {
    const isOfTurn = this.#turn?.records.has(parentUuid);
    if (this.#uuids.has(parentUuid) && !isOfTurn) this.turnId = undefined;
    if (subtype === "turn_duration" && isOfTurn) this.#endTurn("success", say);
    else if (subtype === "api_error") say({ kind: "activity" });
  }
}
