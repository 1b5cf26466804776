// Rules of what the harness asks, and of what it is never to be quoted with.
import { thrownText } from "../../callbacks.js";
import { type Trial, check } from "../bench.js";
import { type RuleDefinition, checkText, needs, rejection } from "./rule.js";

const approvals: RuleDefinition = {
  id: "approvals",
  title: "a request for leave is answered with the decision that was made, once",
  scenario: "approval",
  exempt: needs("approvals"),
  async run(bench) {
    const trial = await bench.open();
    const { session } = trial;
    const prompted = session.prompt({ text: "conformance" });
    await trial.until(() => trial.of("approval_requested").length === 1);
    const { requestId, decisions } = trial.of("approval_requested")[0]!.request;
    const isPending = () => session.status().pendingApproval?.requestId === requestId;
    check(isPending(), "the request is not pending in the status");
    check(decisions.length > 1, "the request has less than two decisions");
    const { code } = await rejection(
      session.respondToApproval!(requestId, "conformance: none of them"),
      "a decision that there is not",
    );
    check(
      code === "invalid_answer" && isPending(),
      "after a decision that there is not the request is not pending",
    );
    const { id } = decisions.at(-1)!;
    const { outcome } = await session.respondToApproval!(requestId, id);
    check(outcome === "responded", `the request ended as ${outcome}`);
    await checkAnswered(trial, prompted, `decision: ${id}`);
    check(trial.of("approval_resolved").length === 1, "the end of the request is not told once");
    const again = await rejection(session.respondToApproval!(requestId, id), "a second decision");
    check(again.code === "already_resolved", `a second decision was refused with ${String(again.code)}`);
  },
};

const requestEnded: RuleDefinition = {
  id: "request-ended",
  title: "a request that is open when its turn is aborted is refused to the harness",
  scenario: "approval-abort",
  exempt: (driver) => needs("approvals")(driver) ?? needs("abort")(driver),
  async run(bench) {
    const trial = await bench.open();
    const { session } = trial;
    const prompted = session.prompt({ text: "conformance" });
    await trial.until(() => trial.of("approval_requested").length === 1);
    await session.abort();
    const { status } = await prompted;
    check(status === "interrupted", `the turn ended as ${status}`);
    const [end] = trial.of("turn_completed");
    check(
      end?.confirmed === true,
      "the harness still waits for an answer: the turn was not ended by its word",
    );
    check(trial.of("approval_resolved").length === 1, "the end of the request is not told once");
  },
};

const userInput: RuleDefinition = {
  id: "user-input",
  title: "a question is answered with what was answered, once",
  scenario: "input",
  exempt: needs("userInput"),
  async run(bench) {
    const trial = await bench.open();
    const { session } = trial;
    const prompted = session.prompt({ text: "conformance" });
    await trial.until(() => trial.of("user_input_requested").length === 1);
    const { requestId, questions } = trial.of("user_input_requested")[0]!.request;
    const isPending = () => session.status().pendingUserInput?.requestId === requestId;
    check(isPending(), "the request is not pending in the status");
    const { code } = await rejection(session.respondToUserInput!(requestId, {}), "an answer without answers");
    check(
      code === "invalid_answer" && isPending(),
      "after an answer without answers the request is not pending",
    );
    const [question] = questions;
    check(question !== undefined && questions.length === 1, "the request has not one question");
    const option = question.options?.at(-1)?.id;
    const answer = option === undefined ? { text: "forty-two" } : { options: [option] };
    await session.respondToUserInput!(requestId, { [question.id]: answer });
    await checkAnswered(trial, prompted, `answer: ${option ?? "forty-two"}`);
    check(trial.of("user_input_resolved").length === 1, "the end of the request is not told once");
  },
};

async function checkAnswered(
  trial: Trial,
  prompted: Promise<{ readonly turnId: string; readonly status: string }>,
  said: string,
): Promise<void> {
  const { turnId, status } = await prompted;
  check(status === "completed", `the turn ended as ${status}`);
  checkText(trial, turnId, said);
}

/** Units of a secret that are none by themselves. */
const FRAGMENT = 8;

const secrets: RuleDefinition = {
  id: "secrets",
  title: "secrets of the configuration are in nothing that is shown",
  scenario: "secrets",
  async run(bench) {
    const hidden = bench.setup.secrets ?? [];
    check(hidden.length > 0, "the scenario has no secrets to look for");
    const trial = await bench.open();
    const { session } = trial;
    const { status } = await session.prompt({ text: "conformance" });
    check(status === "failed", `the turn ended as ${status}, and should have failed`);
    check(
      trial.of("assistant_message").length > 0,
      "the harness said nothing that could have had a secret in it",
    );
    const refused = await session
      .prompt({ text: "conformance" })
      .catch((error: unknown) => [thrownText(error), error]);
    const all = { status: session.status(), refused, inspection: await bench.registry.inspect() };
    await session.dispose();
    const seen = { events: trial.events, diagnostics: trial.diagnostics, ...all };
    for (const [what, value] of Object.entries(seen)) {
      const text = JSON.stringify(value);
      const isQuoted = hidden.some((secret) => fragments(secret).some((fragment) => text.includes(fragment)));
      check(!isQuoted, `a secret, or a part of one, is in: ${what}`);
    }
  },
};

function fragments(secret: string): string[] {
  const count = Math.max(1, secret.length - FRAGMENT + 1);
  return Array.from({ length: count }, (_, at) => secret.slice(at, at + FRAGMENT));
}

export const REQUEST_RULES: readonly RuleDefinition[] = [approvals, requestEnded, userInput, secrets];
