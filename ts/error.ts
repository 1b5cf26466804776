// The one error class of the package. How a refusal of the Rust core becomes one: src/error.rs and native.ts.

/** The stable codes of this version; the text of another is of a newer one. `docs/contract.md` and `docs/agent-events.md` say when each is given. */
export type LifecycleErrorCode =
  | "addon_missing"
  | "already_created"
  | "child_refused"
  | "discovery_closed"
  | "epoch_mismatch"
  | "foreign_snapshot"
  | "illegal_transition"
  | "incomplete_snapshot"
  | "invalid_activity"
  | "invalid_argument"
  | "invalid_binding"
  | "invalid_capabilities"
  | "invalid_chunk"
  | "invalid_details"
  | "invalid_event"
  | "invalid_exit_code"
  | "invalid_id"
  | "invalid_kind"
  | "invalid_lineage"
  | "invalid_number"
  | "invalid_option"
  | "invalid_outcome"
  | "invalid_provider"
  | "invalid_schema_version"
  | "invalid_sequence"
  | "invalid_session"
  | "invalid_snapshot"
  | "invalid_state"
  | "invalid_string"
  | "invalid_timestamp"
  | "invalid_type"
  | "invalid_value"
  | "invalid_waiting_reason"
  | "journal_busy"
  | "journal_closed"
  | "journal_integrity"
  | "journal_io"
  | "journal_lock_timeout"
  | "journal_lock_without_owner"
  | "journal_single_writer"
  | "journal_stopped"
  | "journal_sync_failed"
  | "lock_guard_unavailable"
  | "lock_lost"
  | "lock_not_released"
  | "lock_restore_failed"
  | "more_faults"
  | "publisher_closed"
  | "publisher_lost"
  | "publisher_overflow"
  | "source_owned"
  | "state_directory"
  | "unavailable"
  | "too_deep"
  | "torn_stream"
  | "unknown_field"
  | "unreadable"
  | "unusable_settings"
  | (string & {});

/** One fault of a value that has several. */
export interface LifecycleIssue {
  readonly code: string;
  readonly path?: string;
  readonly message: string;
}

/** What a `LifecycleError` may carry beside its code and message. */
export interface LifecycleErrorOptions {
  readonly path?: string | undefined;
  readonly issues?: readonly LifecycleIssue[] | undefined;
  readonly cause?: unknown;
}

/** What `JSON.stringify` writes for a `LifecycleError`. */
export interface LifecycleErrorJson {
  name: string;
  code: LifecycleErrorCode;
  message: string;
  path?: string;
  issues?: readonly LifecycleIssue[];
}

/** A refusal: `code` is stable and listed in the docs, `path` names the member at fault, the message is for people. */
export class LifecycleError extends TypeError {
  readonly code: LifecycleErrorCode;
  declare readonly path?: string;
  declare readonly issues?: readonly LifecycleIssue[];

  constructor(code: LifecycleErrorCode, message: string, options: LifecycleErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    if (options.path !== undefined) this.path = options.path;
    if (options.issues !== undefined) this.issues = options.issues;
  }

  toJSON(): LifecycleErrorJson {
    const json: LifecycleErrorJson = { name: this.name, code: this.code, message: this.message };
    if (this.path !== undefined) json.path = this.path;
    if (this.issues !== undefined) json.issues = this.issues;
    return json;
  }
}

// On the prototype, as for the built-in errors, so that it is no own member of each error.
Object.defineProperty(LifecycleError.prototype, "name", {
  value: "LifecycleError",
  configurable: true,
  writable: true,
});
