// The fake adapter in each scenario of the conformance suite.
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import type { Observed, ObservedPlace } from "../runtime/observation.js";
import { FAKE_CAPABILITIES, fakeAdapter } from "./fake.js";
import { type FakeAdapterScript, type FakeApproval, type FakeStep, REFUSED } from "./fake-script.js";
import type { ConformanceScenario, ConformanceScenarios, ScenarioSetup } from "./scenario.js";

type Script = Omit<FakeAdapterScript, "capabilities" | "nativeTurnIds" | "sessions">;

const COMPLETED: FakeStep = { end: { status: "completed" } };

/** A message in pieces: the item's name, then its text. */
function says(item: string, ...pieces: string[]): FakeStep[] {
  const nativeItemId = `{turn}-${item}`;
  return [
    ...pieces.map((delta): FakeStep => ({ observe: { kind: "assistant", nativeItemId, text: { delta } } })),
    { observe: { kind: "assistant", nativeItemId, done: true } },
  ];
}

/** The beginning of a message that has no end. */
const begins = (text: string): FakeStep => ({
  observe: { kind: "assistant", nativeItemId: "{turn}-m1", text: { delta: text } },
});

/** Each observation twice, with a name of its own. */
function twice(steps: readonly FakeStep[]): FakeStep[] {
  return steps.flatMap((step, at) => {
    const named =
      "observe" in step ? { ...step, observe: { ...step.observe, nativeEventId: `{turn}-e${at}` } } : step;
    return [named, named];
  });
}

const probe = (observation: Observed): FakeStep => ({
  observe: { nativeItemId: "{turn}-probe", ...observation } as ObservedPlace & Observed,
});

const PLAIN: FakeStep[] = [
  ...says("m1", "Hello, ", "world."),
  probe({ kind: "tool_call", toolName: "probe", args: { path: "." } }),
  probe({ kind: "tool_started" }),
  probe({ kind: "tool_finished", result: "found" }),
  ...says("m2", "Done."),
  { observe: { kind: "usage", usage: { input: 3, output: 2 } } },
  COMPLETED,
];

const COUNTS: FakeStep[] = [...says("m1", "turn {turns}."), COMPLETED];

const ASKED: FakeApproval = {
  kind: "command",
  title: "Run a program",
  arguments: { command: ["true"] },
  decisions: [
    { id: "allow", label: "Allow" },
    { id: "deny", label: "Deny" },
  ],
};

const SECRET = "{env.CONFORMANCE_TOKEN}";

/** What the fake does in each scenario. */
export const FAKE_SCRIPTS: { readonly [Name in ConformanceScenario]: Script } = {
  plain: { turns: [PLAIN] },
  equal: { turns: [[...says("m1", "ha", "ha"), COMPLETED]] },
  failure: { turns: [[...says("m1", "Half."), { end: { status: "failed", message: "no more credit" } }]] },
  duplicates: { turns: [twice([...says("m1", "Only ", "once."), COMPLETED])] },
  late: {
    turns: [
      [...says("m1", "First."), COMPLETED],
      [
        {
          observe: {
            kind: "assistant",
            nativeTurnId: "{previousTurn}",
            nativeItemId: "{previousTurn}-m1",
            text: { delta: "Too late." },
          },
        },
        { end: { nativeTurnId: "{previousTurn}", status: "completed" } },
        ...says("m1", "Second."),
        COMPLETED,
      ],
    ],
  },
  malformed: {
    turns: [
      [
        { line: "this is no JSON" },
        { line: '{"jsonrpc":"2.0"}' },
        { line: '{"jsonrpc":"2.0","id":"nobody asked","result":{}}' },
        { notify: { method: "no/such/notification" } },
        { notify: { method: "observation", params: { kind: 7 } } },
        ...says("m1", "Still here."),
        COMPLETED,
      ],
    ],
  },
  crash: { turns: [[begins("Half"), { kill: "SIGKILL" }]] },
  partial: {
    turns: [
      [
        begins("Half a mess"),
        { cut: '{"jsonrpc":"2.0","method":"observation","params":{"kind":"assistant","text":{"delta":"age' },
        { exit: 0 },
      ],
    ],
  },
  busy: {
    turns: [
      [begins("Working"), { hang: true }],
      [...says("m1", "After."), COMPLETED],
    ],
  },
  resume: { turns: [COUNTS] },
  missing: { turns: [COUNTS] },
  "broken-resume": { turns: [COUNTS] },
  "approval-abort": {
    abort: "ignore",
    turns: [
      [{ approval: ASKED }, { end: { status: "interrupted" } }],
      [...says("m1", "After."), COMPLETED],
    ],
  },
  approval: {
    turns: [
      [
        {
          approval: ASKED,
        },
        ...says("m1", "decision: {answer}"),
        COMPLETED,
      ],
    ],
  },
  input: {
    turns: [
      [
        {
          questions: [
            {
              id: "colour",
              question: "Which colour?",
              options: [
                { id: "blue", label: "Blue" },
                { id: "green", label: "Green" },
              ],
            },
          ],
        },
        ...says("m1", "answer: {answer}"),
        COMPLETED,
      ],
    ],
  },
  steer: {
    turns: [[...says("m1", "Waiting."), { until: "steer" }, ...says("m2", "steered: {steered}"), COMPLETED]],
  },
  secrets: {
    turns: [
      [
        { stderr: `the token is ${SECRET}` },
        {
          observe: {
            kind: "assistant",
            nativeItemId: "{turn}-m1",
            text: { delta: `It is ${SECRET}, I think.` },
          },
          chunk: 5,
        },
        { observe: { kind: "assistant", nativeItemId: "{turn}-m1", done: true } },
        probe({ kind: "tool_call", toolName: "probe", args: { token: SECRET, text: `--with=${SECRET}` } }),
        probe({ kind: "tool_finished", result: { found: [SECRET] } }),
        { observe: { kind: "error", message: `refused: ${SECRET}` } },
        { observe: { kind: "native", name: "token", payload: { token: SECRET } } },
        { end: { status: "failed", message: `no access with ${SECRET}`, details: { token: SECRET } } },
        { exit: 3 },
      ],
    ],
  },
};

/**
 * The configuration of an instance of `fakeDriver` in each scenario. `change` makes another script of each, such as a faulty one.
 */
export function fakeScenarios(
  change: (script: FakeAdapterScript, name: ConformanceScenario) => FakeAdapterScript = (script) => script,
): ConformanceScenarios {
  const made = Object.entries(FAKE_SCRIPTS).map(([name, script]) => {
    const make = (folder: string): ScenarioSetup => {
      const whole = { ...script, capabilities: FAKE_CAPABILITIES, nativeTurnIds: true, sessions: folder };
      const token = randomBytes(12).toString("hex");
      return {
        config: fakeAdapter(change(whole, name as ConformanceScenario), { CONFORMANCE_TOKEN: token }),
        secrets: [token],
        // A fake that finds this does not start.
        between: () =>
          name === "broken-resume"
            ? fs.writeFileSync(path.join(folder, REFUSED), "")
            : fs.rmSync(folder, { recursive: true }),
      };
    };
    return [name, make];
  });
  return Object.fromEntries(made) as ConformanceScenarios;
}
