// The public surface of `agent-lifecycle/testing`: for authors of adapters. Its tests run the addon.
export { ConformanceFailure } from "./testing/bench.js";
export { BROKEN_ADAPTERS } from "./testing/broken.js";
export type { BrokenAdapter } from "./testing/broken.js";
export { adapterConformance, runConformance } from "./testing/conformance.js";
export type { ConformanceOptions, ConformanceResult, ConformanceRule } from "./testing/conformance.js";
export { FAKE_CAPABILITIES, fakeAdapter, fakeDriver } from "./testing/fake.js";
export type { FakeAdapterConfig } from "./testing/fake.js";
export { FAKE_SCRIPTS, fakeScenarios } from "./testing/fake-scenarios.js";
export type { FakeAdapterScript, FakeApproval, FakeStep } from "./testing/fake-script.js";
export { fixtureTerminal, fixtureWatcher, jsonlChunk } from "./testing/fixture-journal.js";
export type { FixtureTerminal, FixtureWatcher } from "./testing/fixture-journal.js";
export { SCENARIOS } from "./testing/scenario.js";
export type {
  ConformanceScenario,
  ConformanceScenarios,
  MakeScenario,
  ScenarioSetup,
} from "./testing/scenario.js";
