// Bytes from a caller on their way into the addon.
import { types } from "node:util";
import { LifecycleError } from "./error.js";

/**
 * `chunk` as bytes; text is taken as UTF-8. Shared memory is refused: another thread could change it while it is read.
 *
 * @throws {LifecycleError} `invalid_chunk`.
 */
export function bytesOf(chunk: Uint8Array | string): Uint8Array {
  if (typeof chunk === "string") return Buffer.from(chunk);
  if (!types.isUint8Array(chunk)) {
    throw new LifecycleError("invalid_chunk", "the chunk must be a Uint8Array, a Buffer or text");
  }
  if (types.isSharedArrayBuffer(chunk.buffer)) {
    throw new LifecycleError("invalid_chunk", "the chunk is shared memory; give a copy of it");
  }
  return chunk;
}
