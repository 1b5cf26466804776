// What a rule of the conformance suite is.
import type { RuntimeDriver } from "../../runtime/driver.js";
import { type Bench, check, type Trial } from "../bench.js";
import type { ConformanceScenario } from "../scenario.js";

/** A rule as it is written down. */
export interface RuleDefinition {
  readonly id: string;
  readonly title: string;
  readonly scenario: ConformanceScenario;
  /** Why the rule does not concern a driver; undefined where it does. */
  readonly exempt?: (driver: RuntimeDriver) => string | undefined;
  /** @throws where the adapter does not keep the rule. */
  run(bench: Bench): Promise<void>;
}

/** A rule for those who advertise a capability. */
export const needs =
  (capability: keyof RuntimeDriver["capabilities"]): NonNullable<RuleDefinition["exempt"]> =>
  ({ capabilities }) =>
    capabilities[capability] ? undefined : `the driver does not advertise ${capability}`;

/** Prompts, and checks how the turn ended. */
export async function turn(
  trial: Trial,
  status: "completed" | "failed",
  said?: string,
): Promise<{ readonly turnId: string }> {
  const result = await trial.session.prompt({ text: "conformance" });
  check(result.status === status, `the turn ended as ${result.status}, and should have as ${status}`);
  checkTurn(trial, result.turnId);
  if (said !== undefined) checkText(trial, result.turnId, said);
  return result;
}

/** That the messages of a turn are this text. */
export function checkText(trial: Trial, turnId: string, said: string): void {
  const text = trial.text(turnId);
  check(text === said, `the messages of the turn are ${shown(text)}, and should be ${shown(said)}`);
}

/** That a turn has one beginning and one end, in their places. */
function checkTurn(trial: Trial, turnId: string): void {
  const events = trial.events.filter((event) => "turnId" in event && event.turnId === turnId);
  const kinds = events.map(({ kind }) => kind);
  const starts = kinds.filter((kind) => kind === "turn_started").length;
  const ends = kinds.filter((kind) => kind === "turn_completed" || kind === "turn_failed").length;
  check(
    starts === 1 && kinds[0] === "turn_started",
    "turn_started is not the first event of its turn, or not the only one",
  );
  const last = kinds.at(-1);
  check(
    ends === 1 && (last === "turn_completed" || last === "turn_failed"),
    "the end of the turn is not its last event, or not the only one",
  );
}

/** What a promise rejects with. @throws {ConformanceFailure} where it resolves. */
export async function rejection(
  promise: Promise<unknown>,
  what: string,
): Promise<{ readonly code?: unknown }> {
  try {
    await promise;
  } catch (error) {
    return Object(error) as { readonly code?: unknown };
  }
  return check(false, `${what} was not refused`) as never;
}

/** Text in a message. */
export const shown = (text: string): string => JSON.stringify(text.slice(0, 200));
