// Text from elsewhere on its way to a terminal.

/** `text` on its lines, without what would move a cursor, hide or reorder text. */
export function inert(text: string): string {
  return text.replaceAll(/(?!\n)[\p{Cc}\p{Cf}]/gu, "");
}
