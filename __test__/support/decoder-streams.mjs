// Arbitrary streams for the record decoder: every class of line that there is, in any order and any chunks.
import fc from "fast-check";

const bytes = (text) => Buffer.from(text);

/** The text of a string token: characters of all sorts, and escapes, lone surrogates among them. */
const token = fc
  .array(
    fc.oneof(
      {
        arbitrary: fc
          .string({ unit: "grapheme", maxLength: 12 })
          .map((text) => JSON.stringify(text).slice(1, -1)),
        weight: 4,
      },
      fc.constantFrom(
        "\\ud83d",
        "\\ude42",
        "\\ud83d\\ude42",
        "\\u2028",
        "\u2028",
        "\u2029",
        "\\/",
        "\\u0000",
        "\u007f",
        "\u{10ffff}",
      ),
    ),
    { maxLength: 5 },
  )
  .map((parts) => `"${parts.join("")}"`);

const scalar = fc.oneof(
  token,
  fc.constantFrom("-0", "1e999", "-1e-999", "0.1", "9007199254740993", "true", "false", "null", "1E+2"),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
);

const NAMES = ['"__proto__"', '"type"', '"t\\u0079pe"', '"10"', '"2"', '"constructor"', '""'];
const TYPES = ['"user"', '"us\\u0065r"', '"system"', "7"];

const space = fc.constantFrom("", "", "", " ", "\t", "\r ");
const spaced = (inner) => fc.tuple(space, inner, space).map((parts) => parts.join(""));

/** The text of a JSON value. */
const { json } = fc.letrec((tie) => ({
  json: fc.oneof({ depthSize: "small", withCrossShrink: true }, scalar, tie("array"), tie("object")),
  array: fc.array(spaced(tie("json")), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
  object: fc
    .array(
      fc.tuple(
        fc.oneof(fc.constantFrom(...NAMES), token),
        spaced(fc.oneof(fc.constantFrom(...TYPES), tie("json"))),
      ),
      { maxLength: 5 },
    )
    .map((members) => `{${members.map((member) => member.join(":")).join(",")}}`),
}));

/** A record as transcripts have it. */
const typed = fc
  .tuple(fc.constantFrom(...NAMES), fc.constantFrom(...TYPES), json)
  .map(([name, type, value]) => `{"type":${type},${name}:${value}}`);

const broken = fc
  .tuple(
    json,
    fc.nat(),
    fc.nat(3),
    fc.constantFrom("", '"', "\\", "{", "}", "]", ",", ":", "0", "-", ".", "e", "\u0001", "\ufeff"),
  )
  .map(([text, at, cut, put]) => {
    const place = at % (text.length + 1);
    return text.slice(0, place) + put + text.slice(place + cut);
  });

const nested = fc
  .tuple(fc.constantFrom(510, 511, 512, 513, 600), fc.constantFrom(["[", "]"], ['{"a":', "}"]), fc.boolean())
  .map(
    ([levels, [open, close], isWhole]) => open.repeat(levels) + "0" + (isWhole ? close.repeat(levels) : ""),
  );

/** A line of about the length of the limit, ASCII or not. */
const long = (limit) =>
  fc
    .tuple(
      fc.integer({ min: -3, max: 3 }),
      fc.constantFrom("x", "é", "🙂"),
      fc.constantFrom("", "\r", "\0", "\0\0\r"),
    )
    .map(([more, letter, end]) => {
      const room = Math.max(0, limit + more - 2);
      const letters = letter.repeat(Math.floor(room / bytes(letter).length));
      return `"${letters.padEnd(letters.length + room - bytes(letters).length, "-")}"${end}`;
    });

const line = (limit) =>
  fc.oneof(
    { arbitrary: json.map(bytes), weight: 6 },
    { arbitrary: typed.map(bytes), weight: 6 },
    { arbitrary: broken.map(bytes), weight: 4 },
    nested.map(bytes),
    { arbitrary: long(limit).map(bytes), weight: 2 },
    fc.constantFrom("", " ", "\t \r", "\ufeff", "\u00a0\u2028", "\0", "\0\0\0\r").map(bytes),
    fc
      .tuple(json, fc.constantFrom("\0", "\0\0\0\0", "\0\r", "\0x", "\r\0"))
      .map((parts) => bytes(parts.join(""))),
    { arbitrary: json.map((text) => bytes(`${text}\r`)), weight: 2 },
    fc
      .tuple(
        json,
        fc.constantFrom([0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf4, 0x90, 0x80, 0x80]),
        fc.nat(),
      )
      .map(([text, wrong, at]) => {
        const right = bytes(text);
        const place = at % (right.length + 1);
        return Buffer.concat([right.subarray(0, place), Buffer.from(wrong), right.subarray(place)]);
      }),
    fc.uint8Array({ maxLength: 20 }).map((some) => Buffer.from(some)),
  );

/** A stream, the limit, the sizes of its chunks in turn, whether it is selected from, and whether something else was pushed before. */
export const cases = fc.constantFrom(64, 300, 8192).chain((limit) =>
  fc.record({
    limit: fc.constant(limit),
    stream: fc
      .tuple(
        fc.constantFrom("", "", "\ufeff", "\ufeff\ufeff", "\ufeff\n"),
        fc.array(line(limit), { maxLength: 12 }),
        fc.oneof(fc.constantFrom("", "", " ", "\ufeff", '{"cut":"', "\0\0").map(bytes), line(limit)),
      )
      .map(([start, lines, rest]) =>
        Buffer.concat([bytes(start), ...lines.flatMap((one) => [one, bytes("\n")]), rest]),
      ),
    sizes: fc.array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 5000 })), {
      minLength: 1,
      maxLength: 6,
    }),
    isSelective: fc.boolean(),
    before: fc.constantFrom(undefined, '{"old":', "\ufeff1\n", "x".repeat(9000)),
  }),
);
