// Bytes from a caller on their way into the addon.
import { types } from "node:util";
import { LifecycleError } from "./error.js";

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array;

/** What the engine itself says of a typed array: an own property or a subclass can say something else. */
function own<T>(member: string): (this: Uint8Array) => T {
  return Object.getOwnPropertyDescriptor(typedArray, member)?.get as (this: Uint8Array) => T;
}

const bufferOf = own<ArrayBufferLike>("buffer");
const offsetOf = own<number>("byteOffset");
const lengthOf = own<number>("byteLength");

/**
 * `chunk` as a plain array of the bytes that are really there; text is taken as UTF-8. Shared memory is refused: another thread could change it while it is read.
 * So is text that cuts a character in two: its halves would become two replacement characters.
 *
 * @throws {LifecycleError} `invalid_chunk`.
 */
export function bytesOf(chunk: Uint8Array | string): Uint8Array {
  if (typeof chunk === "string") {
    if (/\p{Surrogate}/u.test(chunk)) {
      throw new LifecycleError("invalid_chunk", "the chunk has a lone surrogate; push bytes instead");
    }
    return Buffer.from(chunk);
  }
  if (!types.isUint8Array(chunk)) {
    throw new LifecycleError("invalid_chunk", "the chunk must be a Uint8Array, a Buffer or text");
  }
  if (types.isSharedArrayBuffer(bufferOf.call(chunk))) {
    throw new LifecycleError("invalid_chunk", "the chunk is shared memory; give a copy of it");
  }
  // Bytes that are gone have no length, whatever their array says.
  if (lengthOf.call(chunk) === 0 && !isInPlace(chunk)) {
    throw new LifecycleError("invalid_chunk", "the chunk's memory is gone; give bytes that are still there");
  }
  return new Uint8Array(bufferOf.call(chunk), offsetOf.call(chunk), lengthOf.call(chunk));
}

/** Whether the memory is there: not transferred, and not cut off by a smaller size of its buffer. */
function isInPlace(chunk: Uint8Array): boolean {
  try {
    typedArray.keys.call(chunk);
    return true;
  } catch {
    return false;
  }
}
