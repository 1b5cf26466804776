// The conformance suite: the neutral driver keeps every rule. Broken adapters are in conformance-matrix.test.mjs.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BROKEN_ADAPTERS,
  SCENARIOS,
  adapterConformance,
  fakeDriver,
  fakeScenarios,
  runConformance,
} from "agent-lifecycle/testing";

const rules = adapterConformance({ driver: fakeDriver(), scenarios: fakeScenarios() });

for (const { id, title, skip, run } of rules) test(`the neutral driver: ${id}: ${title}`, { skip }, run);

test("there is a broken adapter for each rule, and each scenario serves one", () => {
  assert.equal(rules.length, 23);
  assert.deepEqual(rules.map(({ id }) => id).toSorted(), BROKEN_ADAPTERS.map(({ rule }) => rule).toSorted());
  assert.deepEqual(new Set(rules.map(({ scenario }) => scenario)), new Set(Object.keys(SCENARIOS)));
  assert.ok(rules.every(({ skip }) => skip === false));
});

test("a scenario that is not given makes its rules skipped, never passed", async () => {
  const results = await runConformance({ driver: fakeDriver(), scenarios: {} });
  assert.ok(results.every(({ status }) => status === "skipped"));
  for (const { message } of results) assert.match(message, /^no harness for the scenario [\w-]+ was given$/);
  const [{ run, skip }] = adapterConformance({ driver: fakeDriver(), scenarios: {} });
  await assert.rejects(run, { message: `skipped: ${skip}` });
});

test("what a driver does not advertise is not asked of it", () => {
  const { steer: _steer, resumeSession: _resume, abort: _abort, ...driver } = fakeDriver();
  const capabilities = { ...driver.capabilities, steering: false, resume: false, abort: false };
  const less = { ...driver, capabilities, nativeTurnIds: false };
  const skipped = adapterConformance({ driver: less, scenarios: fakeScenarios() }).filter(({ skip }) => skip);
  assert.deepEqual(
    skipped.map(({ id, skip }) => [id, skip]),
    [
      ["late", "the harness has no turn ids, so what is late cannot be told"],
      ["abort-busy", "the driver does not advertise abort"],
      ["steering", "the driver does not advertise steering"],
      ["resume", "the driver does not advertise resume"],
      ["missing", "the driver does not advertise resume"],
      ["broken-resume", "the driver does not advertise resume"],
      ["request-ended", "the driver does not advertise abort"],
    ],
  );
});

test("a rule that takes too long has failed, and leaves nothing", async () => {
  const { driver, scenarios } = BROKEN_ADAPTERS.find(({ rule }) => rule === "abort-busy");
  const rule = adapterConformance({ driver, scenarios, ruleMs: 500, abortMs: 30_000 }).find(
    ({ id }) => id === "abort-busy",
  );
  await assert.rejects(rule.run(), { name: "ConformanceFailure", message: "not done within 500 ms" });
});

test("options that are none are refused by name", () => {
  assert.throws(() => adapterConformance({ driver: fakeDriver(), scenario: {} }), { code: "invalid_option" });
  assert.throws(() => adapterConformance({ scenarios: {} }), {
    code: "invalid_argument",
    path: "driver.adapterId",
  });
});
