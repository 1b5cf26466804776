// The record decoder: its cases by name, its edges by hand.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { LifecycleError, createJsonlRecordDecoder } from "agent-lifecycle";
import { blocks } from "./support/markdown.mjs";

/** What a whole stream comes to in chunks of a size; each chunk is overwritten behind the decoder's back. */
function decode(stream, size = Infinity, options = undefined) {
  const decoder = createJsonlRecordDecoder(options);
  const bytes = Buffer.from(stream);
  const values = [];
  for (let from = 0; from < bytes.length; from += size) {
    const chunk = Uint8Array.from(bytes.subarray(from, from + size));
    values.push(...decoder.push(chunk));
    chunk.fill(0x22);
  }
  return { values, stats: decoder.end() };
}

const codes = (stats) => stats.lastDiagnostics.map(({ code, offset, length }) => [code, offset, length]);
const NOTHING_DROPPED = { malformed: 0, oversize: 0, invalidUtf8: 0, tooDeep: 0 };

test("D1: half a line gives nothing, its rest one record; a malformed line gives one diagnostic", () => {
  const decoder = createJsonlRecordDecoder();
  assert.deepEqual(decoder.push(Buffer.from('{"type":"submit","text":"spl')), []);
  assert.deepEqual(decoder.stats().lastDiagnostics, []);
  assert.deepEqual(decoder.push(Buffer.from('it"}\n')), [{ type: "submit", text: "split" }]);
  assert.deepEqual(decoder.push(Buffer.from('{"type":\n')), []);
  assert.deepEqual(codes(decoder.stats()), [["malformed", 33, 8]]);
});

test("D3: a lone surrogate escape is a legal part of a record", () => {
  const line = String.raw`{"type":"event_msg","payload":{"type":"task_complete","turn_id":"t","last_agent_message":"ok \ud83d"}}`;
  for (const options of [undefined, { select: { type: ["event_msg"] } }]) {
    const { values, stats } = decode(`${line}\n`, 3, options);
    assert.deepEqual(values, [JSON.parse(line)]);
    assert.equal(values[0].payload.last_agent_message, "ok \ud83d");
    assert.deepEqual(stats.dropped, NOTHING_DROPPED);
  }
});

test("D4: a line of 16 MiB is one diagnostic, and the record behind it is seen", () => {
  const decoder = createJsonlRecordDecoder();
  decoder.push(Buffer.from('{"a":"'));
  const chunk = Buffer.alloc(65_536, "x");
  for (let at = 0; at < 256; at++) assert.deepEqual(decoder.push(chunk), []);
  assert.deepEqual(decoder.push(Buffer.from('"}\n{"type":"task_complete"}\n')), [{ type: "task_complete" }]);
  const { dropped, lastDiagnostics } = decoder.stats();
  assert.deepEqual(dropped, { ...NOTHING_DROPPED, oversize: 1 });
  const [{ raw, ...fault }] = lastDiagnostics;
  assert.deepEqual(fault, {
    code: "oversize",
    message: "the line of 16777224 bytes is beyond the limit and was dropped",
    offset: 0,
    length: 16_777_224,
  });
  assert.ok(raw.length <= 512);
});

test("D7: the same bytes in any chunks give the same records and statistics", () => {
  const lines = Array.from({ length: 700 }, (_, at) =>
    at % 7 === 3
      ? "{broken"
      : JSON.stringify({ at, text: ["plain", "größer", "日本語 🙂"][at % 3].repeat(at % 40) }),
  );
  const stream = `\ufeff${lines.join("\n")}\n${"x".repeat(300_000)}\n\n7\n{"cut":`;
  const whole = decode(stream);
  assert.deepEqual(whole.values, [
    ...lines.filter((line) => line !== "{broken").map((line) => JSON.parse(line)),
    7,
  ]);
  assert.equal(whole.stats.dropped.malformed, 100);
  for (const size of [1, 7, 4096, 65_536]) assert.deepEqual(decode(stream, size), whole, `chunks of ${size}`);
});

test("D8: BOMs at the start are skipped, CRLF gives the same records", () => {
  const records = [{ a: 1 }, "é", [2]];
  const lines = records.map((record) => JSON.stringify(record));
  for (const stream of [
    `${lines.join("\n")}\n`,
    `\ufeff${lines.join("\n")}\n`,
    `\ufeff\ufeff${lines.join("\r\n")}\r\n`,
  ]) {
    for (const size of [1, 2, 3, 100]) {
      const { values, stats } = decode(stream, size);
      assert.deepEqual(values, records);
      assert.deepEqual(stats.dropped, NOTHING_DROPPED);
    }
  }
  // Anywhere else a BOM is no part of JSON.
  assert.deepEqual(decode('1\n\ufeff2\n"\ufeff"\n').values, [1, "\ufeff"]);
});

test("D9: NUL padding after a record is dropped, a line and a tail of NULs are reported, once each", () => {
  const stream = `{"a":1}\0\0\0\n{"b":2}\n\0\0\n{"c":\0\n{"d":1e999}\0\r\n${"\0".repeat(100_000)}`;
  for (const size of [1, 7, 65_536]) {
    const { values, stats } = decode(stream, size, 100);
    assert.deepEqual(values, [{ a: 1 }, { b: 2 }, { d: Infinity }]);
    assert.deepEqual(codes(stats), [
      ["nul_padding", 0, 10],
      ["malformed", 19, 2],
      ["malformed", 22, 6],
      ["nul_padding", 29, 13],
      ["truncated", 43, 100_000],
    ]);
    assert.equal(stats.nulPadded, 2);
    assert.equal(stats.dropped.malformed, 2);
  }
});

test("D10: an empty stream and one of a line end hold no record and no error", () => {
  for (const stream of ["", "\n", "\r\n", " \t\n\n", "\ufeff", "\u00a0\u2003\n", "  ", "\r"]) {
    const { values, stats } = decode(stream, 1);
    assert.deepEqual(values, []);
    const bytes = Buffer.byteLength(stream);
    const expected = {
      records: 0,
      bytes,
      skipped: 0,
      nulPadded: 0,
      dropped: NOTHING_DROPPED,
      lastDiagnostics: [],
    };
    assert.deepEqual(stats, expected);
  }
});

test("a value is what JSON.parse gives", () => {
  const lines = [
    '{"b":1,"a":2,"10":3,"9":4}',
    '{"__proto__":{"x":1},"constructor":null}',
    "-0",
    "[1e999,-1e999,1e-999]",
    '{"a":1,"a":2}',
    String.raw`"\ud83d\u0000\u2028"`,
    '"\u2028\u2029\u007f"',
    ' {"a" : [ ] } ',
    "null",
  ];
  const { values } = decode(lines.map((line) => `${line}\n`).join(""), 5);
  const expected = lines.map((line) => JSON.parse(line));
  assert.deepStrictEqual(values, expected);
  assert.equal(JSON.stringify(values), JSON.stringify(expected));
  assert.ok(Object.hasOwn(values[1], "__proto__"));
  assert.equal(Object.getPrototypeOf(values[1]), Object.prototype);
});

/** A record of so many bytes. */
const sized = (length) => `"${"é".repeat(2)}${"x".repeat(length - 6)}"`;

test("exactly the limit passes, with CR too, and one byte more does not, in any chunks", () => {
  for (const limit of [10, 262_144]) {
    const stream = `${sized(limit)}\n${sized(limit)}\r\n${sized(limit + 1)}\n${sized(limit + 1)}\r\n1\n`;
    for (const size of [1, 7, 65_536, Infinity].filter((given) => given > 1 || limit < 100)) {
      const { values, stats } = decode(stream, size, limit);
      assert.deepEqual(values, [JSON.parse(sized(limit)), JSON.parse(sized(limit)), 1]);
      assert.deepEqual(stats.dropped, { ...NOTHING_DROPPED, oversize: 2 });
    }
  }
});

test("characters and escapes may be cut anywhere", () => {
  const record = { "é\n": "日本\u{1f642}", "\\u": '"\\"' };
  const line = `${JSON.stringify(record)}\n${String.raw`"\ud83d\ude42\u00e9"`}\n`;
  const bytes = Buffer.from(line);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const decoder = createJsonlRecordDecoder();
    const values = [...decoder.push(bytes.subarray(0, cut)), ...decoder.push(bytes.subarray(cut))];
    assert.deepEqual(values, [record, "\u{1f642}é"]);
  }
});

test("the limit is clamped to 1 byte..64 MiB", () => {
  for (const limit of [1, 0, -5, -Infinity, 0.5, 1.9])
    assert.deepEqual(decode("1\n22\n", 9, limit).values, [1]);
  const most = `"${"x".repeat(64 * 1024 * 1024 - 2)}"`;
  for (const limit of [Infinity, 1e300, { maxRecordBytes: 2 ** 26 }]) {
    const decoder = createJsonlRecordDecoder(limit);
    const [value] = decoder.push(Buffer.from(`${most}\n`));
    assert.equal(value.length, most.length - 2);
    assert.deepEqual(decoder.push(Buffer.from(`${most}1\n`)), []);
    assert.equal(decoder.stats().dropped.oversize, 1);
  }
});

for (const [name, options, member] of [
  ["NaN", Number.NaN, "maxRecordBytes"],
  ["NaN in options", { maxRecordBytes: Number.NaN }, "maxRecordBytes"],
  ["a text", "262144", "options"],
  ["null", null, "options"],
  ["a text in options", { maxRecordBytes: "262144" }, "maxRecordBytes"],
  ["null in options", { maxRecordBytes: null }, "maxRecordBytes"],
  ["a BigInt", 5n, "options"],
  ["an empty selection", { select: {} }, "select"],
  [
    "a selection of too many members",
    { select: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [at, []])) },
    "select",
  ],
  ["a selection that is a list", { select: ["type"] }, "select"],
  ["a selection without a list", { select: { type: "user" } }, "select.type"],
  ["a selection of a number", { select: { type: ["user", 7] } }, "select.type"],
]) {
  test(`${name} is refused as options`, () => {
    assert.throws(
      () => createJsonlRecordDecoder(options),
      (error) => {
        assert.ok(error instanceof LifecycleError);
        assert.equal(error.code, member === "options" ? "invalid_argument" : "invalid_option");
        assert.equal(error.path, member);
        return true;
      },
    );
  });
}

test("what is no chunk and shared memory are refused, and the stream is as it was", () => {
  const decoder = createJsonlRecordDecoder();
  decoder.push("[1,");
  const shared = new Uint8Array(new SharedArrayBuffer(4));
  const foreign = runInNewContext("new Uint8Array(new SharedArrayBuffer(4))");
  for (const chunk of [undefined, null, 7, [1], new ArrayBuffer(4), new Uint16Array(2), shared, foreign]) {
    assert.throws(() => decoder.push(chunk, true), { name: "LifecycleError", code: "invalid_chunk" });
  }
  assert.deepEqual(decoder.push(new Uint8Array(0)), []);
  assert.deepEqual(decoder.push("2]\n"), [[1, 2]]);
  assert.equal(decoder.stats().bytes, 6);
});

test("a chunk may be a part of a larger buffer, of another realm, or text", () => {
  const decoder = createJsonlRecordDecoder();
  const large = Buffer.from('xx"é"\nxx');
  assert.deepEqual(decoder.push(new Uint8Array(large.buffer, large.byteOffset + 2, 5)), ["é"]);
  assert.deepEqual(decoder.push(runInNewContext("Uint8Array.of(0x37, 0x0a)")), [7]);
  assert.deepEqual(decoder.push('"🙂"\n'), ["🙂"]);
});

test("reset clears first, then decodes, as a new stream", () => {
  const decoder = createJsonlRecordDecoder();
  decoder.push('{bad\n{"old":');
  assert.deepEqual(decoder.push("\ufeff[1]\n{oops\n", true), [[1]]);
  const { records, bytes, dropped, lastDiagnostics } = decoder.stats();
  assert.deepEqual({ records, bytes, malformed: dropped.malformed }, { records: 1, bytes: 13, malformed: 1 });
  assert.equal(lastDiagnostics[0].offset, 7);
  decoder.push('"left');
  decoder.reset();
  assert.deepEqual(decoder.push("2\n"), [2]);
  assert.deepEqual(decoder.stats().lastDiagnostics, []);
});

test("end reports a last line that is not closed, and does not give it out", () => {
  const decoder = createJsonlRecordDecoder();
  assert.deepEqual(decoder.push('1\n{"a":2}'), [1]);
  const stats = decoder.end();
  assert.deepEqual(codes(stats), [["truncated", 2, 7]]);
  assert.equal(stats.records, 1);
  assert.deepEqual(decoder.end(), stats);
});

const typed = (type, more = "") => String.raw`{"type":${type},"\ud83d":"\ude42"${more}}` + "\n";

test("select makes values of wanted records only, and checks the others", () => {
  const select = { type: ["assistant", "user"], "\ud83d": ["\ude42"] };
  const stream =
    typed('"user"') +
    typed('"system"') +
    typed('"\\u0075ser"') +
    typed("7") +
    typed('"user"', ',"type":"x"') +
    typed('"system"', ',"type":"assistant"') +
    typed('"system"', ",") +
    '[]\n"user"\n';
  for (const size of [1, 64, Infinity]) {
    const { values, stats } = decode(stream, size, { select });
    assert.deepEqual(
      values.map(({ type }) => type),
      ["user", "user", "assistant"],
    );
    assert.deepEqual([stats.records, stats.skipped, stats.dropped.malformed], [3, 5, 1]);
  }
});

test("the methods work detached, and decoders do not disturb each other", () => {
  const { push, reset, end, stats } = createJsonlRecordDecoder();
  const other = createJsonlRecordDecoder();
  assert.deepEqual(push("[1"), []);
  assert.deepEqual(other.push("[2"), []);
  assert.deepEqual(push("]\n"), [[1]]);
  assert.deepEqual(other.push("]\n"), [[2]]);
  reset();
  assert.deepEqual(end(), stats());
});

test("the last 32 faults are kept, redacted", () => {
  const decoder = createJsonlRecordDecoder();
  for (let at = 0; at < 50; at++) decoder.push("{\n");
  decoder.push('{"password": "open sesame",\n');
  const { dropped, lastDiagnostics } = decoder.stats();
  assert.equal(dropped.malformed, 51);
  assert.deepEqual(
    lastDiagnostics.map(({ offset }) => offset),
    Array.from({ length: 32 }, (_, at) => 38 + at * 2),
  );
  assert.ok(!JSON.stringify(lastDiagnostics).includes("sesame"));
});

test("a chunk is cut into slices without a seam", () => {
  const values = Array.from({ length: 60_000 }, (_, at) => (at % 5 === 0 ? `ü${at}` : at));
  const stream = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
  assert.ok(stream.length > 4 * 65_536);
  assert.deepEqual(createJsonlRecordDecoder().push(stream), values);
  assert.equal(createJsonlRecordDecoder().push("1\n".repeat(100_000)).length, 100_000);
});

test("the example of the docs prints what is said", () => {
  const page = readFileSync(path.join(import.meta.dirname, "..", "docs", "decoder.md"), "utf8");
  const run = spawnSync(process.execPath, ["--input-type=module", "-e", blocks(page, "js")[0]], {
    cwd: path.dirname(import.meta.dirname),
    encoding: "utf8",
  });
  assert.equal(run.stdout.trimEnd(), blocks(page, "text")[0].trimEnd(), run.stderr);
});
