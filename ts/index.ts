// The main entry: what index.js gives to both `require` and `import`.
import { callNative } from "./native.js";

export { LifecycleError } from "./error.js";
export type { LifecycleErrorJson, LifecycleErrorOptions, LifecycleIssue } from "./error.js";

/** The version of the Rust core that the loaded addon was built from. */
export function coreVersion(): string {
  return callNative((native) => native.coreVersion());
}
