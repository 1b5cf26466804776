// The types of `agent-lifecycle/testing`: what must compile, and what must not.
import type { RuntimeDriver } from "agent-lifecycle";
import {
  BROKEN_ADAPTERS,
  type ConformanceResult,
  type ConformanceRule,
  type ConformanceScenarios,
  type FakeAdapterScript,
  adapterConformance,
  fakeAdapter,
  fakeDriver,
  fakeScenarios,
  fixtureTerminal,
  fixtureWatcher,
  jsonlChunk,
  runConformance,
} from "agent-lifecycle/testing";

const driver: RuntimeDriver = fakeDriver();
const scenarios: ConformanceScenarios = fakeScenarios();
const rules: ConformanceRule[] = adapterConformance({ driver, scenarios });
const skip: string | false = rules[0]!.skip;
const report: Promise<ConformanceResult[]> = runConformance({ driver, scenarios: {}, ruleMs: 1000 });
const script: FakeAdapterScript = {
  nativeTurnIds: true,
  turns: [[{ observe: { kind: "assistant", text: { delta: "Hello." } } }, { end: { status: "completed" } }]],
};
const { command }: { command: string } = fakeAdapter(script, { NAME: "value" });
const broken: readonly { readonly rule: string; readonly driver: RuntimeDriver }[] = BROKEN_ADAPTERS;
fixtureWatcher(jsonlChunk("append", 1)).end().push(new Error("no more"));
const bound: string = fixtureTerminal().bindSession().providerSessionId;
export { bound, broken, command, report, skip };

// @ts-expect-error: there is no such scenario.
adapterConformance({ driver, scenarios: { chaos: () => ({ config: {} }) } });
// @ts-expect-error: a scenario has a configuration.
adapterConformance({ driver, scenarios: { plain: () => ({}) } });
// @ts-expect-error: a step does one thing that there is.
fakeAdapter({ turns: [[{ dance: true }]] });
// @ts-expect-error: an end has a status that there is.
fakeAdapter({ turns: [[{ end: { status: "done" } }]] });
