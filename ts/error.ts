// The one error class of the package. How a refusal of the Rust core becomes one: src/error.rs and native.ts.

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
  code: string;
  message: string;
  path?: string;
  issues?: readonly LifecycleIssue[];
}

/** A refusal: `code` is stable and listed in the docs, `path` names the member at fault, the message is for people. */
export class LifecycleError extends TypeError {
  readonly code: string;
  declare readonly path?: string;
  declare readonly issues?: readonly LifecycleIssue[];

  constructor(code: string, message: string, options: LifecycleErrorOptions = {}) {
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
