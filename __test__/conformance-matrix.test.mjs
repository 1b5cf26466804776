// Broken adapters and rules: each broken adapter fails its rule and no other.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BROKEN_ADAPTERS, runConformance } from "agent-lifecycle/testing";

// What cannot be registered cannot be opened: then the other rules are skipped, and say so.
const UNREGISTERED = new Set(["capabilities"]);

/** Why each fails, so that none fails by accident. */
const REASONS = {
  inspection: /diagnosis_failed: TypeError: version is undefined/,
  capabilities: /advertises steering and has no steer$/,
  identity: /the native session id is in a diagnostic/,
  "binding-identity": /the native session that .* would record belongs to/,
  "turn-order": /not told in the order of the harness/,
  "equal-pieces": /are "ha", and should be "haha"|the pieces of/,
  failure: /ended as completed, and should have as failed/,
  duplicates: /are "Only Only once\.once\."/,
  late: /Too late\./,
  // In the turn, or just after it: what came in one piece is heard first.
  malformed: /ended as failed, and should have as completed|the harness is gone: this is no JSON/,
  crash: /ended as interrupted, and should have as failed/,
  partial: /ended as completed, and should have as failed/,
  "abort-idle": /ended as interrupted, and should have as completed/,
  "abort-busy": /the harness did not confirm the abort in time/,
  steering: /are "Waiting\.steered: "/,
  "dispose-twice": /disposed of already/,
  resume: /are "turn 1\.", and should be "turn 2\."/,
  missing: /opened in the place of the one that is gone/,
  "broken-resume": /the binding is missing, and should have stayed bound/,
  "request-ended": /the harness still waits for an answer/,
  approvals: /are "decision: allow", and should be "decision: deny"/,
  "user-input": /are "answer: ", and should be "answer: green"/,
  secrets: /a secret, or a part of one, is in: events/,
};

test("each broken adapter fails its rule and no other", { concurrency: 3 }, async (t) => {
  const tests = BROKEN_ADAPTERS.map(({ rule, fault, driver, scenarios }) =>
    t.test(`${rule}: ${fault}`, async () => {
      const results = await runConformance({ driver, scenarios, abortMs: 2000 });
      const others = UNREGISTERED.has(rule) ? "skipped" : "passed";
      const told = results.map(({ rule: tried, status, message }) =>
        tried === rule || status === others ? `${tried} ${status}` : `${tried} ${status}: ${message}`,
      );
      assert.deepEqual(
        told,
        results.map(({ rule: tried }) => `${tried} ${tried === rule ? "failed" : others}`),
      );
      assert.match(results.find((result) => result.rule === rule).message, REASONS[rule]);
    }),
  );
  await Promise.all(tests);
});
