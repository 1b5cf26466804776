// What the server asks, how it is shown, and how it is answered: plain data.

const FOR_A_CHANGE = {
  accept: "Allow",
  acceptForSession: "Allow for this session",
  decline: "Decline",
  cancel: "Decline and end the turn",
};
const FOR_A_PERMISSION = { turn: "Grant for this turn", session: "Grant for this session", deny: "Deny" };
const FOR_AN_ELICITATION = { decline: "Decline", cancel: "Cancel" };

const decisionsOf = (labels) => Object.entries(labels).map(([id, label]) => ({ id, label }));

/** An approval as the context takes it, or `questions`. What is not known is asked all the same: somebody has to see that it waits. */
export function askedOf(method, params) {
  const detail = typeof params.reason === "string" ? { detail: params.reason } : {};
  switch (method) {
    case "item/commandExecution/requestApproval":
      return {
        kind: "command",
        title: "Run a command",
        ...detail,
        arguments: { command: params.command ?? null, cwd: params.cwd ?? null },
        decisions: decisionsOf(FOR_A_CHANGE),
      };
    case "item/fileChange/requestApproval":
      return { kind: "file_change", title: "Change files", ...detail, decisions: decisionsOf(FOR_A_CHANGE) };
    case "item/permissions/requestApproval":
      return {
        kind: "permission",
        title: "Grant permissions",
        ...detail,
        arguments: params.permissions ?? null,
        decisions: decisionsOf(FOR_A_PERMISSION),
      };
    case "mcpServer/elicitation/request":
      return {
        kind: "elicitation",
        title: `${params.serverName} asks`,
        detail: String(params.message),
        decisions: decisionsOf(FOR_AN_ELICITATION),
      };
    case "item/tool/requestUserInput":
      return { questions: params.questions.map(questionOf) };
    default:
      return { kind: "unknown", title: method, decisions: [] };
  }
}

function questionOf({ id, header, question, isOther, isSecret, options }) {
  return {
    id,
    ...(header && { header }),
    question,
    // The answer is the label: it is the only name that an option has.
    ...(options?.length && {
      options: options.map(({ label, description }) => ({
        id: label,
        label,
        ...(description && { description }),
      })),
    }),
    allowFreeform: isOther === true || !options?.length,
    secret: isSecret === true,
  };
}

/** The result for the server: `answer` is a decision's id, or the answers. */
export function replyOf(method, params, answer) {
  switch (method) {
    case "item/permissions/requestApproval":
      return answer === "deny" ? refusalOf(method) : { permissions: params.permissions, scope: answer };
    case "mcpServer/elicitation/request":
      return { action: answer, content: null };
    case "item/tool/requestUserInput":
      return {
        answers: Object.fromEntries(Object.entries(answer).map(([id, given]) => [id, textsOf(given)])),
      };
    default:
      return { decision: answer };
  }
}

const textsOf = ({ options = [], text }) => ({
  answers: [...options, ...(text === undefined ? [] : [text])],
});

/** The result where nobody answered; undefined where the protocol has none. */
export function refusalOf(method) {
  switch (method) {
    case "item/commandExecution/requestApproval":
    case "item/fileChange/requestApproval":
      return { decision: "cancel" };
    case "item/permissions/requestApproval":
      return { permissions: {}, scope: "turn" };
    case "mcpServer/elicitation/request":
      return { action: "cancel", content: null };
    case "item/tool/requestUserInput":
      return { answers: {} };
    default:
      return undefined;
  }
}
