// The corpora of the decoder: A2, B and C of README.md, from a seeded generator.
import { Transcript, uuid } from "./transcript.mjs";
import { LANGUAGES, WORDS, sentence } from "./words.mjs";

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

/** Lines of a session's journal: 300 bytes to 200 KB, median 2 KB, 40 % with non-ASCII text; 5 % are of type `system`. */
export function transcriptLines({ lines, random }) {
  const start = Date.UTC(2026, 4, 17, 8);
  const session = new Transcript({ random, sessionId: uuid(random), start });
  while (session.lines.length < lines) session.turn();
  return session.lines.slice(0, lines);
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

const name = (random) => Math.floor(random() * 2 ** 40).toString(36);
