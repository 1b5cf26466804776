// The corpora of the decoder: A2, B and C of README.md, from a seeded generator.

/** Small lines with many different values: 12 shapes, escapes, non-ASCII text. */
export function variedLines({ lines, random }) {
  const pick = (list) => list[Math.floor(random() * list.length)];
  const out = [];
  for (let at = 0; at < lines; at++) {
    const shape = at % 12;
    const record = { kind: `shape-${shape}`, id: `${name(random)}-${at}`, at: 1.7e12 + at * 7.25 };
    for (let member = 0; member < 4 + (shape % 5); member++) {
      record[`${MEMBERS[(shape + member) % MEMBERS.length]}${shape}`] = value(random, pick, member);
    }
    out.push(
      JSON.stringify({
        ...record,
        text: sentence(random, 40 + random() * 160, random() < 0.4 ? pick(LANGUAGES) : WORDS),
      }),
    );
  }
  return out;
}

/** Lines of a session's transcript: 300 bytes to 200 KB, median 2 KB, 40 % with non-ASCII text; 5 % are of type `system`. */
export function transcriptLines({ lines, random }) {
  const out = [];
  for (let at = 0; at < lines; at++) {
    const type = at % 20 === 7 ? "system" : at % 3 === 0 ? "user" : "assistant";
    const size = Math.min(200_000, Math.max(300, Math.exp(Math.log(2000) + 1.2 * normal(random))));
    const letters = random() < 0.4 ? LANGUAGES[at % LANGUAGES.length] : WORDS;
    const content = [];
    for (let left = size - 280; left > 0;) {
      const length = Math.min(left, 200 + random() * 8000);
      content.push({ type: "text", text: sentence(random, length, letters, "\n") });
      left -= length + 30;
    }
    out.push(
      JSON.stringify({
        parentUuid: uuid(random),
        isSidechain: random() < 0.1,
        type,
        message: { role: type, content, usage: { input_tokens: at, output_tokens: at % 977 } },
        uuid: uuid(random),
        timestamp: new Date(Date.UTC(2026, 4, 17) + at * 1531).toISOString(),
        sessionId: "5f9f2c1e-62a4-4c8a-9d1e-0b6f3f6f2a10",
      }),
    );
  }
  return out;
}

/** Small lines, with five of `huge` bytes evenly among them. */
export function hugeLines({ lines, huge, random }) {
  const out = [];
  for (let at = 0; at < lines; at++) {
    const size = at % Math.ceil(lines / 5) === 0 ? huge : 300;
    out.push(JSON.stringify({ type: "result", at, text: "x".repeat(size - 40 + Math.floor(random() * 10)) }));
  }
  return out;
}

const MEMBERS = ["status", "cost", "labels", "path", "owner", "nested", "flag", "count"];
const WORDS = [
  "parser",
  "the",
  "of",
  "record",
  'say "no"',
  "file",
  "a",
  "build",
  "tests",
  "C:\\src",
  "reads",
];
const SIGNS = ["…", "—", "→", "✓", "🙂", "“so”"];
/** A text is of one language, most often English with a sign here and there. */
const LANGUAGES = [
  [...WORDS, ...WORDS, ...WORDS, ...SIGNS],
  [...WORDS, "der", "größer", "für", "Prüfung", "Datei", "gelesen", "über", "nicht"],
  ["файл", "и", "проверка", "запись", "не", "build", "ошибка", "строка"],
  ["記録を読む", "テスト", "は", "失敗しました", "src", "修正", "と"],
];

function value(random, pick, member) {
  switch (member % 6) {
    case 0:
      return Math.floor(random() * 1e9) / 1000;
    case 1:
      return [name(random), name(random)];
    case 2:
      return { path: `src\\${name(random)}.rs`, line: Math.floor(random() * 5000), ok: random() < 0.5 };
    case 3:
      return pick([null, true, false, 0, -1.5e-7]);
    case 4:
      return `${name(random)} "${name(random)}"`;
    default:
      return sentence(random, 20, pick(LANGUAGES));
  }
}

function sentence(random, length, words, end = " ") {
  const out = [];
  for (let size = 0, at = 1; size < length; at++) {
    const word = words[Math.floor(random() * words.length)];
    out.push(word, at % 12 === 0 ? end : " ");
    size += word.length + 1;
  }
  return out.join("");
}

const name = (random) => Math.floor(random() * 2 ** 40).toString(36);

const uuid = (random) =>
  [8, 4, 4, 4, 12]
    .map((digits) =>
      Math.floor(random() * 16 ** digits)
        .toString(16)
        .padStart(digits, "0"),
    )
    .join("-");

/** A number of the normal distribution (Box and Muller). */
const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
