// Changes in a JSON text that leave everything else as it was written, byte for byte.

interface Span {
  start: number;
  end: number;
}

/** A member of an object, from the quote of its key to the end of its value; an item of an array is its value. */
export interface Part extends Span {
  key?: string;
  value: Place;
}

/** A value and where it stands. */
export interface Place extends Span {
  kind: "object" | "array" | "scalar";
  parts: Part[];
}

/** How the text is laid out: the unit of indentation (undefined: all on one line), and the line end. */
export interface Layout {
  unit: string | undefined;
  eol: string;
}

const SPACE = /[ \t\r\n]*/y;
const TEXT = /"(?:[^"\\]|\\.)*"/y;
const SCALAR = /[^\s,\]}]+/y;

/** The places of everything in a text that `JSON.parse` takes. */
export function places(text: string): Place {
  let at = 0;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [found = ""] = pattern.exec(text) ?? [];
    at += found.length;
    return found;
  };
  const value = (): Place => {
    take(SPACE);
    const start = at;
    const parts: Part[] = [];
    const open = text[at];
    if (open !== "{" && open !== "[") {
      take(open === '"' ? TEXT : SCALAR);
      return { kind: "scalar", start, end: at, parts };
    }
    const close = open === "{" ? "}" : "]";
    do {
      at += 1;
      take(SPACE);
      if (text[at] === close) break;
      parts.push(open === "{" ? member() : item());
      take(SPACE);
    } while (text[at] === ",");
    at += 1;
    return { kind: open === "{" ? "object" : "array", start, end: at, parts };
  };
  const item = (): Part => {
    const place = value();
    return { start: place.start, end: place.end, value: place };
  };
  const member = (): Part => {
    const start = at;
    const key = JSON.parse(take(TEXT)) as string;
    take(SPACE);
    at += 1;
    const place = value();
    return { key, start, end: place.end, value: place };
  };
  return value();
}

/** The value of a member; the last one of that name counts, as for `JSON.parse`. */
export function memberOf(place: Place, key: string): Place | undefined {
  return place.parts.findLast((part) => part.key === key)?.value;
}

export function layoutOf(text: string): Layout {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1];
  const isOneLine = !text.trim().includes("\n") && text.trim() !== "{}";
  return { unit: isOneLine ? undefined : (indent ?? "  "), eol: text.includes("\r\n") ? "\r\n" : "\n" };
}

/** Adds a last part to an object (with a key) or an array at `depth`, the root being 0. */
export function insert(
  text: string,
  into: Place,
  depth: number,
  added: { key?: string; value: unknown },
  layout: Layout,
): string {
  const { unit, eol } = layout;
  const key = added.key === undefined ? "" : `${JSON.stringify(added.key)}:${unit === undefined ? "" : " "}`;
  const written = key + JSON.stringify(added.value, null, unit);
  const line = (level: number): string => (unit === undefined ? "" : eol + unit.repeat(level));
  const piece = line(depth + 1) + written.replaceAll("\n", line(depth + 1));
  const last = into.parts.at(-1);
  if (last !== undefined) return splice(text, { start: last.end, end: last.end }, `,${piece}`);
  // The space in an empty root stays behind the part, so that `remove` gives it back.
  const end = depth === 0 ? into.start + 1 : into.end - 1;
  return splice(text, { start: into.start + 1, end }, piece + line(depth));
}

/** Puts a value in the place of another, at `depth`. */
export function replace(text: string, place: Place, depth: number, value: unknown, layout: Layout): string {
  const { unit, eol } = layout;
  const written = JSON.stringify(value, null, unit);
  const piece = unit === undefined ? written : written.replaceAll("\n", eol + unit.repeat(depth));
  return splice(text, place, piece);
}

/** Takes a part out, with the comma that it no longer needs. */
export function remove(text: string, from: Place, index: number): string {
  const { parts } = from;
  const [part, before, after] = [parts[index], parts[index - 1], parts[index + 1]];
  if (part === undefined) return text;
  if (before !== undefined) return splice(text, { start: before.end, end: part.end }, "");
  if (after !== undefined) return splice(text, { start: part.start, end: after.start }, "");
  const space = text.slice(part.end, from.end - 1).replace(/^\r?\n/, "");
  return splice(text, { start: from.start + 1, end: from.end - 1 }, space);
}

const splice = (text: string, { start, end }: Span, piece: string): string =>
  text.slice(0, start) + piece + text.slice(end);
