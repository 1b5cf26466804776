// A turn as the host waits for it.
import { randomUUID } from "node:crypto";
import type { RuntimeError, TurnError } from "./errors.js";
import type { RuntimeTurnResult } from "./session.js";

export interface Turn {
  readonly turnId: string;
  /** Its end, as events tell it. */
  readonly ended: Promise<RuntimeTurnResult>;
  /** Rejects where it is given up before the harness has accepted it. */
  readonly abandoned: Promise<never>;
  /** Resolves when it is on no more, whether it ended or never was. */
  readonly over: Promise<void>;
  end(result: RuntimeTurnResult): void;
  abandon(error: TurnError): void;
  leave(): void;
  aborting?: Promise<void>;
}

export function newTurn(): Turn {
  let end!: Turn["end"];
  let abandon!: Turn["abandon"];
  let leave!: Turn["leave"];
  const ended = new Promise<RuntimeTurnResult>((resolve) => (end = resolve));
  const abandoned = new Promise<never>((_, reject) => (abandon = reject));
  const over = new Promise<void>((resolve) => (leave = resolve));
  // Who does not wait for it need not hear of it.
  abandoned.catch(() => undefined);
  return { turnId: randomUUID(), ended, abandoned, over, end, abandon, leave };
}

/** A promise that only rejects, and how: for the end of a session. */
export function ending(): { promise: Promise<never>; reject: (error: RuntimeError) => void } {
  let reject!: (error: RuntimeError) => void;
  const promise = new Promise<never>((_, refuse) => {
    reject = refuse;
  });
  // Not everybody waits for it.
  promise.catch(() => undefined);
  return { promise, reject };
}

/** A promise, and how it is resolved. */
export function opened(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
