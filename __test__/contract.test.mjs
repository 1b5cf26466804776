// The contract through the addon: what a value is normalised to, and that a value and its bytes get the same verdict.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { JsonlLifecycleParser, LifecycleError, normalizeLifecycleEvent, redact } from "agent-lifecycle";
import { event, note } from "./support/events.mjs";

const refusal = (value) => {
  try {
    normalizeLifecycleEvent(value);
  } catch (error) {
    assert.ok(error instanceof LifecycleError, String(error));
    return error;
  }
  assert.fail("nothing was thrown");
};

test("an event is normalised: ids trimmed, unknown members dropped, capabilities filled in", () => {
  const given = event({
    eventId: " \u2028e1\n",
    more: 1,
    observedAt: "2026-05-17T22:29:21.5+00:00",
    capabilities: { cancel: "known", more: 1 },
  });
  assert.deepEqual(normalizeLifecycleEvent(given), {
    ...event({ observedAt: "2026-05-17T22:29:21.5Z" }),
    capabilities: {
      history: "unknown",
      heartbeat: "unknown",
      snapshot: "unknown",
      cancel: "known",
      terminalCause: "unknown",
    },
  });
});

test("a value is judged as its JSON", () => {
  const at = new Date("2026-05-17T22:29:21.000Z");
  assert.equal(normalizeLifecycleEvent(event({ observedAt: at })).observedAt, at.toISOString());
  const own = Object.defineProperty(event(), "toJSON", { value: () => event({ childId: "other" }) });
  assert.equal(normalizeLifecycleEvent(own).childId, "other");
  for (const [value, code] of [
    [undefined, "invalid_event"],
    [() => 1, "invalid_event"],
    [Symbol("x"), "invalid_event"],
    [{ ...event(), details: { big: 1n } }, "invalid_event"],
    [Object.assign(event(), { details: null }), "invalid_details"],
    [{ ...event(), sequence: Number.NaN }, "invalid_sequence"],
    [[event()], "invalid_event"],
  ]) {
    assert.equal(refusal(value).code, code);
  }
  const cycle = event();
  cycle.details = { cycle };
  assert.equal(refusal(cycle).code, "invalid_event");
  let deep = [];
  for (let level = 0; level < 600; level += 1) deep = [deep];
  assert.equal(refusal({ ...event(), deep }).code, "too_deep");
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  assert.equal(refusal({ ...event(), deep }).code, "too_deep");
});

test("details keep every key that JSON can hold, and no secret", () => {
  const details = JSON.parse(
    '{"__proto__": {"a": 1}, "constructor": 2, "10": 3, "2": 4, "password": "hunter2hunter2", "tokens": 5}',
  );
  const normal = normalizeLifecycleEvent(event({ details })).details;
  assert.deepEqual(Object.keys(normal), Object.keys(details));
  assert.deepEqual(Object.getOwnPropertyDescriptor(normal, "__proto__").value, { a: 1 });
  assert.equal(normal.password, "[REDACTED]");
  assert.equal(normal.tokens, 5);
});

test("a refusal never repeats the value that was refused", () => {
  const secret = "hunter2-hunter2";
  for (const member of [
    "schemaVersion",
    "kind",
    "state",
    "observedAt",
    "waitingReason",
    "sequence",
    "lineage",
  ]) {
    const error = refusal({ ...event(), [member]: secret });
    assert.ok(!JSON.stringify(error).includes(secret), error.message);
  }
});

// Values that lie at or beyond the borders of some rule.
const odd = fc.oneof(
  fc.constantFrom(null, true, false, 0, -0, -1, 1.5, 1e21, 2 ** 53 - 1, 2 ** 53, [], {}, [[]], { a: [] }),
  fc.constantFrom(
    "",
    " ",
    "known",
    "unknown",
    "created",
    "running",
    "waiting",
    "completed",
    "prompt",
    "other",
  ),
  fc.constantFrom(
    "a\0b",
    "\ud83d",
    "\udc00x",
    "😀",
    "x".repeat(512),
    "x".repeat(513),
    "é".repeat(256),
    "é".repeat(257),
  ),
  fc.constantFrom(
    "2026-02-30T00:00:00Z",
    "2026-02-28T00:00:00+00:00",
    "2026-02-28T23:59:60Z",
    "2026-02-28T00:00:00.1234567890Z",
  ),
  fc.constantFrom(
    "state_changed",
    "activity",
    "heartbeat",
    "terminal",
    "reconciliation",
    "diagnostic",
    "@source",
  ),
  fc.constantFrom(
    { history: "known" },
    { history: "maybe" },
    { rootChildId: "r", attempt: 1, external: true },
  ),
  fc.constantFrom(
    { token: "abc" },
    { text: "Authorization: Bearer abcdefgh12345678" },
    { n: [1e300, 1e-7, 123456789012345680000] },
  ),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.jsonValue({ maxDepth: 4 }),
);
const OPTIONAL = ["waitingReason", "sequence", "activity", "details", "capabilities", "unknown"];
const MEMBERS = Object.keys(event()).concat(OPTIONAL);
const nearlyEvents = fc
  .tuple(
    fc.constantFrom(event(), note("e2", "heartbeat"), event({ kind: "state_changed", state: "waiting" })),
    fc.array(fc.tuple(fc.constantFrom(...MEMBERS), odd), { maxLength: 3 }),
    fc.option(
      fc.tuple(fc.constantFrom("rootChildId", "parentChildId", "attempt", "external", "adoptedAt"), odd),
    ),
  )
  .map(([base, changes, nested]) => {
    const value = { ...base, ...Object.fromEntries(changes) };
    if (nested && value.lineage && typeof value.lineage === "object") {
      value.lineage = { ...value.lineage, [nested[0]]: nested[1] };
    }
    return value;
  });

/** What the bytes are: the event, or the fault as one line. */
function ofBytes(text) {
  const parser = new JsonlLifecycleParser();
  const [record] = parser.push(`${text}\n`);
  if (record !== undefined) return record;
  const [{ code, message }] = parser.diagnostics;
  return code === "invalid_event" ? message : code;
}

/** What the value is, in the same words. */
function ofValue(value) {
  try {
    return normalizeLifecycleEvent(value);
  } catch (error) {
    return error.code === "too_deep" ? "too_deep" : `${error.path}: ${error.message}`;
  }
}

test("a value and its bytes get the same verdict", () => {
  const seen = new Map();
  fc.assert(
    fc.property(nearlyEvents, (value) => {
      const text = JSON.stringify(value);
      const verdict = ofBytes(text);
      assert.deepStrictEqual(ofValue(JSON.parse(text)), verdict);
      assert.deepStrictEqual(ofValue(value), verdict);
      if (typeof verdict === "object") {
        // Normalising again changes nothing.
        assert.deepStrictEqual(normalizeLifecycleEvent(verdict), verdict);
      }
      const word = typeof verdict === "string" ? verdict.split(":")[0] : "accepted";
      seen.set(word, (seen.get(word) ?? 0) + 1);
    }),
    { numRuns: 6000, seed: 42 },
  );
  const expected = [
    "accepted",
    "$.schemaVersion",
    "$.eventId",
    "$.source",
    "$.sourceEpoch",
    "$.childId",
    "$.lineage",
  ];
  expected.push(
    "$.kind",
    "$.state",
    "$.waitingReason",
    "$.observedAt",
    "$.sequence",
    "$.activity",
    "$.details",
  );
  expected.push("$.capabilities", "$.lineage.rootChildId", "$.lineage.attempt", "$.lineage.external");
  for (const word of expected)
    assert.ok((seen.get(word) ?? 0) >= 5, `${word} occurred ${seen.get(word)} times`);
});

test("bytes that only JSON text can hold are judged as JSON.parse reads them", () => {
  const text = JSON.stringify(event()).slice(1, -1);
  for (const [more, check] of [
    ['"sequence":1.0', (e) => assert.equal(e.sequence, 1)],
    ['"sequence":1e0', (e) => assert.equal(e.sequence, 1)],
    ['"sequence":1e999', (e) => assert.match(e, /^\$\.sequence/)],
    ['"details":{"n":1e999,"m":-0.0}', (e) => assert.deepEqual(e.details, { n: null, m: 0 })],
    ['"details":{"a":1,"a":2}', (e) => assert.deepEqual(e.details, { a: 2 })],
    ['"sequence":"x","sequence":3', (e) => assert.equal(e.sequence, 3)],
    ['"activity":"a\\ud83d"', (e) => assert.equal(e.activity, "a\ufffd")],
    ['"details":{"\\ud83d":"\\udc00 ok"}', (e) => assert.deepEqual(e.details, { "\ufffd": "\ufffd ok" })],
    ['"unknown":{"\\ud83d":1e999}', (e) => assert.equal(e.eventId, "e1")],
    ['"\\u0065ventId":"e9"', (e) => assert.equal(e.eventId, "e9")],
    ['"eventId":"a\\ud83d"', (e) => assert.match(e, /^\$\.eventId: eventId has a lone surrogate/)],
  ]) {
    const line = `{${text},${more}}`;
    const verdict = ofBytes(line);
    check(verdict);
    assert.deepStrictEqual(ofValue(JSON.parse(line)), verdict, line);
  }
});

test("redact hides by name, by text and by registration, in any JSON value", () => {
  assert.equal(redact("key sk-abcdefghij1234567890ABCD end").includes("sk-abc"), false);
  const value = { password: "open sesame", tokens: 12, list: ["my-registered-secret inside"] };
  assert.deepEqual(redact(value, { secrets: ["my-registered-secret"] }), {
    password: "[REDACTED]",
    tokens: 12,
    list: ["[REDACTED] inside"],
  });
  assert.equal(value.password, "open sesame");
  const named = {
    "my-registered-secret": 1,
    a: { "x my-registered-secret": [{ "my-registered-secret": 2 }] },
  };
  assert.deepEqual(redact(named, { secrets: ["my-registered-secret"] }), {
    "[REDACTED]": 1,
    a: { "x [REDACTED]": [{ "[REDACTED]": 2 }] },
  });
  for (const text of ["token=${TOKEN}", 'fetch(url, {credentials: "include"})', "token: refresh race"]) {
    assert.equal(redact(text), text);
  }
  assert.throws(() => redact("x", { secrets: ["short"] }), { code: "invalid_option", path: "secrets[0]" });
  assert.throws(() => redact("x", { secrets: "longer than eight" }), {
    code: "invalid_argument",
    path: "secrets",
  });
  assert.throws(() => redact("x", { secrets: [5] }), { code: "invalid_argument", path: "secrets[0]" });
  assert.throws(() => redact(undefined), { code: "invalid_value" });
  let deep = "password=hunter2hunter2";
  for (let level = 0; level < 500; level += 1) deep = [deep];
  assert.ok(!JSON.stringify(redact(deep)).includes("hunter2"));
});
