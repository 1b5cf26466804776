// The check of agent events: the product of kinds, members and values against the rules as a table, and values that lie.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { LifecycleError, assertAgentLifecycleEvent, validateAgentLifecycleEvent } from "agent-lifecycle";
import { KINDS, MODEL, NAMES, VALUES, expectedIssues, sample } from "./support/agent-table.mjs";

/** The verdict as `path code` lines. */
function issuesOf(value) {
  const result = validateAgentLifecycleEvent(value);
  if (result.ok) {
    assert.equal(result.value, value);
    assert.deepEqual(Object.keys(result), ["ok", "value"]);
    return [];
  }
  assert.deepEqual(Object.keys(result), ["ok", "issues"]);
  assert.ok(result.issues.length > 0);
  for (const issue of result.issues) {
    assert.deepEqual(Object.keys(issue), ["path", "code", "message"]);
    assert.ok(issue.message.length > 0);
  }
  return result.issues.map(({ path, code }) => `${path} ${code}`);
}

/** How often each code occurred for each kind. */
const seen = new Map();

function checkValue(value) {
  const found = issuesOf(value);
  assert.deepEqual(found, expectedIssues(value));
  const ofKind = seen.get(value.kind) ?? new Map();
  seen.set(value.kind, ofKind);
  for (const line of found.length === 0 ? ["valid"] : found) {
    const code = line.split(" ").at(-1);
    ofKind.set(code, (ofKind.get(code) ?? 0) + 1);
  }
}

test("every kind, with every member of any kind, holding every value", () => {
  let cases = 0;
  for (const kind of KINDS.keys()) {
    for (const whole of [false, true]) {
      for (const name of [...NAMES, "id", "more"]) {
        for (const value of VALUES) {
          checkValue({ ...sample(kind, whole), [name]: value });
          cases += 1;
        }
        const { [name]: _, ...without } = sample(kind, whole);
        checkValue(without);
        cases += 1;
      }
    }
  }
  assert.equal(cases, 12 * 2 * (NAMES.length + 2) * (VALUES.length + 1));
});

test("every member of a model, holding every value", () => {
  for (const [kind, members] of KINDS) {
    if (!members.some(({ name }) => name === "model")) continue;
    for (const name of [...MODEL.map((member) => member.name), "more", "kind"]) {
      for (const value of VALUES) {
        checkValue({ kind, ...sample(kind), model: { id: "m", [name]: value } });
      }
    }
    checkValue({ ...sample(kind), model: { displayName: "M" } });
  }
});

test("each code occurred for each kind that can have it", () => {
  const ofMember = {
    outcome: "invalid_outcome",
    state: "invalid_state",
    exitCode: "invalid_exit_code",
    model: "invalid_number",
  };
  for (const [kind, members] of KINDS) {
    const codes = new Set(["valid", "unknown_field", "invalid_timestamp", "invalid_string"]);
    for (const { name } of members) if (ofMember[name]) codes.add(ofMember[name]);
    if (codes.has("invalid_number")) codes.add("invalid_type");
    assert.deepEqual([...seen.get(kind).keys()].toSorted(), [...codes].toSorted(), kind);
    for (const [code, count] of seen.get(kind)) assert.ok(count >= 40, `${kind} ${code}: ${count}`);
  }
});

test("only the twelve kinds are kinds, and without one nothing else is judged", () => {
  const others = [
    "",
    "Session.started",
    "session.started ",
    "agent",
    "toString",
    "__proto__",
    "agent.waiting",
  ];
  for (const kind of [...VALUES, ...others]) {
    assert.deepEqual(issuesOf({ kind, more: 1, occurredAt: "now" }), ["$.kind invalid_event"]);
  }
  assert.deepEqual(issuesOf({}), ["$.kind invalid_event"]);
});

test("what is no object is no event", () => {
  for (const value of VALUES) {
    if (Object.prototype.toString.call(value) === "[object Object]") continue;
    assert.deepEqual(issuesOf(value), ["$ invalid_type"]);
  }
});

test("all issues of any members, in any order of the members", () => {
  const member = fc.tuple(
    fc.constantFrom(...NAMES, "more", "toJSON", "constructor", "7", "__proto__"),
    fc.oneof(
      fc.constantFrom(...VALUES),
      fc.string({ unit: "binary", minLength: 1, maxLength: 100 }),
      fc.dictionary(fc.constantFrom(...MODEL.map(({ name }) => name), "x"), fc.constantFrom(...VALUES)),
    ),
  );
  const events = fc
    .tuple(
      fc.constantFrom(...KINDS.keys()),
      fc.boolean(),
      fc.array(member, { maxLength: 8 }),
      fc.infiniteStream(fc.nat()),
    )
    .map(([kind, whole, members, order]) => {
      const entries = [...Object.entries(sample(kind, whole)), ...members];
      const ranked = entries.map((entry) => [order.next().value, entry]).toSorted(([a], [b]) => a - b);
      const event = {};
      for (const [, [name, value]] of ranked) {
        const descriptor = { value, enumerable: true, configurable: true, writable: true };
        Object.defineProperty(event, name, descriptor);
      }
      return event;
    });
  let faulty = 0;
  fc.assert(
    fc.property(events, (event) => {
      // The kind may have been given twice; the last one counts.
      const found = issuesOf(event);
      assert.deepEqual(found, expectedIssues(event));
      if (found.length > 2) faulty += 1;
    }),
    { numRuns: 4000, seed: 7 },
  );
  assert.ok(faulty > 1000, `${faulty} events had more than two faults`);
});

test("any value at all gets a verdict", () => {
  fc.assert(
    fc.property(
      fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
      (value) => {
        assert.deepEqual(issuesOf(value), expectedIssues(value));
        assert.deepEqual(
          issuesOf({ kind: "session.started", model: value }),
          expectedIssues({ kind: "session.started", model: value }),
        );
      },
    ),
    { numRuns: 3000, seed: 7 },
  );
});

test("an event is judged by its own enumerable members, each read once", () => {
  let reads = 0;
  const getter = {
    kind: "session.stopped",
    get reason() {
      reads += 1;
      return "because";
    },
  };
  assert.deepEqual(issuesOf(getter), []);
  assert.equal(reads, 1);

  assert.deepEqual(issuesOf(Object.create({ kind: "session.stopped" })), ["$.kind invalid_event"]);
  const hidden = Object.defineProperty({ kind: "agent.done" }, "outcome", { value: "success" });
  assert.deepEqual(issuesOf(hidden), ["$.outcome invalid_outcome"]);
  assert.deepEqual(issuesOf({ kind: "session.stopped", [Symbol("more")]: 1 }), []);
  assert.deepEqual(issuesOf(Object.assign(Object.create(null), sample("agent.done"))), []);
  class Done {
    kind = "agent.done";
    outcome = "error";
    toJSON() {
      return {};
    }
  }
  assert.deepEqual(issuesOf(new Done()), []);
  assert.deepEqual(issuesOf(Object.freeze(sample("wait.started", true))), []);
  assert.deepEqual(issuesOf(JSON.parse('{"kind": "session.stopped", "__proto__": {"reason": "x"}}')), [
    "$.__proto__ unknown_field",
  ]);
});

function thrower() {
  throw new Error("hostile");
}

test("cycles, depth and what throws when it is read end as issues", () => {
  const cycle = { kind: "session.started" };
  cycle.model = cycle;
  assert.deepEqual(issuesOf(cycle), [
    "$.model.kind unknown_field",
    "$.model.model unknown_field",
    "$.model.id invalid_string",
  ]);
  let deep = "x";
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  assert.deepEqual(issuesOf({ kind: "session.stopped", reason: deep }), ["$.reason invalid_string"]);

  const member = Object.defineProperty({ kind: "session.stopped" }, "reason", {
    get: thrower,
    enumerable: true,
  });
  assert.deepEqual(issuesOf(member), ["$.reason invalid_string"]);
  const kind = Object.defineProperty({}, "kind", { get: thrower, enumerable: true });
  assert.deepEqual(issuesOf(kind), ["$.kind invalid_event"]);
  for (const trap of ["ownKeys", "getOwnPropertyDescriptor", "get"]) {
    const hostile = new Proxy({ id: "m" }, { [trap]: thrower });
    assert.equal(issuesOf(hostile).length, 1, trap);
    assert.equal(issuesOf({ kind: "session.started", model: hostile }).length, 1, trap);
  }
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  assert.deepEqual(issuesOf(proxy), ["$ invalid_type"]);
  assert.deepEqual(issuesOf({ kind: "session.started", model: proxy }), ["$.model invalid_type"]);
  assert.deepEqual(issuesOf(new Proxy(sample("agent.done", true), {})), []);
});

test("a hostile value costs a bounded number of issues", () => {
  const many = { kind: "session.stopped", reason: "" };
  for (let n = 0; n < 100_000; n += 1) many[`k${n}`] = "hunter2-hunter2";
  const { issues } = validateAgentLifecycleEvent(many);
  assert.equal(issues.length, 256 + 1 + 1);
  assert.deepEqual(issues.at(-2), {
    path: "$",
    code: "unknown_field",
    message: "has 99744 more members that are none of session.stopped",
  });
  assert.equal(issues.at(-1).path, "$.reason");
  assert.ok(!JSON.stringify(issues).includes("hunter2"));

  const huge = "x".repeat(2 ** 24);
  assert.deepEqual(issuesOf({ kind: "turn.started", turnId: huge, promptText: huge }), [
    "$.turnId invalid_string",
    "$.promptText invalid_string",
  ]);
  const [{ path }] = validateAgentLifecycleEvent({ kind: "session.stopped", ["k".repeat(10_000)]: 1 }).issues;
  assert.equal(path.length, "$.".length + 256);
});

test("assert gives the same object, or an error with every issue", () => {
  const event = sample("tool.started", true);
  assert.equal(assertAgentLifecycleEvent(event), event);
  const bad = { kind: "agent.done", more: "hunter2-hunter2", summary: "" };
  assert.throws(
    () => assertAgentLifecycleEvent(bad),
    (error) => {
      assert.ok(error instanceof LifecycleError);
      const { issues } = validateAgentLifecycleEvent(bad);
      assert.deepEqual(error.issues, issues);
      assert.equal(error.message, issues.map(({ path, message }) => `${path}: ${message}`).join("; "));
      assert.equal(error.code, "unknown_field");
      assert.equal(error.path, "$.more");
      assert.equal(
        error.message,
        "$.more: is no member of agent.done; $.outcome: is missing and must be success, error or cancelled; " +
          "$.summary: must be text of 1 to 4096 UTF-16 code units",
      );
      return true;
    },
  );
});
