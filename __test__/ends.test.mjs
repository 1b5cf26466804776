// What a new user got wrong with the ends of streams and the arguments of helpers.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import {
  JsonlLifecycleParser,
  LifecycleError,
  LifecycleProjector,
  bindAgentSession,
  createAgentLifecyclePublisher,
  createJsonlRecordDecoder,
  validateAgentLifecycleEvent,
} from "agent-lifecycle";
import { event } from "./support/events.mjs";

const require = createRequire(import.meta.url);

test("bytes after the end go on with the line: no value comes out that is in no line", () => {
  for (const [before, after, values] of [
    ["[1,", '{"type":"inner"}]\n', [[1, { type: "inner" }]]],
    ["1\n2", "3\n", [23]],
    ['{"n":1', "2}\n", [{ n: 12 }]],
    ["1\n", "2\n", [2]],
  ]) {
    const decoder = createJsonlRecordDecoder();
    decoder.push(before);
    decoder.end();
    decoder.end();
    assert.deepEqual(decoder.push(after), values);
    assert.deepEqual(decoder.stats().dropped, { malformed: 0, oversize: 0, invalidUtf8: 0, tooDeep: 0 });
  }
  const parser = new JsonlLifecycleParser();
  const text = `${JSON.stringify(event())}\n`;
  parser.push(text.slice(0, 20));
  assert.deepEqual(
    parser.end().diagnostics.map(({ code }) => code),
    ["truncated"],
  );
  assert.equal(parser.push(text.slice(20)).length, 1);
});

test("a projector's stream that was ended is over: what comes next is another one", () => {
  const projector = new LifecycleProjector();
  assert.equal(projector.applyJsonl('{"torn', { end: true }).diagnostics[0].code, "truncated");
  const next = projector.applyJsonl(`${JSON.stringify(event())}\n`);
  assert.deepEqual(next.results, { applied: 1 });
});

test("a chunk's type in the place of reset is refused, and nothing is forgotten", () => {
  const decoder = createJsonlRecordDecoder();
  decoder.push('{"a":');
  assert.throws(() => decoder.push("1}\n", "append"), { code: "invalid_argument", path: "reset" });
  assert.deepEqual(decoder.push("1}\n", false), [{ a: 1 }]);
  for (const options of ["5", null, true]) {
    assert.throws(() => createJsonlRecordDecoder(options), { code: "invalid_argument", path: "options" });
  }
});

test("a helper takes no promise, map or date for an event that says nothing", () => {
  const seen = [];
  const publisher = createAgentLifecyclePublisher((said) => void seen.push(said));
  for (const odd of [
    Promise.resolve({}),
    new Error("died"),
    new Map(),
    new Date(),
    /x/,
    Buffer.alloc(0),
    [],
    new String(""),
  ]) {
    assert.throws(() => publisher.exited(odd), { code: "invalid_type", path: "$" }, String(odd));
  }
  assert.deepEqual(seen, []);
  publisher.exited();
  publisher.exited(Object.assign(Object.create(null), { exitCode: 1 }));
  assert.deepEqual(seen, [{ kind: "agent.exited" }, { kind: "agent.exited", exitCode: 1 }]);
  assert.throws(() => createAgentLifecyclePublisher(() => {}, null), {
    code: "invalid_argument",
    path: "options",
  });
});

test("a name that came from the caller moves no cursor in a message", () => {
  const { issues } = validateAgentLifecycleEvent({ kind: "session.started", "\u001b[31m\nfake": 1 });
  assert.deepEqual(JSON.stringify(issues).match(/\\u001b|\\n/g), null);
});

test("a chunk is what the engine says of it, whatever its class says", () => {
  class Odd extends Uint8Array {
    constructor(source) {
      super(source);
      this.isOdd = true;
    }
  }
  const lines = '{"n":1}\n'.repeat(12_500);
  assert.equal(createJsonlRecordDecoder().push(new Odd(Buffer.from(lines))).length, 12_500);
  const hidden = new Uint8Array(new SharedArrayBuffer(8));
  Object.defineProperty(hidden, "buffer", { value: new ArrayBuffer(8) });
  assert.throws(() => createJsonlRecordDecoder().push(hidden), { code: "invalid_chunk" });
});

test("calls from within a push and foreign errors give no wrong value, and are told", (t) => {
  const parse = JSON.parse;
  t.after(() => (JSON.parse = parse));
  const other = createJsonlRecordDecoder();
  let isBusy = false;
  JSON.parse = (text, ...rest) => {
    const value = parse(text, ...rest);
    if (!isBusy) {
      isBusy = true;
      other.push(`${String(text).length}\n1\n`);
      isBusy = false;
    }
    return value;
  };
  assert.deepEqual(createJsonlRecordDecoder().push("1\n22\n333\n4444\n"), [1, 22, 333, 4444]);

  const decoder = createJsonlRecordDecoder();
  JSON.parse = (text, ...rest) => {
    if (text === "2") throw new Error("foreign");
    return parse(text, ...rest);
  };
  assert.throws(() => decoder.push("1\n2\n3\n"), /foreign/);
  JSON.parse = parse;
  assert.throws(() => decoder.push("4\n"), { code: "torn_stream" });
  decoder.reset();
  assert.deepEqual(decoder.push("5\n"), [5]);
});

test("a refusal that is of another realm, as under Jest, is a LifecycleError too", () => {
  const { fromNative } = require("../dist/native.js");
  const script = `Object.assign(new TypeError("no"), { name: "LifecycleError", code: "invalid_id", path: "$.a" })`;
  const foreign = runInNewContext(script);
  assert.ok(!(foreign instanceof TypeError));
  const error = fromNative(foreign);
  assert.ok(error instanceof LifecycleError);
  assert.deepEqual([error.code, error.path, error.message], ["invalid_id", "$.a", "no"]);
  for (const other of [undefined, null, "text", new RangeError("mine")])
    assert.equal(fromNative(other), other);
});

test("a binding holds what was checked, and nothing more", () => {
  const handle = new (class {
    get id() {
      return "j";
    }
  })();
  const file = new (class {
    get path() {
      return "/x";
    }
  })();
  const request = { providerSessionId: "p", mappingVersion: "1", journal: handle };
  const bound = bindAgentSession({ ...request, evidence: { file } });
  assert.deepEqual([bound.journal, bound.evidence], [{ id: "j" }, { file: { path: "/x" } }]);
  const { evidence } = bindAgentSession({ ...request, evidence: { process } });
  assert.deepEqual(evidence, { process: { pid: process.pid } });
});
