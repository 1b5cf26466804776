// What the notifications of a turn mean: each to observations, as plain data. Nothing is kept between two of them.

/** Kinds of items that are calls of tools: the name of the tool, its arguments, and its result. */
const TOOLS = {
  commandExecution: ({ command, cwd }) => ({ toolName: "command", args: { command, cwd } }),
  fileChange: ({ changes }) => ({ toolName: "file_change", args: { changes } }),
  mcpToolCall: ({ server, tool, arguments: args }) => ({ toolName: `${server}.${tool}`, args }),
  dynamicToolCall: ({ tool, arguments: args }) => ({ toolName: String(tool), args }),
  collabToolCall: ({ tool, prompt }) => ({ toolName: String(tool), args: { prompt } }),
  webSearch: ({ query }) => ({ toolName: "web_search", args: { query } }),
};

const RESULTS = {
  commandExecution: ({ aggregatedOutput, exitCode }) => ({ output: aggregatedOutput, exitCode }),
  fileChange: ({ status }) => ({ status }),
  mcpToolCall: ({ result, error }) => error ?? result,
  dynamicToolCall: ({ contentItems }) => contentItems,
};

const SUCCESS = new Set(["completed", undefined]);

/** The observations of a notification; none for what says nothing of a turn. */
export function observationsOf(method, params) {
  const place = { ...(params.turnId && { nativeTurnId: params.turnId }) };
  const item = { ...place, ...(params.itemId && { nativeItemId: params.itemId }) };
  switch (method) {
    case "item/started":
      return begun(place, params.item);
    case "item/completed":
      return ended(place, params.item);
    case "item/agentMessage/delta":
      return [{ ...item, kind: "assistant", text: { delta: params.delta } }];
    case "item/reasoning/summaryTextDelta":
    case "item/reasoning/textDelta":
      return [{ ...item, kind: "reasoning", text: { delta: params.delta } }];
    case "item/commandExecution/outputDelta":
      return [{ ...item, kind: "tool_updated", text: { delta: params.delta } }];
    case "item/mcpToolCall/progress":
      return [{ ...item, kind: "tool_updated", partialResult: params.message }];
    case "turn/plan/updated":
      return [{ ...place, kind: "plan", plan: params.plan }];
    case "turn/diff/updated":
      return [{ ...place, kind: "diff", diff: params.diff }];
    case "thread/tokenUsage/updated":
      return [{ ...place, kind: "usage", usage: usageOf(params.tokenUsage) }];
    case "error":
      return [{ ...place, kind: "error", message: String(params.error?.message) }];
    default:
      return [];
  }
}

function begun(place, item) {
  const { type, id } = item;
  const at = { ...place, nativeItemId: id };
  const tool = TOOLS[type];
  if (tool !== undefined)
    return [
      { ...at, kind: "tool_call", ...defined(tool(item)) },
      { ...at, kind: "tool_started" },
    ];
  if (type === "contextCompaction") return [{ ...at, kind: "compaction_started" }];
  return [];
}

function ended(place, item) {
  const { type, id, status } = item;
  const at = { ...place, nativeItemId: id };
  if (type === "agentMessage")
    return [{ ...at, kind: "assistant", text: { cumulative: item.text }, done: true }];
  // Its summary may have come in sections: what was said of it stands.
  if (type === "reasoning") return [{ ...at, kind: "reasoning", done: true }];
  if (type === "contextCompaction") return [{ ...at, kind: "compaction_finished" }];
  if (TOOLS[type] === undefined) return [];
  const result = RESULTS[type]?.(item);
  return [
    { ...at, kind: "tool_finished", isError: !SUCCESS.has(status), ...defined({ result: jsonOf(result) }) },
  ];
}

/** Only what is said of the context: the other counts are those of the whole thread, not of the turn. */
function usageOf({ last, modelContextWindow }) {
  return defined({ contextUsed: last?.totalTokens, contextWindow: modelContextWindow ?? undefined });
}

const jsonOf = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

const defined = (members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
