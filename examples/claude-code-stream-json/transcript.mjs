// What the messages of one turn mean: each to observations of the neutral protocol.

/** Names that are kept; a repeat comes soon. */
const MOST_SEEN = 4096;

/** What was seen of a turn so far, as far as it is needed to name things. */
export class Transcript {
  /** Messages by their own ids, so that one that comes twice is taken once. */
  #seen = new Set();
  /** The message that streams, by the sub-agent that it is of. */
  #streaming = new Map();
  /** How many blocks of each message came whole: a whole block does not say its place. */
  #blocks = new Map();

  observationsOf(message) {
    const { type, uuid, parent_tool_use_id: parent } = message;
    if (typeof uuid === "string") {
      if (this.#seen.has(uuid)) return [];
      this.#seen.add(uuid);
      if (this.#seen.size > MOST_SEEN) this.#seen.delete(this.#seen.values().next().value);
    }
    const place = typeof parent === "string" ? { scope: parent } : {};
    switch (type) {
      case "stream_event":
        return this.#streamed(place, message.event);
      case "assistant":
        return message.message.content.flatMap((block) => this.#block(place, message.message.id, block));
      case "user":
        return resultsOf(place, message.message.content);
      case "system":
        return message.subtype === "compact_boundary" ? [{ ...place, kind: "compaction_finished" }] : [];
      default:
        return [];
    }
  }

  #streamed(place, event) {
    const { scope = "" } = place;
    if (event.type === "message_start") this.#streaming.set(scope, event.message.id);
    if (event.type !== "content_block_delta") return [];
    const nativeItemId = blockName(this.#streaming.get(scope), event.index);
    const { type, text, thinking } = event.delta;
    if (type === "text_delta") return [{ ...place, nativeItemId, kind: "assistant", text: { delta: text } }];
    if (type === "thinking_delta")
      return [{ ...place, nativeItemId, kind: "reasoning", text: { delta: thinking } }];
    return [];
  }

  #block(place, messageId, block) {
    const index = this.#blocks.get(messageId) ?? 0;
    this.#blocks.set(messageId, index + 1);
    if (this.#blocks.size > MOST_SEEN) this.#blocks.delete(this.#blocks.keys().next().value);
    const nativeItemId = blockName(messageId, index);
    switch (block.type) {
      case "text":
        return [{ ...place, nativeItemId, kind: "assistant", text: { cumulative: block.text }, done: true }];
      case "thinking":
        return [
          { ...place, nativeItemId, kind: "reasoning", text: { cumulative: block.thinking }, done: true },
        ];
      case "tool_use":
        return [
          { ...place, nativeItemId: block.id, kind: "tool_call", toolName: block.name, args: block.input },
          { ...place, nativeItemId: block.id, kind: "tool_started" },
        ];
      default:
        return [];
    }
  }
}

const blockName = (messageId, index) => `${messageId}:${index}`;

function resultsOf(place, content) {
  if (!Array.isArray(content)) return [];
  return content
    .filter(({ type }) => type === "tool_result")
    .map((block) => ({
      ...place,
      nativeItemId: block.tool_use_id,
      kind: "tool_finished",
      result: block.content ?? null,
      isError: block.is_error === true,
    }));
}
