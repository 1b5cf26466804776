// The rules of a schema-v1 event in plain JavaScript, as one would write them without this package. Used by the plain
// projector and by the parser's baseline.

const IDS = 512;
const KINDS = new Set([
  "created",
  "state_changed",
  "activity",
  "heartbeat",
  "terminal",
  "reconciliation",
  "diagnostic",
]);
const STATES = new Set([
  "created",
  "starting",
  "running",
  "waiting",
  "completed",
  "failed",
  "cancelled",
  "lost",
]);
export const TERMINAL = new Set(["completed", "failed", "cancelled", "lost"]);
const REASONS = new Set(["prompt", "permission", "question", "blocked", "child", "other"]);
const CAPABILITIES = ["history", "heartbeat", "snapshot", "cancel", "terminalCause"];
const TIME = /^\d{4}-\d\d-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|\+00:00)$/;

/** Names of members whose text is a secret, and secrets in text. Far fewer rules than the core has. */
export const SECRET_NAME =
  /secret|token|passwo?r?d|authorization|cookie|credential|bearer|(?:api|private)[-_]?key/i;
export const SECRET_TEXT =
  /(?:sk-|pk-|gh[posur]_|github_pat_|glpat-|xox[a-z]-|AKIA|ASIA|AIza|npm_|hf_)[\w-]{8,}|eyJ[\w-]+\.[\w-]+|-----BEGIN|(?:bearer|basic) +\S{8,}|:\/\/[^\s/]+@|(?:secret|token|passwo?r?d|cookie|credential|key)["']?\s*[:=]\s*\S+/gi;

export class Refused extends TypeError {
  constructor(path, message) {
    super(`${path}: ${message}`);
    this.path = path;
  }
}

/** The normalised event in a parsed value. */
export function normalizeEvent(value) {
  if (!isObject(value)) throw new Refused("$", "the event must be an object");
  if (value.schemaVersion !== 1) throw new Refused("$.schemaVersion", "must be 1");
  const event = {
    schemaVersion: 1,
    eventId: id(value.eventId, "$.eventId"),
    source: id(value.source, "$.source"),
    sourceEpoch: id(value.sourceEpoch, "$.sourceEpoch"),
    childId: id(value.childId, "$.childId"),
    lineage: lineage(value.lineage),
    kind: value.kind,
  };
  if (!KINDS.has(event.kind)) throw new Refused("$.kind", "is unknown");
  const { state } = value;
  if (event.kind === "created" ? state !== "created" : event.kind === "terminal" && !TERMINAL.has(state)) {
    throw new Refused("$.state", "does not fit the kind");
  }
  if (event.kind === "state_changed" && (!STATES.has(state) || state === "created")) {
    throw new Refused("$.state", "does not fit the kind");
  }
  if (state !== undefined) {
    if (!["created", "state_changed", "terminal"].includes(event.kind))
      throw new Refused("$.state", "must be absent");
    event.state = state;
  }
  if (state === "waiting") {
    event.waitingReason = value.waitingReason ?? "other";
    if (!REASONS.has(event.waitingReason)) throw new Refused("$.waitingReason", "is unknown");
  } else if (value.waitingReason !== undefined) {
    throw new Refused("$.waitingReason", "must be absent");
  }
  event.observedAt = timestamp(value.observedAt, "$.observedAt");
  if (value.sequence !== undefined) {
    if (!isCount(value.sequence)) throw new Refused("$.sequence", "must be a safe integer");
    event.sequence = value.sequence;
  }
  if (value.activity !== undefined) {
    if (typeof value.activity !== "string") throw new Refused("$.activity", "must be text");
    event.activity = redactText(value.activity).slice(0, 512);
  }
  if (value.details !== undefined) {
    if (!isObject(value.details)) throw new Refused("$.details", "must be an object");
    if (Buffer.byteLength(JSON.stringify(value.details)) > 65536)
      throw new Refused("$.details", "is too large");
    event.details = redact(value.details, 32);
  }
  event.capabilities = capabilities(value.capabilities);
  return event;
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;

function id(value, path) {
  if (typeof value !== "string") throw new Refused(path, "must be text");
  const text = value.trim();
  if (text === "" || Buffer.byteLength(text) > IDS || text.includes("\0") || !text.isWellFormed()) {
    throw new Refused(path, "must be 1 to 512 bytes of text");
  }
  return text;
}

function timestamp(value, path) {
  const match = typeof value === "string" ? TIME.exec(value) : null;
  // A day that the month does not have becomes one of the next month.
  if (match === null || new Date(value).getUTCDate() !== Number(match[1]))
    throw new Refused(path, "must be a time");
  return value.replace("+00:00", "Z");
}

function lineage(value) {
  if (!isObject(value)) throw new Refused("$.lineage", "must be an object");
  const { rootChildId, parentChildId, attempt, external, adoptedAt } = value;
  const result = { rootChildId: id(rootChildId, "$.lineage.rootChildId") };
  if (parentChildId !== undefined) result.parentChildId = id(parentChildId, "$.lineage.parentChildId");
  if (!isCount(attempt)) throw new Refused("$.lineage.attempt", "must be a safe integer");
  result.attempt = attempt;
  if (typeof external !== "boolean") throw new Refused("$.lineage.external", "must be a boolean");
  result.external = external;
  if (external || adoptedAt !== undefined) result.adoptedAt = timestamp(adoptedAt, "$.lineage.adoptedAt");
  return result;
}

function capabilities(value = {}) {
  if (!isObject(value)) throw new Refused("$.capabilities", "must be an object");
  const result = {};
  for (const name of CAPABILITIES) {
    const given = value[name] ?? "unknown";
    if (given !== "known" && given !== "unknown") throw new Refused(`$.capabilities.${name}`, "is unknown");
    result[name] = given;
  }
  return result;
}

const redactText = (text) => text.replace(SECRET_TEXT, "[REDACTED]").toWellFormed();

function redact(value, levels) {
  if (typeof value === "string") return redactText(value);
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) throw new Refused("$.details", "is too deep");
  if (Array.isArray(value)) return value.map((item) => redact(item, levels - 1));
  const member = ([name, item]) => [
    name,
    typeof item === "string" && SECRET_NAME.test(name) ? "[REDACTED]" : redact(item, levels - 1),
  ];
  return Object.fromEntries(Object.entries(value).map(member));
}
