// A JavaScript value as the JSON text that the check of agent events reads. `JSON.stringify` alone would drop and coerce: it
// leaves out undefined and functions, calls toJSON, writes a Date as text and NaN as null, and throws for cycles and BigInts.

/** Units of a text that are written; no limit of an event is near it, so a longer text is as much too long. */
const MOST_UNITS = 16_384;

/**
 * The value with its own enumerable members in order, each read once, to the second level: an event and its model. An empty array
 * stands for undefined, and `null` for everything that JSON has not or that an event never holds: functions, symbols, BigInts, NaN,
 * infinities, arrays, objects of built-in classes, deeper objects, and what throws when it is read.
 */
export function faithfulJson(value: unknown): string {
  try {
    return isObject(value) ? objectText(value, true) : "null";
  } catch {
    return "null";
  }
}

function objectText(value: object, nests: boolean): string {
  let text = "";
  for (const key of Object.keys(value)) {
    text += `${text === "" ? "{" : ","}${JSON.stringify(key)}:${memberText(value, key, nests)}`;
  }
  return text === "" ? "{}" : `${text}}`;
}

function memberText(value: object, key: string, nests: boolean): string {
  try {
    const raw = (value as Record<string, unknown>)[key];
    switch (typeof raw) {
      case "string":
        return JSON.stringify(raw.length > MOST_UNITS ? raw.slice(0, MOST_UNITS) : raw);
      case "number":
        return Number.isFinite(raw) ? String(raw) : "null";
      case "boolean":
        return String(raw);
      case "undefined":
        return "[]";
      default:
        return nests && isObject(raw) ? objectText(raw, false) : "null";
    }
  } catch {
    return "null";
  }
}

/** Plain objects and instances of classes; not arrays, buffers, dates, maps, boxed values or functions. */
function isObject(value: unknown): value is object {
  return typeof value === "object" && Object.prototype.toString.call(value) === "[object Object]";
}
