// The main entry: what index.js gives to both `require` and `import`.
import { callNative } from "./native.js";

export { normalizeLifecycleEvent } from "./contract.js";
export type {
  Capabilities,
  Capability,
  Json,
  LifecycleEvent,
  LifecycleEventInput,
  LifecycleEventKind,
  LifecycleState,
  Lineage,
  WaitingReason,
} from "./contract.js";
export { createJsonlRecordDecoder } from "./decoder.js";
export type { JsonlRecordDecoder, JsonlRecordDecoderOptions, JsonlRecordDecoderStats } from "./decoder.js";
export { LifecycleError } from "./error.js";
export type { LifecycleErrorJson, LifecycleErrorOptions, LifecycleIssue } from "./error.js";
export { JsonlLifecycleParser } from "./parser.js";
export type { Diagnostic, DiagnosticCode, JsonlLifecycleParserOptions } from "./parser.js";
export { LifecycleProjector } from "./projector.js";
export type {
  ApplyCode,
  ApplyJsonlResult,
  ApplyOptions,
  ApplyResult,
  ApplyStatus,
  AuditEntry,
  LifecycleProjectorOptions,
  LifecycleRecord,
  RefusedResult,
} from "./projector.js";
export { redact } from "./redact.js";
export type { RedactOptions } from "./redact.js";
export type { Outcome, Row, RowTree } from "./row.js";

/** The version of the Rust core that the loaded addon was built from. */
export function coreVersion(): string {
  return callNative((native) => native.coreVersion());
}
