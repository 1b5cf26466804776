// What the harness of an adapter has to do for the rules of the conformance suite: scenarios, by name.

/**
 * What the harness does in each scenario. "Says" is: so that the driver observes it as a message of the assistant. An adapter's
 * author brings a harness that can be told to, such as a scripted imitation of the program.
 */
export const SCENARIOS = {
  plain:
    'each turn says "Hello, world.", in more than one piece where the protocol has pieces; calls a tool once, which succeeds; says "Done."; and completes',
  equal: 'each turn says "haha", in the pieces "ha" and "ha" where the protocol has pieces, and completes',
  failure: 'each turn says "Half." and fails, by the word of the harness',
  duplicates:
    'each turn says "Only once." and completes; every message that the protocol lets a client recognise as a repeat comes twice, the end of the turn too',
  late: 'the first turn says "First." and completes. In the second, once it was accepted, more text of the first turn comes, and the end of the first turn again; then it says "Second." and completes',
  malformed:
    'in each turn come lines and messages that are not of the protocol, or have the wrong types; then it says "Still here." and completes',
  crash: 'each turn says "Half" and then the harness is killed',
  partial: 'each turn says "Half a mess" and, in the middle of a message, the harness exits with code 0',
  busy: 'the first turn says "Working" and goes on until it is cancelled; further ones say "After." and complete',
  resume:
    'native sessions outlive the process. Each turn says "turn <n>.", where n counts the turns of its native session, and completes',
  missing:
    "as `resume`; what `between` does, or the harness by itself, makes the first native session vanish when its live session has ended",
  "broken-resume":
    "as `resume`; what `between` does, or the harness by itself, makes every later start fail before the harness could say anything of the native session: it exits, or its login is refused",
  "approval-abort":
    "the first turn asks for leave and waits; when it is cancelled it ends only after the request was refused or answered to the harness",
  approval:
    'each turn asks for leave, with at least two decisions, and then says "decision: <id>" with the id of the decision that the harness was given, in the words of the driver; and completes',
  input:
    'each turn asks one question, and then says "answer: <text>" with the text, or the id of the option, that the harness was given; and completes',
  steer: 'each turn says "Waiting." and waits to be steered; then it says "steered: <text>" and completes',
  secrets:
    "the configuration has secrets, and the harness repeats them: in messages, cut into pieces, in a tool's result, on standard error, and in the message of the failure that ends each turn",
} as const;

/** The name of a scenario. */
export type ConformanceScenario = keyof typeof SCENARIOS;

/** A harness that behaves as its scenario says. */
export interface ScenarioSetup {
  /** The configuration of the instance. */
  readonly config: Readonly<Record<string, unknown>>;
  /** `secrets`: the texts that must be seen nowhere, of 8 UTF-16 code units or more each. */
  readonly secrets?: readonly string[] | undefined;
  /** `missing` and `broken-resume`: runs when the first live session has ended, with the id of its native session. */
  readonly between?: ((nativeSessionId: string) => void | Promise<void>) | undefined;
}

/** Makes one. `folder` is a folder of the rule's own, which is removed afterwards; the agent works in another one. */
export type MakeScenario = (folder: string) => ScenarioSetup | Promise<ScenarioSetup>;

/** The scenarios that an adapter's author brings. Those that are left out make their rules skipped. */
export type ConformanceScenarios = { readonly [Name in ConformanceScenario]?: MakeScenario | undefined };
