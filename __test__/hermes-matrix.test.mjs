// docs/testing/hermes-new-session-matrix.md: each of its rows, as a host runs it.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { LifecycleProjector, statusReport } from "agent-lifecycle";
import { hermesLifecycle, routingDecision } from "agent-lifecycle/hermes";
import { rows } from "./support/markdown.mjs";

const page = fs.readFileSync(
  path.join(import.meta.dirname, "../docs/testing/hermes-new-session-matrix.md"),
  "utf8",
);
const MODELS = { Opus: "anthropic/claude-opus-4.7", GPT: "openai/gpt-5.2" };
const APPEARS = "the child appears and is projected";
const NONE = "no child event, and the display says so";

/** A host with a harness that runs a model, and perhaps a profile for it. */
function host(model, selection, profile) {
  const projector = new LifecycleProjector();
  const hermes = hermesLifecycle({ source: "hermes/1", sourceEpoch: "1" });
  const harness = { model };
  const asked = [];
  const self = {
    harness,
    asked,
    profile,
    produced: [],
    projector,
    /** What Hermes says of a child. */
    hear(type, child_id, second, rest) {
      const observed_at = `2026-05-17T12:00:0${second}Z`;
      const { events } = hermes.push({
        type: `subagent.${type}`,
        child_id,
        session_id: "s",
        observed_at,
        ...rest,
      });
      self.produced.push(...events);
      for (const event of events) assert.equal(projector.apply(event).status, "applied");
    },
    /** Asks the guard, and delegates only where it allows that. */
    dispatch(child) {
      const question = { runtimeModel: harness.model, selection, profile: self.profile };
      const before = structuredClone(question);
      const decision = routingDecision(question);
      assert.deepEqual(question, before, "the guard changes nothing");
      asked.push(decision);
      if (decision.mayDelegate) {
        self.hear("spawn_requested", child, 0, { goal: "List the files" });
        self.hear("start", child, 1);
      }
      return decision;
    },
    display: () => statusReport(projector.list(), { now: "2026-05-17T12:00:10Z", evidence: true }),
  };
  return self;
}

const MATRIX = Object.keys(MODELS).flatMap((model) =>
  ["explicit", "implicit"].flatMap((selection) => [
    [model, selection, "with", "`MATCH`", "yes", APPEARS],
    [model, selection, "without", "`UNPROFILED`", "no", NONE],
  ]),
);
const REMOVAL = [
  "Opus",
  "explicit",
  "removed",
  "`MATCH`, then `UNPROFILED`",
  "yes, then no",
  "the child of before goes on, the model is unchanged, and the next dispatch asks again",
];

test("the rows of the page are the tests of this file", () => {
  const [table] = page.split("\n## ");
  const expected = [...MATRIX, REMOVAL].map((row, at) => [`${at + 1}`, ...row]);
  assert.deepEqual(rows(table), expected);
  assert.equal(expected.length, 9);
});

for (const [at, [name, selection, profiled, guard, allowed]] of MATRIX.entries()) {
  test(`row ${at + 1}: ${name}, ${selection}, ${profiled} a profile`, () => {
    const model = MODELS[name];
    const session = host(model, selection, profiled === "with" ? { model } : undefined);
    const decision = session.dispatch("c");
    assert.equal(`\`${decision.status}\``, guard);
    assert.equal(decision.mayDelegate, allowed === "yes");
    assert.equal(session.harness.model, model);
    if (profiled === "with") {
      session.hear("complete", "c", 2, { status: "completed" });
      assert.deepEqual(
        session.projector.list().map((row) => [row.childId, row.state, row.title]),
        [["c@s", "completed", "List the files"]],
      );
      assert.match(session.display(), /^- completed: c@s$/m);
    } else {
      assert.deepEqual(session.produced, []);
      assert.deepEqual(session.projector.list(), []);
      assert.equal(session.display().trim(), "No child is known.");
      const who = selection === "explicit" ? "explicitly selected" : "configured";
      assert.equal(decision.reason, `the ${who} runtime model has no routing profile`);
    }
  });
}

test("row 9: a profile is removed", () => {
  const model = MODELS.Opus;
  const session = host(model, "explicit", { model });
  assert.equal(session.dispatch("c").status, "MATCH");
  session.profile = undefined;
  const produced = session.produced.length;
  assert.equal(session.dispatch("d").status, "UNPROFILED");
  assert.equal(session.asked.length, 2, "each dispatch asks");
  assert.equal(session.produced.length, produced, "no event of a child that was not delegated");
  assert.equal(session.harness.model, model);
  // The child of before is nobody's to end.
  assert.deepEqual(
    session.projector.list().map((row) => [row.childId, row.state]),
    [["c@s", "running"]],
  );
  session.hear("complete", "c", 2, { status: "completed" });
  assert.equal(session.projector.list()[0].state, "completed");
});

test("a profile of another model is no match, and only an exact one is", () => {
  for (const profile of [
    "anthropic/claude-opus-4.6",
    "Anthropic/claude-opus-4.7",
    "anthropic/claude-opus-4.7 ",
    "",
  ]) {
    for (const selection of ["explicit", "implicit"]) {
      for (const given of [profile, { model: profile }]) {
        const { status, mayDelegate } = routingDecision({
          runtimeModel: MODELS.Opus,
          selection,
          profile: given,
        });
        assert.deepEqual([status, mayDelegate], ["MISMATCH", false], profile);
      }
    }
  }
  assert.equal(
    routingDecision({ runtimeModel: null, selection: "implicit", profile: MODELS.GPT }).status,
    "MISMATCH",
  );
  assert.equal(routingDecision({ selection: "implicit", profile: null }).status, "UNPROFILED");
});

test("white space is no name", () => {
  for (const blank of ["", " ", "\u00a0", "\ufeff", "\u2028"]) {
    const { status, mayDelegate } = routingDecision({
      runtimeModel: blank,
      selection: "implicit",
      profile: blank,
    });
    assert.deepEqual([status, mayDelegate], ["MISMATCH", false], JSON.stringify(blank));
  }
});

test("a refusal of the guard repeats no secret", () => {
  const question = {
    selection: "explicit",
    get runtimeModel() {
      throw new Error("password=hunter22222");
    },
  };
  assert.throws(() => routingDecision(question), { message: /^question cannot be read: (?!.*hunter)/u });
});

for (const [what, question, code] of [
  ["nothing", undefined, "invalid_argument"],
  ["no selection", { runtimeModel: "m" }, "invalid_argument"],
  ["another selection", { runtimeModel: "m", selection: "default" }, "invalid_argument"],
  ["a model that is no text", { runtimeModel: 5, selection: "explicit" }, "invalid_argument"],
  [
    "a profile without a model",
    { runtimeModel: "m", selection: "explicit", profile: {} },
    "invalid_argument",
  ],
  [
    "a lone surrogate, which another would match",
    { runtimeModel: "\ud800x", selection: "explicit", profile: "\udc00x" },
    "invalid_argument",
  ],
  [
    "a profile with a lone surrogate",
    { runtimeModel: "\ufffdx", selection: "explicit", profile: { model: "\udc00x" } },
    "invalid_argument",
  ],
  [
    "a getter that throws",
    {
      runtimeModel: "m",
      selection: "explicit",
      profile: {
        get model() {
          throw new Error("broken");
        },
      },
    },
    "invalid_argument",
  ],
  ["a misspelt member", { runtimeModel: "m", selection: "explicit", profil: "m" }, "invalid_option"],
]) {
  test(`the guard refuses ${what}`, () => {
    assert.throws(() => routingDecision(question), { name: "LifecycleError", code });
  });
}
