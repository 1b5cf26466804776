// The publisher: what reaches the sink, what comes back, and what is cut to fit.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { LifecycleError, createAgentLifecyclePublisher, validateAgentLifecycleEvent } from "agent-lifecycle";
import { KINDS, MODEL, RULES, expectedIssues, sample } from "./support/agent-table.mjs";

const HELPERS = {
  sessionStarted: "session.started",
  metadataChanged: "agent.metadata",
  turnStarted: "turn.started",
  toolStarted: "tool.started",
  toolFinished: "tool.finished",
  waitStarted: "wait.started",
  waitFinished: "wait.finished",
  done: "agent.done",
  exited: "agent.exited",
  sessionStopped: "session.stopped",
  subagentStarted: "subagent.started",
  subagentDone: "subagent.done",
};

/** A publisher and the events that reached its sink. */
function recorder(options) {
  const events = [];
  const publisher = createAgentLifecyclePublisher((event) => {
    events.push(event);
  }, options);
  return { publisher, events };
}

test("there is a helper for each kind, and publish", () => {
  const { publisher } = recorder();
  assert.deepEqual(Object.keys(publisher).toSorted(), ["publish", ...Object.keys(HELPERS)].toSorted());
  assert.deepEqual(Object.values(HELPERS).toSorted(), [...KINDS.keys()].toSorted());
});

for (const [helper, kind] of Object.entries(HELPERS)) {
  test(`${helper} publishes ${kind}, detached, whatever kind it is given`, () => {
    for (const options of [undefined, {}, { fit: false }, { fit: true }]) {
      const { publisher, events } = recorder(options);
      const { [helper]: detached, publish } = publisher;
      const whole = sample(kind, true);
      const { kind: _, ...given } = whole;
      assert.equal(detached(given), undefined);
      detached({ ...given, kind: "agent.done" });
      detached({ ...given, kind: undefined });
      publish(whole);
      assert.deepEqual(events, [whole, whole, whole, whole]);
      assert.equal(events[3], whole, "publish hands on the same object");
      for (const event of events) assert.equal(Object.keys(event)[0], "kind");
      assert.deepEqual(
        given,
        Object.fromEntries(Object.entries(whole).slice(1)),
        "the argument is untouched",
      );
    }
  });

  test(`${helper} without an argument is ${kind} alone`, () => {
    const { publisher, events } = recorder();
    const [fault] = expectedIssues({ kind });
    for (const given of [[], [undefined], [{}]]) {
      if (fault === undefined) publisher[helper](...given);
      else assert.throws(() => publisher[helper](...given), { code: fault.split(" ")[1] });
    }
    assert.deepEqual(events, fault === undefined ? [{ kind }, { kind }, { kind }] : []);
  });
}

test("what the sink returned is returned, whatever it is", async () => {
  // oxlint-disable-next-line unicorn/no-thenable -- a sink may return one
  const thenable = { then: (resolve) => resolve(1) };
  const rejecting = Promise.reject(new Error("the sink failed"));
  for (const answer of [undefined, Promise.resolve(), rejecting, thenable, 5, null]) {
    const publisher = createAgentLifecyclePublisher(() => answer);
    assert.equal(publisher.done({ outcome: "success" }), answer);
    assert.equal(publisher.publish(sample("agent.done")), answer);
  }
  await assert.rejects(rejecting, /the sink failed/);
  const own = new RangeError("mine");
  const throwing = createAgentLifecyclePublisher(() => {
    throw own;
  });
  assert.throws(
    () => throwing.exited(),
    (error) => error === own,
  );
});

test("the sink is called with the event alone", () => {
  const calls = [];
  const publisher = createAgentLifecyclePublisher(function (...given) {
    calls.push([this, given.length]);
  });
  publisher.exited({ exitCode: 0 }, "more");
  publisher.publish({ kind: "agent.exited" }, "more");
  assert.deepEqual(calls, [
    [undefined, 1],
    [undefined, 1],
  ]);
});

test("an invalid event is thrown synchronously, with all issues, and never reaches the sink", () => {
  for (const options of [{}, { fit: true }]) {
    const { publisher, events } = recorder(options);
    for (const [run, code] of [
      [() => publisher.done({}), "invalid_outcome"],
      [() => publisher.turnStarted({ turnId: "" }), "invalid_string"],
      [() => publisher.toolStarted({ toolId: "t" }), "invalid_string"],
      [() => publisher.waitStarted({ waitId: "w" }), "invalid_state"],
      [() => publisher.exited({ exitCode: 3_221_225_477 }), "invalid_exit_code"],
      [() => publisher.sessionStarted({ turnId: "t" }), "unknown_field"],
      [() => publisher.sessionStarted({ turnId: undefined }), "unknown_field"],
      [() => publisher.sessionStarted(JSON.parse('{"__proto__": {"title": "x"}}')), "unknown_field"],
      [() => publisher.sessionStarted(null), "invalid_type"],
      [() => publisher.sessionStarted("title"), "invalid_type"],
      [() => publisher.sessionStarted([]), "invalid_type"],
      [() => publisher.publish(undefined), "invalid_type"],
      [() => publisher.publish({ kind: "turn.ended" }), "invalid_event"],
    ]) {
      assert.throws(run, (error) => {
        assert.ok(error instanceof LifecycleError);
        assert.equal(error.code, code);
        assert.equal(error.issues[0].code, code);
        return true;
      });
    }
    assert.throws(
      () => publisher.subagentDone({ more: 1 }),
      (error) => error.issues.length === 3 && error.message.split("; ").length === 3,
    );
    assert.deepEqual(events, []);
  }
});

test("an argument that cannot be read is a LifecycleError too", () => {
  const hostile = new Proxy(
    {},
    {
      ownKeys() {
        throw new Error("hostile");
      },
    },
  );
  const { publisher, events } = recorder();
  for (const run of [() => publisher.exited(hostile), () => publisher.publish(hostile)]) {
    assert.throws(run, (error) => error instanceof LifecycleError && error.code === "invalid_type");
  }
  assert.deepEqual(events, []);
});

test("a sink is a function and fit a boolean", () => {
  for (const sink of [undefined, null, {}, "sink"]) {
    assert.throws(() => createAgentLifecyclePublisher(sink), { code: "invalid_argument", path: "sink" });
  }
  for (const fit of [1, "true", null]) {
    assert.throws(() => createAgentLifecyclePublisher(() => undefined, { fit }), {
      code: "invalid_option",
      path: "fit",
    });
  }
});

test("fit cuts each display text to its limit and no identity", () => {
  const cutMembers = new Set();
  const check = (event, path, rule, place) => {
    const { publisher, events } = recorder({ fit: true });
    const before = structuredClone(event);
    if (rule.most === undefined) {
      assert.throws(() => publisher.publish(event), { code: rule.code });
      assert.deepEqual(events, []);
    } else {
      publisher.publish(event);
      assert.equal(place(events[0]), "x".repeat(rule.most));
      assert.deepEqual(validateAgentLifecycleEvent(events[0]), { ok: true, value: events[0] });
      assert.deepEqual(Object.keys(events[0]), Object.keys(event), "the order of the members is kept");
      cutMembers.add(path);
    }
    assert.deepEqual(event, before, "the caller's event is untouched");
  };
  const long = "x".repeat(5000);
  for (const [kind, members] of KINDS) {
    for (const { name } of members) {
      if (name === "model") {
        for (const member of MODEL) {
          const path = `model.${member.name}`;
          const event = { ...sample(kind, true), model: { id: "m", [member.name]: long } };
          check(event, path, RULES[path], (cut) => cut.model[member.name]);
        }
      } else check({ ...sample(kind, true), [name]: long }, name, RULES[name], (cut) => cut[name]);
    }
  }
  const display = Object.keys(RULES).filter((path) => RULES[path].most !== undefined);
  assert.deepEqual([...cutMembers].toSorted(), display.toSorted());
});

test("fit cuts between characters, and the least that is needed", () => {
  const text = fc.array(fc.constantFrom("a", "é", "😀", "\u0301", "\ud83d", "\ude00"), {
    minLength: 50,
    maxLength: 80,
  });
  fc.assert(
    fc.property(text, (parts) => {
      const signal = parts.join("");
      const { publisher, events } = recorder({ fit: true });
      publisher.exited({ signal });
      const cut = events[0].signal;
      const expected = [];
      let units = 0;
      for (const character of signal) {
        units += character.length;
        if (units > 64) break;
        expected.push(character);
      }
      assert.equal(cut, expected.join(""));
    }),
    { numRuns: 1000, seed: 7 },
  );
});

test("several texts of one event are cut together", () => {
  const { publisher, events } = recorder({ fit: true });
  const long = "x".repeat(5000);
  const model = { id: "m", displayName: long, reasoningEffort: long };
  publisher.sessionStarted({ title: long, promptText: long, model });
  assert.deepEqual(events, [
    {
      kind: "session.started",
      title: long.slice(0, 512),
      promptText: long.slice(0, 4096),
      model: { id: "m", displayName: long.slice(0, 96), reasoningEffort: long.slice(0, 64) },
    },
  ]);
});

test("a text that changes between two reads cannot reach the sink unfit", () => {
  const { publisher, events } = recorder({ fit: true });
  for (const second of ["x".repeat(9000), 5, ""]) {
    let reads = 0;
    const event = {
      kind: "session.stopped",
      get reason() {
        reads += 1;
        return reads === 1 ? "y".repeat(2000) : second;
      },
    };
    if (typeof second === "string" && second !== "") publisher.publish(event);
    else assert.throws(() => publisher.publish(event), { code: "invalid_string" });
  }
  assert.deepEqual(events, [{ kind: "session.stopped", reason: "x".repeat(1024) }]);
});
