// Bindings of product sessions in one SQLite file, which several processes of a host may use at the same time.
import { booleanOption, numberOption, optionsArgument, set, textArgument } from "../arguments.js";
import { atExit, notAtExit } from "../at-exit.js";
import { type Native, callNative, fromNative } from "../native.js";
import type {
  BindingClaim,
  BindingFilter,
  BindingHistoryEntry,
  BindingInspection,
  BindingRepository,
  BindingStoreOptions,
  BindingUpdate,
  BindingUpdateOptions,
  NativeReservation,
  NativeSession,
  NewBinding,
  RuntimeSessionBinding,
} from "./binding.js";
import { BindingError, type RuntimeErrorDetails } from "./errors.js";

/** Every binding that can be read, as it may be shown, and the rows that cannot. */
export interface BindingOverview {
  readonly bindings: readonly BindingInspection[];
  readonly corrupt: readonly CorruptBinding[];
}

/** A row that cannot be read. */
export interface CorruptBinding {
  readonly productSessionId?: string;
  readonly what: string;
}

/** What a repair found and freed, or would free. */
export interface BindingRepair {
  readonly bindings: number;
  readonly corrupt: readonly CorruptBinding[];
  readonly fileFaults: readonly string[];
  readonly strayNativeIds: number;
  readonly freed: readonly string[];
  readonly freedReservations: number;
  readonly owned: readonly string[];
}

interface FaultView {
  code: string;
  message: string;
  details: RuntimeErrorDetails & { productSessionId?: string };
}
type Answer<T> = { ok: T } | { fault: FaultView };

/** @internal For the command: a store that is there already. */
export let existingStore: (path: string) => Promise<BindingStore>;
/** @internal What may be shown of a whole store, damaged rows included. */
export let storeOverview: (store: BindingStore) => Promise<BindingOverview>;
/** @internal Checks a store and frees what the dead own, and the session of which an operator says so. */
export let repairStore: (store: BindingStore, dryRun: boolean, release?: string) => Promise<BindingRepair>;

/**
 * A store of bindings. Each operation is one transaction on a thread of the store's own; what it owns is released when it is
 * closed, and when its worker thread or process ends.
 */
export class BindingStore implements BindingRepository {
  static {
    existingStore = (path) => BindingStore.#open(path, { mustExist: true });
    storeOverview = (store) => store.#ask((native) => native.overview("{}"));
    repairStore = (store, dryRun, release) => store.#ask((native) => native.repair(dryRun, release));
  }

  readonly #native: Native.NativeBindingStore;
  #closed: Promise<void> | undefined;
  readonly #end = (): void => {
    callNative(() => this.#native.end());
  };

  private constructor(native: Native.NativeBindingStore) {
    this.#native = native;
    atExit(this.#end);
  }

  /**
   * Opens the store at `path`, whose folder must be there; the file is made where there is none, for its user only.
   *
   * @throws {BindingError} `binding_no_store`, `binding_newer_format`, `binding_corrupt`, `binding_busy`, `binding_io`.
   */
  static async open(path: string, options?: BindingStoreOptions): Promise<BindingStore> {
    const { busyTimeoutMs } = optionsArgument(options, "options", ["busyTimeoutMs"]);
    return BindingStore.#open(path, set("busyTimeoutMs", numberOption(busyTimeoutMs, "busyTimeoutMs")));
  }

  static async #open(path: string, options: Native.NativeBindingStoreOptions): Promise<BindingStore> {
    const file = textArgument(path, "path");
    const store = new BindingStore(callNative((native) => new native.NativeBindingStore(file, options)));
    try {
      await store.#ask<null>((native) => native.ready());
    } catch (error) {
      await store.close();
      throw error;
    }
    return store;
  }

  /**
   * Records a new binding with revision 1 and generation 0; its state is `unbound` by default.
   *
   * @throws {BindingError} `binding_exists`, `binding_native_taken`, `binding_transition`, `binding_invalid`.
   */
  async create(binding: NewBinding): Promise<RuntimeSessionBinding> {
    return this.#ask((native) => native.create(jsonText(binding, "binding")));
  }

  /** The binding of a product session; `undefined` where there is none. */
  async get(productSessionId: string): Promise<RuntimeSessionBinding | undefined> {
    const id = textArgument(productSessionId, "productSessionId");
    return (await this.#ask<RuntimeSessionBinding | null>((native) => native.get(id))) ?? undefined;
  }

  /**
   * The bindings that the filter lets through, in the order of their product session ids.
   *
   * @throws {BindingError} `binding_corrupt` where one of them cannot be read; a list without it would be a lie.
   */
  async list(filter?: BindingFilter): Promise<RuntimeSessionBinding[]> {
    const only = optionsArgument(filter, "filter", ["adapterId", "state", "runtimeInstanceId"]);
    return this.#ask((native) => native.list(jsonText(only, "filter")));
  }

  /**
   * Replaces the content of a binding. What is left out of `next` is absent then. Equal content writes nothing.
   *
   * @throws {BindingError} in this order: `binding_conflict`, `binding_fenced`, `binding_owned`, `binding_transition`,
   * `binding_native_taken`; and `binding_invalid`.
   */
  async update(next: BindingUpdate, options: BindingUpdateOptions): Promise<RuntimeSessionBinding> {
    const given = optionsArgument(options, "options", ["expectedRevision", "mode", "generation"]);
    return this.#ask((native) => native.update(jsonText(next, "binding"), jsonText(given, "options")));
  }

  /**
   * Takes a session over: the next generation, until it is released or this process ends. One that is `missing` or in `error`
   * needs `repair`.
   *
   * @throws {BindingError} `binding_owned` while an owner may live, `binding_missing`, `binding_error`, `binding_not_found`.
   */
  async claim(productSessionId: string, options?: { readonly repair?: boolean }): Promise<BindingClaim> {
    const id = textArgument(productSessionId, "productSessionId");
    const repair = booleanOption(optionsArgument(options, "options", ["repair"]).repair, "repair");
    const claimed = await this.#ask<Omit<BindingClaim, "release">>((native) =>
      native.claim(id, repair === true),
    );
    const release = () => this.#giveUp((native) => native.release(id, claimed.generation));
    return { ...claimed, release };
  }

  /** What may be shown of a binding: no native id, no value of its locator or metadata. `undefined` where there is none. */
  async inspect(productSessionId: string): Promise<BindingInspection | undefined> {
    const id = textArgument(productSessionId, "productSessionId");
    return (await this.#ask<BindingInspection | null>((native) => native.inspect(id))) ?? undefined;
  }

  /** The last 1,000 changes of a session, oldest first; for the host, as they name native ids. Empty where there is none. */
  async history(productSessionId: string): Promise<BindingHistoryEntry[]> {
    const id = textArgument(productSessionId, "productSessionId");
    return this.#ask((native) => native.history(id));
  }

  /**
   * Keeps a native id for a product session, which need not have a binding yet. The write that records it in the session's
   * binding consumes the reservation.
   *
   * @throws {BindingError} `binding_native_taken` where a binding or a reservation has it, `binding_invalid`.
   */
  async reserveNative(native: NativeSession): Promise<NativeReservation> {
    const text = jsonText(native, "native");
    const { reservation, ...kept } = await this.#ask<NativeSession & { reservation: string }>((store) =>
      store.reserve(text),
    );
    const release = () => this.#giveUp((store) => store.unreserve(reservation));
    return { ...kept, durable: false, release };
  }

  /** Notes in the history a native session that was made and that nobody is bound to, for somebody to look after. */
  async recordOrphan(native: NativeSession): Promise<void> {
    const text = jsonText(native, "native");
    await this.#ask<null>((store) => store.orphan(text));
  }

  /** Takes no more requests, and settles when what waited is done and what this store owns is released. */
  async close(): Promise<void> {
    notAtExit(this.#end);
    this.#closed ??= this.#closeOnce();
    return this.#closed;
  }

  async #closeOnce(): Promise<void> {
    await this.#ask<null>((native) => native.close());
    // Its thread is at its end; waiting for that gives back its stack.
    this.#end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Gives something up; a store that was closed has done so. */
  async #giveUp(start: (native: Native.NativeBindingStore) => Promise<string>): Promise<boolean> {
    try {
      return await this.#ask<boolean>(start);
    } catch (error) {
      if (error instanceof BindingError && error.code === "binding_closed") return false;
      throw error;
    }
  }

  async #ask<T>(start: (native: Native.NativeBindingStore) => Promise<string>): Promise<T> {
    let text: string;
    try {
      text = await callNative(() => start(this.#native));
    } catch (error) {
      throw fromNative(error);
    }
    const answer = JSON.parse(text) as Answer<T>;
    if ("ok" in answer) return answer.ok;
    throw bindingError(answer.fault);
  }
}

/** What a caller gave, as text that the core reads. */
function jsonText(value: unknown, member: string): string {
  if (typeof value === "object" && value !== null) {
    try {
      const text = JSON.stringify(value) as string | undefined;
      if (text !== undefined) return text;
    } catch (cause) {
      const what = "cannot be written as JSON: it has a cycle, a bigint, or a getter that throws";
      throw invalid(member, what, cause);
    }
  }
  throw invalid(member, "must be an object");
}

function invalid(member: string, what: string, cause?: unknown): BindingError {
  const options = { phase: "store", details: { member }, ...(cause !== undefined && { cause }) } as const;
  return new BindingError("binding_invalid", `${member} ${what}`, options);
}

function bindingError({ code, message, details }: FaultView): BindingError {
  return new BindingError(code, message, {
    phase: "store",
    correlationId: details.productSessionId,
    details,
  });
}
