// Texts of the corpora.

/** Words with what JSON escapes. */
export const WORDS = [
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
export const LANGUAGES = [
  [...WORDS, ...WORDS, ...WORDS, ...SIGNS],
  [...WORDS, "der", "größer", "für", "Prüfung", "Datei", "gelesen", "über", "nicht"],
  ["файл", "и", "проверка", "запись", "не", "build", "ошибка", "строка"],
  ["記録を読む", "テスト", "は", "失敗しました", "src", "修正", "と"],
];

/** Words until `length` bytes are there; `end` follows each twelfth. */
export function sentence(random, length, words, end = " ") {
  const out = [];
  for (let size = 0, at = 1; size < length; at++) {
    const word = words[Math.floor(random() * words.length)];
    out.push(word, at % 12 === 0 ? end : " ");
    size += Buffer.byteLength(word) + 1;
  }
  return out.join("");
}
