// Keeps the stored binding of a live session equal to what its adapter says, one write after the other.
import type {
  BindingClaim,
  BindingDiagnostic,
  BindingMode,
  BindingRepository,
  BindingUpdate,
  NativeReservation,
  RuntimeSessionBinding,
} from "./binding.js";
import type { NativeSessionState } from "./driver.js";
import { BindingError } from "./errors.js";

/** Codes that say that another has the session, or its native session: this one must end. */
const LOST = new Set(["binding_conflict", "binding_fenced", "binding_native_taken", "binding_not_found"]);

/** The stored binding of one live generation. */
export class NativeBinding {
  readonly #store: BindingRepository;
  readonly #claim: BindingClaim;
  readonly #mode: BindingMode;
  #stored: RuntimeSessionBinding;
  #last: Promise<unknown> = Promise.resolve();
  #reservations: NativeReservation[] = [];
  #isReleased = false;

  constructor(store: BindingRepository, claim: BindingClaim, mode: BindingMode) {
    this.#store = store;
    this.#claim = claim;
    this.#mode = mode;
    this.#stored = claim.binding;
  }

  /** As it was last read or written. */
  get stored(): RuntimeSessionBinding {
    return this.#stored;
  }

  /**
   * Writes what the adapter says. A native id that differs from the recorded one is refused without a write.
   *
   * @throws {BindingError} of the store, or `native_id_changed`.
   */
  keep(native: NativeSessionState): Promise<void> {
    return this.#inTurn(async () => {
      const recorded = this.#stored.nativeSessionId;
      const { nativeSessionId } = native;
      if (recorded !== undefined && nativeSessionId !== recorded) {
        throw new BindingError(
          "native_id_changed",
          "the adapter opened another native session than the recorded one",
          {
            phase: "open",
            correlationId: this.#stored.productSessionId,
          },
        );
      }
      const state = nativeSessionId === undefined ? "unbound" : "bound";
      await this.#write({ ...nativeStateOf(native), state });
    });
  }

  /** Writes that the native session is missing, or does not open. What was recorded stays. */
  fail(state: "missing" | "error", diagnostic: BindingDiagnostic): Promise<void> {
    return this.#inTurn(async () => {
      await this.#write({ ...nativeStateOf(this.#stored), state, diagnostic });
    });
  }

  async reserve(nativeSessionId: string): Promise<void> {
    const { productSessionId, adapterId } = this.#stored;
    const reservation = await this.#store.reserveNative({ productSessionId, adapterId, nativeSessionId });
    // A driver that opens too late reserves for nobody.
    if (this.#isReleased) await reservation.release();
    else this.#reservations.push(reservation);
  }

  /** Notes a native session that was made and is bound to nobody. */
  async orphan(nativeSessionId: string): Promise<void> {
    const { productSessionId, adapterId } = this.#stored;
    await this.#store.recordOrphan({ productSessionId, adapterId, nativeSessionId });
  }

  /** Gives up the claim and what is reserved, after the last write. */
  release(): Promise<void> {
    return this.#inTurn(async () => {
      this.#isReleased = true;
      const reservations = this.#reservations.splice(0);
      await Promise.allSettled(reservations.map((one) => one.release()));
      await this.#claim.release();
    });
  }

  async #write(
    native: Omit<BindingUpdate, "productSessionId" | "runtimeInstanceId" | "adapterId">,
  ): Promise<void> {
    const { productSessionId, runtimeInstanceId, adapterId, revision } = this.#stored;
    this.#stored = await this.#store.update(
      { productSessionId, runtimeInstanceId, adapterId, ...native },
      { expectedRevision: revision, mode: this.#mode, generation: this.#claim.generation },
    );
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

/** Whether an error of the store means that this generation may not go on. */
export const isLost = (error: unknown): boolean => error instanceof BindingError && LOST.has(error.code);

/** What is the adapter's own of a binding: the members that are there. */
export function nativeStateOf(native: {
  [Member in keyof NativeSessionState]: NativeSessionState[Member] | undefined;
}): NativeSessionState {
  const { nativeSessionId, protocol, protocolVersion, adapterVersion, locator, metadata } = native;
  return {
    ...(nativeSessionId !== undefined && { nativeSessionId }),
    ...(protocol !== undefined && { protocol }),
    ...(protocolVersion !== undefined && { protocolVersion }),
    ...(adapterVersion !== undefined && { adapterVersion }),
    ...(locator !== undefined && { locator }),
    ...(metadata !== undefined && { metadata }),
  };
}
