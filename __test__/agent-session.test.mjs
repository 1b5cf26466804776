// What a host builds a session from: safe texts, the mapping for a version, a binding, the session, a provider.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  LifecycleError,
  bindAgentSession,
  defineAgentProvider,
  jsonlSession,
  safeAgentString,
  selectAgentMapping,
} from "agent-lifecycle";

test("safeAgentString gives the same string or nothing", () => {
  for (const text of ["a", " ", "a\tb\nc", "é", "😀", "\u200e", "\u00a0", "\u2028", "x".repeat(4096)]) {
    assert.equal(safeAgentString(text), text);
  }
  for (const value of [undefined, null, 5, true, {}, ["a"], Object("a"), { toString: () => "a" }, ""]) {
    assert.equal(safeAgentString(value), undefined);
  }
  assert.equal(safeAgentString("x".repeat(4097)), undefined);
  assert.equal(safeAgentString("abc", 3), "abc");
  assert.equal(safeAgentString("abcd", 3), undefined);
  assert.equal(safeAgentString("😀", 1), undefined);
  assert.equal(safeAgentString("x".repeat(9000), Number.POSITIVE_INFINITY).length, 9000);
  for (const maximum of [0, -1, Number.NaN, "9", null])
    assert.equal(safeAgentString("a", maximum), undefined);
});

test("safeAgentString refuses controls, overrides and lone surrogates, each of them and no other unit", () => {
  for (let unit = 0; unit <= 0xffff; unit += 1) {
    const isControl = (unit <= 0x1f && unit !== 9 && unit !== 10) || (unit >= 0x7f && unit <= 0x9f);
    const isBidirectional = (unit >= 0x202a && unit <= 0x202e) || (unit >= 0x2066 && unit <= 0x2069);
    const isSurrogate = unit >= 0xd800 && unit <= 0xdfff;
    const text = `a${String.fromCharCode(unit)}b`;
    const expected = isControl || isBidirectional || isSurrogate ? undefined : text;
    assert.equal(safeAgentString(text), expected, unit.toString(16));
  }
});

const mappings = (...versions) =>
  versions.map((providerVersion) => ({ providerVersion, value: providerVersion }));

test("selectAgentMapping takes the newest that is not newer, else the oldest", () => {
  for (const [versions, wanted, expected] of [
    [[], "1.0.0", undefined],
    [["1", "2.1", "2.1.143"], "2.1.143", "2.1.143"],
    [["1", "2.1", "2.1.143"], "2.1.142", "2.1"],
    [["1", "2.1", "2.1.143"], "2.0.999", "1"],
    [["1", "2.1", "2.1.143"], "0.9", "1"],
    [["2.1.143", "1", "2.1"], "0.9", "1"],
    [["2.1.143", "1", "2.1"], "99", "2.1.143"],
    // By number, not by text.
    [["9", "10"], "10", "10"],
    [["9", "10"], "9.99.99", "9"],
    [["2.9", "2.10"], "2.10", "2.10"],
    [["1.0.9", "1.0.10"], "1.0.10", "1.0.10"],
    // What follows is ignored, and what is missing is 0.
    [["2", "2.1"], "2.x", "2"],
    [["2.0.0", "2.1"], "2", "2.0.0"],
    [["2.1.0", "2.1.1"], "2.1.0-beta.4+build", "2.1.0"],
    [["2.1.0", "2.1.1"], "2.1.1.9 (Claude Code)", "2.1.1"],
    [["1.2"], "2.", "1.2"],
    [["007", "8"], "7.9", "007"],
    // No version: the newest.
    [["1", "10", "9"], "v2", "10"],
    [["1", "10", "9"], "", "10"],
    [["1", "10", "9"], " 2", "10"],
    [["1", "10", "9"], undefined, "10"],
    [["1", "10", "9"], null, "10"],
    [["1", "10", "9"], "latest", "10"],
    // Beyond what a number holds.
    [["9007199254740992", "9007199254740993"], "9007199254740992", "9007199254740992"],
    [["20260101120000000000", "3"], "20260101120000000001", "20260101120000000000"],
    // A mapping without a version only where there is no other.
    [["next", "2"], "1", "2"],
    [["next", "2"], "3", "2"],
    [["next", "2"], "next", "2"],
    [["next", "later"], "3", "next"],
  ]) {
    const list = Object.freeze(mappings(...versions));
    assert.equal(selectAgentMapping(list, wanted), expected, `${versions.join(", ")} for ${wanted}`);
  }
});

/** The order of versions whose parts are below 4. */
const rank = ([major, minor, patch]) => major * 16 + minor * 4 + patch;

test("selectAgentMapping takes the first of equals and leaves the input alone", () => {
  const equals = [
    { providerVersion: "3", value: "c" },
    { providerVersion: "2.0", value: "a" },
    { providerVersion: "2.0", value: "b" },
    { providerVersion: "2", value: "d" },
  ];
  assert.equal(selectAgentMapping(equals, "2.5"), "a");
  assert.equal(selectAgentMapping(equals.slice(1), "1"), "a");
  assert.equal(selectAgentMapping(equals.slice(1), "?"), "a");
  for (const list of [undefined, {}, "1"]) {
    assert.throws(() => selectAgentMapping(list, "1"), { code: "invalid_argument", path: "mappings" });
  }
  assert.equal(selectAgentMapping([{ providerVersion: "1", value: undefined }, ...equals], "1"), undefined);
  const part = fc.nat({ max: 3 });
  const version = fc.tuple(part, part, part);
  fc.assert(
    fc.property(fc.array(version, { minLength: 1 }), version, (versions, wanted) => {
      const list = versions.map((parts, place) => ({ providerVersion: parts.join("."), value: place }));
      const before = structuredClone(list);
      const fitting = versions.filter((parts) => rank(parts) <= rank(wanted)).map(rank);
      const rankWanted = fitting.length > 0 ? Math.max(...fitting) : Math.min(...versions.map(rank));
      const expected = versions.findIndex((parts) => rank(parts) === rankWanted);
      assert.equal(selectAgentMapping(list, wanted.join(".")), expected);
      assert.deepEqual(list, before);
    }),
    { seed: 7 },
  );
});

const watcher = () => ({
  async *[Symbol.asyncIterator]() {},
  dispose() {},
});
const child = (childId = "c", changes = {}) => ({
  childId,
  journal: { id: "j" },
  source: watcher(),
  ...changes,
});

function refusal(run) {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof LifecycleError, String(error));
    assert.ok(error.message.startsWith(`${error.path}: `));
    return `${error.code} ${error.path}`;
  }
  assert.fail("nothing was thrown");
}

const options = (changes = {}) => ({
  binding: bindAgentSession(request()),
  source: watcher(),
  mapRecord() {},
  ...changes,
});

test("jsonlSession gives what it was given, bound, and starts nothing", () => {
  const untouchable = new Proxy(
    {},
    {
      get(_, key) {
        assert.ok(key === Symbol.asyncIterator || key === "then", String(key));
        return () => assert.fail("it was started");
      },
    },
  );
  const given = options({
    source: untouchable,
    childSources: [child("a", { source: untouchable }), child("b", { source: Promise.resolve(watcher()) })],
    childSourceDiscovery: untouchable,
    more: 1,
  });
  const session = jsonlSession(given);
  assert.deepEqual(Object.keys(session), ["state", ...Object.keys(given)]);
  assert.equal(session.state, "bound");
  for (const [name, value] of Object.entries(given)) assert.equal(session[name], value);
  assert.deepEqual(Object.keys(jsonlSession(options())), ["state", "binding", "source", "mapRecord"]);
});

const many = (count) => Array.from({ length: count }, (_, n) => child(`c${n}`));

test("jsonlSession takes 64 child sources and refuses what cannot be read", () => {
  assert.equal(jsonlSession(options({ childSources: many(64) })).childSources.length, 64);
  for (const [changes, path] of [
    [{ binding: undefined }, "$.binding"],
    [{ binding: "2bbb4a67" }, "$.binding"],
    [{ source: undefined }, "$.source"],
    [{ source: {} }, "$.source"],
    [{ mapRecord: undefined }, "$.mapRecord"],
    [{ mapRecord: {} }, "$.mapRecord"],
    [{ childSources: many(65) }, "$.childSources"],
    [{ childSources: new Set() }, "$.childSources"],
    [{ childSources: null }, "$.childSources"],
    [{ childSources: [child("a"), child("b"), child("a")] }, "$.childSources[2].childId"],
    [{ childSources: [child("")] }, "$.childSources[0].childId"],
    [{ childSources: [child(5)] }, "$.childSources[0].childId"],
    [{ childSources: [child("x".repeat(257))] }, "$.childSources[0].childId"],
    [{ childSources: [child("a\ud83d")] }, "$.childSources[0].childId"],
    [{ childSources: [child("a"), null] }, "$.childSources[1]"],
    [{ childSources: Array.from({ length: 1 }) }, "$.childSources[0]"],
    [{ childSources: [child("a", { journal: undefined })] }, "$.childSources[0].journal"],
    [{ childSources: [child("a", { journal: {} })] }, "$.childSources[0].journal"],
    [{ childSources: [child("a", { journal: { id: "" } })] }, "$.childSources[0].journal"],
    [{ childSources: [child("a", { journal: "j" })] }, "$.childSources[0].journal"],
    [{ childSources: [child("a", { source: undefined })] }, "$.childSources[0].source"],
    [{ childSources: [child("a", { source: [] })] }, "$.childSources[0].source"],
    // oxlint-disable-next-line unicorn/no-thenable -- one that is none
    [{ childSources: [child("a", { source: { then: 5 } })] }, "$.childSources[0].source"],
    [{ childSourceDiscovery: [] }, "$.childSourceDiscovery"],
    [{ childSourceDiscovery: null }, "$.childSourceDiscovery"],
    [{ childSourceDiscovery: () => watcher() }, "$.childSourceDiscovery"],
  ]) {
    assert.equal(
      refusal(() => jsonlSession(options(changes))),
      `invalid_session ${path}`,
    );
  }
  assert.equal(
    refusal(() => jsonlSession()),
    "invalid_session $",
  );
  assert.equal(
    refusal(() => jsonlSession({})),
    "invalid_session $.binding",
  );
  jsonlSession(options({ childSources: undefined, childSourceDiscovery: undefined }));
  jsonlSession(options({ childSources: [], childSourceDiscovery: Promise.resolve(watcher()) }));
});

function request(changes = {}) {
  return {
    providerSessionId: "2bbb4a67",
    mappingVersion: "2.1",
    evidence: { file: { path: "/tmp/2bbb4a67.jsonl" } },
    ...changes,
  };
}

test("bindAgentSession gives a frozen copy", () => {
  const opaque = { mine: 1 };
  const evidence = {
    process: { pid: 42, startedAt: "2026-05-17T22:29:21+02:00" },
    file: { path: "/tmp/s.jsonl" },
  };
  const given = request({ journal: { id: "root", offset: 7 }, opaque, evidence });
  const before = structuredClone(given);
  const binding = bindAgentSession(given);
  assert.deepEqual(binding, given);
  assert.equal(binding.opaque, opaque);
  assert.ok(!Object.isFrozen(opaque), "what is the host's own stays as it is");
  for (const part of [
    binding,
    binding.journal,
    binding.evidence,
    binding.evidence.process,
    binding.evidence.file,
  ]) {
    assert.ok(Object.isFrozen(part));
  }
  given.providerSessionId = "other";
  given.journal.id = "other";
  given.evidence.process.pid = 1;
  assert.deepEqual({ ...binding }, before);
  assert.deepEqual(Object.keys(bindAgentSession(request({ more: 1 }))), [
    "providerSessionId",
    "mappingVersion",
    "opaque",
    "evidence",
  ]);
});

test("bindAgentSession wants evidence and identities", () => {
  for (const [changes, path] of [
    [{ evidence: undefined }, "$.evidence"],
    [{ evidence: {} }, "$.evidence"],
    [{ evidence: { process: undefined, file: undefined } }, "$.evidence"],
    [{ evidence: true }, "$.evidence"],
    [{ evidence: { process: 42 } }, "$.evidence.process.pid"],
    ...[0, -1, 1.5, "42", Number.NaN, undefined].map((pid) => [
      { evidence: { process: { pid } } },
      "$.evidence.process.pid",
    ]),
    [{ evidence: { process: { pid: 1, startedAt: "2026-05-17" } } }, "$.evidence.process.startedAt"],
    [{ evidence: { process: { pid: 1, startedAt: 5 } } }, "$.evidence.process.startedAt"],
    [{ evidence: { file: { path: "" } } }, "$.evidence.file.path"],
    [{ evidence: { file: null } }, "$.evidence.file.path"],
    [{ providerSessionId: "" }, "$.providerSessionId"],
    [{ providerSessionId: "x".repeat(257) }, "$.providerSessionId"],
    [{ providerSessionId: undefined }, "$.providerSessionId"],
    [{ mappingVersion: 2 }, "$.mappingVersion"],
    [{ journal: {} }, "$.journal"],
    [{ journal: null }, "$.journal"],
  ]) {
    assert.equal(
      refusal(() => bindAgentSession(request(changes))),
      `invalid_binding ${path}`,
    );
  }
  assert.equal(
    refusal(() => bindAgentSession(null)),
    "invalid_binding $",
  );
  bindAgentSession(request({ evidence: { process: { pid: 1 } } }));
});

const mapRecord = () => undefined;

test("defineAgentProvider gives the same provider, checked", () => {
  const provider = { name: "my-agent", mappings: [{ providerVersion: "1", value: mapRecord }] };
  assert.equal(defineAgentProvider(provider), provider);
  assert.equal(selectAgentMapping(provider.mappings, "1.5"), mapRecord);
  for (const [changes, path] of [
    ...["", "My", "a/b", "-a", "a b", "x".repeat(65), 5, undefined].map((name) => [{ name }, "$.name"]),
    [{ mappings: [] }, "$.mappings"],
    [{ mappings: undefined }, "$.mappings"],
    [{ mappings: [null] }, "$.mappings[0]"],
    [
      { mappings: [...provider.mappings, { providerVersion: "v2", value: mapRecord }] },
      "$.mappings[1].providerVersion",
    ],
    [{ mappings: [{ providerVersion: 2, value: mapRecord }] }, "$.mappings[0].providerVersion"],
    [{ mappings: [{ providerVersion: "2", value: {} }] }, "$.mappings[0].value"],
    [{ discover: () => [] }, "$.discover"],
  ]) {
    assert.equal(
      refusal(() => defineAgentProvider({ ...provider, ...changes })),
      `invalid_provider ${path}`,
    );
  }
  assert.equal(
    refusal(() => defineAgentProvider(undefined)),
    "invalid_provider $",
  );
});
