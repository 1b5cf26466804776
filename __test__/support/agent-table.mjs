// The rules of agent events, written down a second time: members, limits and codes by hand, and the verdict that they give.

/** Members of each kind in the order of their issues; `!` marks what is required. */
const TABLE = {
  "session.started": "title promptText model",
  "agent.metadata": "agentId title promptText model",
  "turn.started": "agentId turnId! promptText",
  "tool.started": "agentId toolId! name! description",
  "tool.finished": "agentId toolId! outcome",
  "wait.started": "agentId waitId! state! reason",
  "wait.finished": "agentId waitId!",
  "agent.done": "agentId outcome! summary",
  "agent.exited": "agentId exitCode signal",
  "session.stopped": "reason",
  "subagent.started": "subagentId! parentAgentId title promptText model",
  "subagent.done": "subagentId! outcome! summary",
};

const members = (line) =>
  line.split(" ").map((word) => ({ name: word.replace("!", ""), required: word.endsWith("!") }));

export const KINDS = new Map(
  Object.entries(TABLE).map(([kind, line]) => [kind, members(`${line} occurredAt`)]),
);
export const MODEL = members("id! displayName reasoningEffort contextWindowTokens");

/** Every name that is a member of some kind. */
export const NAMES = [...new Set([...KINDS.values()].flat().map(({ name }) => name))];

const isText = (most) => (value) => typeof value === "string" && value.length >= 1 && value.length <= most;
const isId = (value) => isText(256)(value) && !/\p{Surrogate}/u.test(value);
const isOneOf = (words) => (value) => typeof value === "string" && words.includes(value);
const isInteger = (least, most) => (value) => Number.isInteger(value) && value >= least && value <= most;

export const GOOD_TIMES = [
  "2026-05-17T22:29:21Z",
  "2026-05-17T22:29:21.5Z",
  "2026-05-17T22:29:21.123456789+00:00",
  "2026-05-17T22:29:21+05:30",
  "2026-05-17T22:29:21-23:59",
  "2024-02-29T00:00:00Z",
  `2026-05-17T22:29:21.${"1".repeat(43)}Z`,
];
const BAD_TIMES = [
  "now",
  "2026-05-17",
  "2026-05-17T22:29Z",
  "2026-05-17T22:29:21",
  "2026-05-17 22:29:21Z",
  "2026-05-17T22:29:21z",
  "2026-05-17T22:29:21-00:00",
  "2026-05-17T22:29:21+24:00",
  "2026-05-17T24:00:00Z",
  "2026-06-30T23:59:60Z",
  "2025-02-29T00:00:00Z",
  "Sun, 17 May 2026 22:29:21 GMT",
  "1779056961000",
  `2026-05-17T22:29:21.${"1".repeat(44)}Z`,
];

const id = { code: "invalid_string", holds: isId };
const text = (most) => ({ code: "invalid_string", holds: isText(most), most });
const outcome = { code: "invalid_outcome", holds: isOneOf(["success", "error", "cancelled"]) };

/** What each member must hold, and the code where it does not. `most` is the limit of a display text. */
export const RULES = {
  agentId: id,
  turnId: id,
  toolId: id,
  waitId: id,
  subagentId: id,
  parentAgentId: id,
  title: text(512),
  promptText: text(4096),
  summary: text(4096),
  reason: text(1024),
  description: text(1024),
  name: text(96),
  signal: text(64),
  outcome,
  state: { code: "invalid_state", holds: isOneOf(["waiting", "blocked"]) },
  exitCode: { code: "invalid_exit_code", holds: isInteger(-255, 255) },
  occurredAt: { code: "invalid_timestamp", holds: isOneOf(GOOD_TIMES) },
  "model.id": id,
  "model.displayName": text(96),
  "model.reasoningEffort": text(64),
  "model.contextWindowTokens": { code: "invalid_number", holds: isInteger(1, 16_777_216) },
};

const LIMITS = [64, 96, 256, 512, 1024, 4096];

/** Values at and beyond the borders of every rule, and values that JSON has not. */
export const VALUES = [
  LIMITS.flatMap((most) => [
    "x".repeat(most),
    "x".repeat(most + 1),
    "é".repeat(most),
    "😀".repeat(most / 2),
    `${"😀".repeat(most / 2)}x`,
    `${"x".repeat(most - 1)}\ud83d`,
    `${"x".repeat(most)}\ud83d`,
  ]),
  ["", " ", "\0", "\n", "x", "\ud83d", "\udc00x", "null", "undefined", "x".repeat(100_000)],
  ["success", "error", "cancelled", "Success", "failed", "waiting", "blocked", "running", "success "],
  GOOD_TIMES,
  BAD_TIMES,
  [0, -0, 1, -1, 1.5, 255, 256, -255, -256, 1e3, 16_777_216, 16_777_217, 16_777_215.5, 2 ** 53, 1e300],
  [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.MIN_VALUE],
  [true, false, null, undefined, 0n, 1n, Symbol("x"), () => "x", Date],
  [[], [1], ["x"], [undefined], {}, { id: 1 }, { length: 1 }, { toJSON: () => "x" }, { toString: () => "x" }],
  [
    new Date(0),
    new Date(Number.NaN),
    Object("x"),
    Object(1),
    Object(1n),
    /x/,
    new Map([["id", "x"]]),
    new Uint8Array([1]),
    new Error("x"),
    Promise.resolve("x"),
    new Proxy(["x"], {}),
  ],
].flat();

const isRecord = (value) => Object.prototype.toString.call(value) === "[object Object]";

/** The verdict on the own members of `value`, as `path code` lines, for the members of one object. */
function judge(prefix, table, value, kept) {
  const known = new Set([...table.map(({ name }) => name), ...kept]);
  const found = Object.keys(value)
    .filter((name) => !known.has(name))
    .map((name) => `$.${prefix}${name} unknown_field`);
  for (const { name, required } of table) {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    if (given === undefined && !required) continue;
    if (name === "model") {
      found.push(...(isRecord(given) ? judge("model.", MODEL, given, []) : ["$.model invalid_type"]));
      continue;
    }
    const { code, holds } = RULES[prefix + name];
    if (!holds(given)) found.push(`$.${prefix}${name} ${code}`);
  }
  return found;
}

/** Every issue that `value` must get, as `path code`, in order. */
export function expectedIssues(value) {
  if (!isRecord(value)) return ["$ invalid_type"];
  const table = KINDS.get(value.kind);
  if (table === undefined) return ["$.kind invalid_event"];
  return judge("", table, value, ["kind"]);
}

/** A valid event of a kind; `whole` gives it every member. */
export function sample(kind, whole = false) {
  const event = { kind };
  for (const { name, required } of KINDS.get(kind)) {
    if (required || whole) event[name] = sampleOf(name);
  }
  return event;
}

function sampleOf(name) {
  const values = {
    outcome: "success",
    state: "waiting",
    exitCode: 1,
    occurredAt: GOOD_TIMES[0],
    model: { id: "m", displayName: "M", reasoningEffort: "high", contextWindowTokens: 200_000 },
  };
  return values[name] ?? `some ${name}`;
}
