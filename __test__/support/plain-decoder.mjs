// A record decoder in plain JavaScript, with the whole stream at hand: what ours is compared with. It shares no code with ours.

const LF = 10;
const CR = 13;

/** The values of a whole stream, and what became of each line. `select` is one of ours. */
export function decodePlainly(stream, limit, select) {
  const found = { values: [], records: 0, skipped: 0, nulPadded: 0, unterminated: false };
  const dropped = { malformed: 0, oversize: 0, invalidUtf8: 0, tooDeep: 0 };
  let bytes = stream;
  while (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3);
  let from = 0;
  for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, from)) {
    judge(bytes.subarray(from, end));
    from = end + 1;
  }
  const rest = bytes.subarray(from);
  if (withoutPadding(rest).length > limit) dropped.oversize++;
  else found.unterminated = rest.length > 0 && !isBlank(rest);
  return { ...found, dropped };

  function judge(line) {
    const content = withoutPadding(line);
    const isPadded = line.length - content.length > (line.at(-1) === CR ? 1 : 0);
    if (content.length > limit) return dropped.oversize++;
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
    } catch {
      return dropped.invalidUtf8++;
    }
    if (text.trim() === "") return isPadded && dropped.malformed++;
    if (levels(text) > 512) return dropped.tooDeep++;
    let value;
    try {
      value = JSON.parse(text);
    } catch {
      return dropped.malformed++;
    }
    if (isPadded) found.nulPadded++;
    if (select !== undefined && !isSelected(value, select)) return found.skipped++;
    found.records++;
    return found.values.push(value);
  }
}

function isSelected(value, select) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.entries(select).every(
    ([name, strings]) => Object.hasOwn(value, name) && strings.includes(value[name]),
  );
}

function withoutPadding(line) {
  let end = line.length;
  if (line[end - 1] === CR) end--;
  while (line[end - 1] === 0) end--;
  return line.subarray(0, end);
}

function isBlank(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes).trim() === "";
  } catch {
    return false;
  }
}

/** The deepest level outside strings. */
function levels(text) {
  let [level, deepest, inString] = [0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const unit = text[at];
    if (inString) {
      if (unit === "\\") at++;
      else if (unit === '"') inString = false;
    } else if (unit === '"') inString = true;
    else if (unit === "[" || unit === "{") deepest = Math.max(deepest, ++level);
    else if ((unit === "]" || unit === "}") && level > 0) level--;
  }
  return deepest;
}
