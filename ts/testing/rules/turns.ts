// Rules of what a turn says, and of harnesses that say it badly.
import { type Trial, check } from "../bench.js";
import { type RuleDefinition, checkText, rejection, shown, turn } from "./rule.js";

const turnOrder: RuleDefinition = {
  id: "turn-order",
  title: "a turn is told in the order of the harness, and whole",
  scenario: "plain",
  async run(bench) {
    const trial = await bench.open();
    const { turnId } = await turn(trial, "completed", "Hello, world.Done.");
    checkDeltas(trial, turnId);
    const [call, ...others] = trial.of("tool_call").filter(({ argsComplete }) => argsComplete);
    check(call !== undefined && others.length === 0, "the one call of a tool is not told once");
    const [start] = trial.of("tool_execution_started");
    const [finish, ...more] = trial.of("tool_execution_finished");
    check(
      start !== undefined && finish !== undefined && more.length === 0,
      "the tool's start and finish are not told once",
    );
    check(finish.inferred !== true && !finish.isError, "the tool's finish is not told as a success");
    const ids = new Set([call, start, finish].map(({ toolCallId }) => toolCallId));
    check(ids.size === 1, "the tool's call, start and finish have several ids");
    const [first, second] = trial.of("assistant_message");
    const order = [first, call, start, finish, second].map((event) => event!.sequence);
    check(
      order.every((sequence, at) => at === 0 || order[at - 1]! < sequence),
      "the messages and the tool between them are not told in the order of the harness",
    );
  },
};

/** Text that came in pieces is the text of its message. */
function checkDeltas(trial: Trial, turnId: string): void {
  for (const message of trial.of("assistant_message")) {
    if (message.turnId !== turnId) continue;
    const deltas = trial
      .of("assistant_delta")
      .filter((delta) => delta.turnId === turnId && delta.contentIndex === message.contentIndex);
    const text = deltas.map((delta) => delta.text).join("");
    check(
      deltas.length === 0 || text === message.text,
      `the pieces of ${shown(message.text)} are ${shown(text)}`,
    );
  }
}

const equalPieces: RuleDefinition = {
  id: "equal-pieces",
  title: "two pieces that are equal and follow each other are both told",
  scenario: "equal",
  async run(bench) {
    const trial = await bench.open();
    for (let turns = 1; turns <= 2; turns += 1) {
      const { turnId } = await turn(trial, "completed", "haha");
      checkDeltas(trial, turnId);
    }
  },
};

const failure: RuleDefinition = {
  id: "failure",
  title: "a turn that the harness says has failed is told as failed, and the session goes on",
  scenario: "failure",
  async run(bench) {
    const trial = await bench.open();
    await turn(trial, "failed", "Half.");
    await turn(trial, "failed", "Half.");
  },
};

const duplicates: RuleDefinition = {
  id: "duplicates",
  title: "what the harness says twice is told once, and what it says again in another turn is told again",
  scenario: "duplicates",
  async run(bench) {
    const trial = await bench.open();
    for (let turns = 1; turns <= 2; turns += 1) {
      const { turnId } = await turn(trial, "completed", "Only once.");
      checkDeltas(trial, turnId);
      check(trial.of("turn_completed").length === turns, "the end of a turn is told twice");
    }
  },
};

const late: RuleDefinition = {
  id: "late",
  title: "what belongs to an earlier turn neither shows up in the current one nor ends it",
  scenario: "late",
  exempt: ({ nativeTurnIds }) =>
    nativeTurnIds ? undefined : "the harness has no turn ids, so what is late cannot be told",
  async run(bench) {
    const trial = await bench.open();
    const first = await turn(trial, "completed", "First.");
    await turn(trial, "completed", "Second.");
    checkText(trial, first.turnId, "First.");
  },
};

const malformed: RuleDefinition = {
  id: "malformed",
  title: "messages that are none cost nothing but a diagnostic",
  scenario: "malformed",
  async run(bench) {
    const trial = await bench.open();
    await turn(trial, "completed", "Still here.");
    const { dropped } = trial.session.status().turns;
    const isTold =
      trial.diagnostics.length > 0 ||
      trial.of("warning", "error").length > 0 ||
      Object.values(dropped).some((count) => count > 0);
    check(isTold, "nothing was said of the malformed messages");
    await turn(trial, "completed", "Still here.");
  },
};

const crash: RuleDefinition = {
  id: "crash",
  title: "a harness that is killed fails its turn, once, and closes its session",
  scenario: "crash",
  async run(bench) {
    const trial = await bench.open();
    const { turnId } = await turn(trial, "failed");
    await checkClosed(trial);
    checkCut(trial, turnId, "Half");
    check(
      trial.of("adapter_lifecycle").some(({ state }) => state === "crashed"),
      "nothing says that the adapter crashed",
    );
  },
};

const partial: RuleDefinition = {
  id: "partial",
  title: "a harness that exits in the middle, even with code 0, has not completed its turn",
  scenario: "partial",
  async run(bench) {
    const trial = await bench.open();
    const { turnId } = await turn(trial, "failed");
    await checkClosed(trial);
    checkCut(trial, turnId, "Half a mess");
  },
};

async function checkClosed(trial: Trial): Promise<void> {
  await trial.until(() => trial.session.status().state === "closed");
  const { code } = await rejection(
    trial.session.prompt({ text: "conformance" }),
    "a prompt after the end of the harness",
  );
  check(code === "session_closed", `a prompt after the end of the harness was refused with ${String(code)}`);
}

function checkCut(trial: Trial, turnId: string, said: string): void {
  checkText(trial, turnId, said);
  const isCut = trial.of("assistant_message").every(({ truncated }) => truncated === true);
  check(isCut, "a message that was cut is not said to be");
}

export const TURN_RULES: readonly RuleDefinition[] = [
  turnOrder,
  equalPieces,
  failure,
  duplicates,
  late,
  malformed,
  crash,
  partial,
];
