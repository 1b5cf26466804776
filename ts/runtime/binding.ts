// The binding of a product session to a native session as plain data, and what a store of bindings does.
import type { Json } from "../contract.js";

/** How far a binding has come: see the table in `docs/bindings.md`. */
export type BindingState = "unbound" | "bound" | "missing" | "error";

/** Which changes an update may make: `repair` also brings back what was missing, `rebind` anything. */
export type BindingMode = "normal" | "repair" | "rebind";

/** How an adapter finds the native state. */
export type BindingLocatorKind = "local-file" | "local-directory" | "uri" | "remote" | "adapter-resolved";

/** Where the native state is; for the adapter only. */
export interface BindingLocator {
  readonly kind: BindingLocatorKind;
  readonly value?: string;
}

/** Why a binding is in its state. */
export interface BindingDiagnostic {
  readonly code: string;
  readonly phase: string;
  /** RFC 3339 UTC. */
  readonly at: string;
  /** Redacted; at most 4,000 UTF-16 code units, longer text is cut. */
  readonly message: string;
}

/** What a host decides about a binding: everything but the store's own numbers and times. */
export interface BindingContent {
  /** The product's own session, such as `ps_...`; at most 512 bytes. */
  readonly productSessionId: string;
  /** The configured instance: lower-case words joined by `.`, `_` or `-`. */
  readonly runtimeInstanceId: string;
  /** The adapter's type, written alike. */
  readonly adapterId: string;
  /** The harness' own session, unique within the adapter. Opaque: never a path, never a product identity. */
  readonly nativeSessionId?: string;
  readonly state: BindingState;
  readonly protocol?: string;
  readonly protocolVersion?: string;
  readonly adapterVersion?: string;
  readonly locator?: BindingLocator;
  /** For the adapter only; at most 64 KiB as JSON. */
  readonly metadata?: { readonly [name: string]: Json };
  readonly diagnostic?: BindingDiagnostic;
}

/** A binding as it is stored; a copy. */
export interface RuntimeSessionBinding extends BindingContent {
  /** 1 at creation, 1 more with each change. */
  readonly revision: number;
  /** 0 until the first claim, 1 more with each. */
  readonly generation: number;
  /** RFC 3339 UTC, as `updatedAt`. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** The store's own numbers and times, which are ignored in what is written. */
type Ignored = Partial<Pick<RuntimeSessionBinding, "revision" | "generation" | "createdAt" | "updatedAt">>;

/** What `create` takes; the state is `unbound` by default. */
export type NewBinding = Omit<BindingContent, "state"> & { readonly state?: BindingState } & Ignored;

/** What `update` takes: the whole content as it is to be. What is left out is then absent. */
export type BindingUpdate = BindingContent & Ignored;

/** How `update` writes. */
export interface BindingUpdateOptions {
  /** The revision that the update was made from; another one is refused. */
  readonly expectedRevision: number;
  /** `normal` by default. */
  readonly mode?: BindingMode;
  /** That of the claim under which this is written; another one is refused. `repair` and `rebind` need it while somebody owns it. */
  readonly generation?: number;
}

/** Which bindings `list` gives; every one by default. */
export interface BindingFilter {
  readonly adapterId?: string;
  readonly state?: BindingState;
  readonly runtimeInstanceId?: string;
}

/** The right to run a session, until it is released or its owner is provably dead. */
export interface BindingClaim {
  /** The binding with its new revision and generation. */
  readonly binding: RuntimeSessionBinding;
  /** The fence: it only grows. */
  readonly generation: number;
  /** Gives it up; `false` where that was done before, or a later generation has it. */
  release(): Promise<boolean>;
}

/** Whether who claimed a binding still lives; `unknown` counts as living. */
export type BindingOwnerStatus = "alive" | "dead" | "unknown";

/** A binding without what is the adapter's or the harness' own: fit for users of a product. */
export interface BindingInspection extends Omit<
  RuntimeSessionBinding,
  "nativeSessionId" | "locator" | "metadata"
> {
  /** Whether a native session is recorded. */
  readonly hasNativeSession: boolean;
  readonly locatorKind?: BindingLocatorKind;
  /** The names of the members of `metadata`; absent without. */
  readonly metadataKeys?: readonly string[];
  /** Who claimed it and did not give it up. */
  readonly owner?: { readonly pid?: number; readonly status: BindingOwnerStatus };
}

/** What an entry of the history tells. `orphaned`: a native session was made that nobody is bound to. `freed`: its owner was dead. */
export type BindingChange = "created" | "updated" | "claimed" | "released" | "freed" | "orphaned";

/** One change of a binding. */
export interface BindingHistoryEntry {
  readonly change: BindingChange;
  /** RFC 3339 UTC. */
  readonly at: string;
  /** Those after the change. `created`, `updated` and `claimed` each have a revision of their own. */
  readonly revision: number;
  readonly generation: number;
  /** Of `updated`. */
  readonly mode?: BindingMode;
  readonly state: BindingState;
  readonly runtimeInstanceId: string;
  readonly adapterId: string;
  /** The recorded native session; of `orphaned`, the one that was given up. */
  readonly nativeSessionId?: string;
  readonly diagnostic?: BindingDiagnostic;
  readonly locatorKind?: BindingLocatorKind;
  readonly metadataKeys?: readonly string[];
}

/** A native session by its adapter. */
export interface NativeSession {
  readonly productSessionId: string;
  readonly adapterId: string;
  readonly nativeSessionId: string;
}

/** A native id that is kept for one product session until a binding records it. */
export interface NativeReservation extends NativeSession {
  /** A reservation is no binding: what the harness made may be deleted by it without anything being `missing`. */
  readonly durable: false;
  /** Gives it up; `false` where a binding has recorded the id, or it was given up before. */
  release(): Promise<boolean>;
}

/** How a store is opened. */
export interface BindingStoreOptions {
  /** How long an operation waits for other writers, in milliseconds; 5,000 by default. */
  readonly busyTimeoutMs?: number;
}

/** The codes of a `BindingError` of a store. */
export type BindingErrorCode =
  | "binding_busy"
  | "binding_closed"
  | "binding_conflict"
  | "binding_corrupt"
  | "binding_error"
  | "binding_exists"
  | "binding_fenced"
  | "binding_invalid"
  | "binding_io"
  | "binding_missing"
  | "binding_native_taken"
  | "binding_newer_format"
  | "binding_no_store"
  | "binding_not_found"
  | "binding_owned"
  | "binding_transition";

/** What `BindingStore` does, for whoever keeps bindings elsewhere. Each fault is a `BindingError`. */
export interface BindingRepository {
  /** Records a new binding: revision 1, generation 0. */
  create(binding: NewBinding): Promise<RuntimeSessionBinding>;
  get(productSessionId: string): Promise<RuntimeSessionBinding | undefined>;
  /** In the order of their product session ids. */
  list(filter?: BindingFilter): Promise<RuntimeSessionBinding[]>;
  /** Replaces the content. Equal content writes nothing. */
  update(next: BindingUpdate, options: BindingUpdateOptions): Promise<RuntimeSessionBinding>;
  /** Takes the session over. One that is `missing` or in `error` needs `repair`. */
  claim(productSessionId: string, options?: { readonly repair?: boolean }): Promise<BindingClaim>;
  inspect(productSessionId: string): Promise<BindingInspection | undefined>;
  /** The changes, oldest first. */
  history(productSessionId: string): Promise<BindingHistoryEntry[]>;
  /** Keeps a native id for a product session. */
  reserveNative(native: NativeSession): Promise<NativeReservation>;
  /** Notes in the history a native session that was made and then lost the race to be bound. */
  recordOrphan(native: NativeSession): Promise<void>;
  close(): Promise<void>;
}
