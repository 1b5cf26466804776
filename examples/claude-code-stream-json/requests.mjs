// What the program asks, as requests of the neutral protocol, and how the host's answers are told to it.

const QUESTIONS = "AskUserQuestion";

/** The request for the host; undefined for what is none. */
export function approvalOf({ subtype, tool_name: tool, input }) {
  if (subtype !== "can_use_tool") return undefined;
  if (tool === QUESTIONS && Array.isArray(input?.questions))
    return { method: "input/request", params: { questions: input.questions.map(questionOf) } };
  const decisions = [
    { id: "allow", label: "Allow" },
    { id: "deny", label: "Deny" },
  ];
  return {
    method: "approval/request",
    params: { kind: "tool", title: `Use ${tool}`, arguments: input ?? null, decisions },
  };
}

/** A question has no id but its place, an option none but its label. */
function questionOf({ question, header, options = [], multiSelect }, at) {
  return {
    id: `q${at}`,
    ...(header && { header }),
    question,
    options: options.map(({ label, description }) => ({
      id: label,
      label,
      ...(description && { description }),
    })),
    multiSelect: multiSelect === true,
    allowFreeform: true,
  };
}

export const deny = (message) => ({ behavior: "deny", message });

/** The program's own form of what the host answered. */
export function permissionOf({ input }, { decision, answers }) {
  if (answers !== undefined)
    return { behavior: "allow", updatedInput: { ...input, answers: textsOf(input, answers) } };
  return decision === "allow" ? { behavior: "allow", updatedInput: input } : deny("the user denied it");
}

/** By the text of each question. */
function textsOf({ questions }, answers) {
  const texts = questions.map(({ question }, at) => {
    const { options = [], text } = answers[`q${at}`] ?? {};
    return [question, [...options, ...(text === undefined ? [] : [text])].join(", ")];
  });
  return Object.fromEntries(texts);
}
