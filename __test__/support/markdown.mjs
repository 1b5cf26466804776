// Reads what a Markdown document shows: blocks, sections and tables.
import assert from "node:assert/strict";

/** The bodies of fenced blocks of one language. */
export const blocks = (text, language) =>
  [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(([, of]) => of === language)
    .map(([, , body]) => body);

/** The text below a heading, to the next one of its level or above. */
export function section(text, heading) {
  const [marks] = heading.split(" ");
  const from = text.indexOf(`\n${heading}\n`);
  assert.notEqual(from, -1, `there is no heading ${heading}`);
  const rest = text.slice(from + heading.length + 2);
  const end = rest.search(new RegExp(`^#{1,${marks.length}} `, "m"));
  return end === -1 ? rest : rest.slice(0, end);
}

/** The cells of the table rows, headers left out. */
export function rows(text) {
  const lines = text.split("\n").filter((line) => line.startsWith("|"));
  const heads = new Set(lines.flatMap((line, at) => (/^\|[-|]+\|$/.test(line) ? [at - 1, at] : [])));
  const body = lines.filter((_, at) => !heads.has(at));
  return body.map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

/** The words in backticks. */
export const coded = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word);
