// Foreign text in the columns of a terminal: made inert, measured, cut and padded.
//
// What terminals disagree on is taken out before it is measured: joiners, variation selectors and skin tones. So a family of emoji
// becomes its members, and the width is the same everywhere.

/** No glyph of their own, or only in the company of others: C0, C1, bidirectional controls, joiners, selectors, fillers, tags. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Emoji_Modifier}]/u;
/** Blanks of any kind, line ends among them. */
const BLANK = /[\t\n\r\p{Z}]/u;
/** Lone surrogates, and what this Node does not know: no width is known of it either. */
const UNKNOWN = /[\p{Cs}\p{Cn}]/u;
/** Drawn over the character before. Of a spacing mark (Mc) terminals say that it has a column. */
const MARK = /[\p{Mn}\p{Me}\u1160-\u11ff]/u;
const WIDE_EMOJI = /(?!\p{Regional_Indicator})\p{Emoji_Presentation}/u;

/** East Asian Width W and F (Unicode 14, and the same blocks since), but for emoji; gaps within are unassigned. */
const WIDE: readonly (readonly [from: number, to: number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0x3247],
  [0x3250, 0x4dbf],
  [0x4e00, 0xa4c6],
  [0xa960, 0xa97c],
  [0xac00, 0xd7a3],
  [0xf900, 0xfad9],
  [0xfe10, 0xfe6b],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x1b2fb],
  [0x1f200, 0x1f265],
  [0x20000, 0x3134a],
];

/** Marks that one character may carry; more would grow a line without giving it a column. */
const MARKS = 3;
/** UTF-16 units of a text that are looked at for each of its columns. */
const UNITS_OF_A_COLUMN = 16;

const ASCII = /^[\x20-\x7e]*$/;

function widthOf(character: string): number {
  const code = character.codePointAt(0)!;
  if (code < 0x300) return 1;
  if (MARK.test(character)) return 0;
  if (code < 0x1100) return 1;
  return WIDE.some(([from, to]) => code >= from && code <= to) || WIDE_EMOJI.test(character) ? 2 : 1;
}

/** The characters of `text` as they are shown. */
function* shown(text: string): Generator<{ character: string; width: number }> {
  let marks = MARKS;
  for (const given of text.normalize("NFC")) {
    let character = given;
    if (BLANK.test(given)) character = " ";
    else if (UNKNOWN.test(given)) character = "\ufffd";
    else if (INVISIBLE.test(given)) continue;
    const width = widthOf(character);
    marks = width === 0 ? marks + 1 : 0;
    if (marks <= MARKS) yield { character, width };
  }
}

/** The columns that `text` takes once it is inert. */
export function columnsOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let columns = 0;
  for (const { width } of shown(text)) columns += width;
  return columns;
}

/**
 * `text` on one line of at most `columns` columns, with `…` where something was cut off. It holds nothing that moves a cursor, hides or
 * reorders text. Only as much of it is read as can be shown, so a text of any size costs the same.
 */
export function fit(text: string, columns: number): string {
  if (columns <= 0) return "";
  const bound = (columns + 1) * UNITS_OF_A_COLUMN;
  const bounded = text.length > bound ? text.slice(0, bound).replace(/[\ud800-\udbff]$/, "") : text;
  if (ASCII.test(bounded) && bounded.length <= columns && bounded.length === text.length) return text;
  let kept = "";
  let width = 0;
  // The longest beginning that leaves a column for the mark.
  let short = "";
  for (const { character, width: more } of shown(bounded)) {
    if (width + more > columns) return `${short}…`;
    kept += character;
    width += more;
    if (width < columns) short = kept;
  }
  return bounded.length < text.length ? `${short}…` : kept;
}

/** {@link fit}, filled with blanks to exactly `columns`. */
export function cell(text: string, columns: number): string {
  const fitting = fit(text, columns);
  return fitting + " ".repeat(Math.max(0, columns - columnsOf(fitting)));
}
