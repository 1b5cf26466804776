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
  const ended = deferred<RuntimeTurnResult>();
  const abandoned = deferred<never>();
  const over = deferred<void>();
  return {
    turnId: randomUUID(),
    ended: ended.promise,
    abandoned: abandoned.promise,
    over: over.promise,
    end: ended.resolve,
    abandon: abandoned.reject,
    leave: over.resolve,
  };
}

/** A promise, and how it is settled. Who does not wait for its rejection need not hear of it. */
export function deferred<T>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: RuntimeError) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: RuntimeError) => void;
  const promise = new Promise<T>((give, refuse) => {
    resolve = give;
    reject = refuse;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
