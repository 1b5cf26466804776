// The main entry: what index.js gives to both `require` and `import`.
import { callNative } from "./native.js";

export { assertAgentLifecycleEvent, validateAgentLifecycleEvent } from "./agent-event.js";
export type {
  AgentDoneEvent,
  AgentEventIssue,
  AgentEventIssueCode,
  AgentEventValidation,
  AgentExitedEvent,
  AgentLifecycleEvent,
  AgentLifecycleEventKind,
  AgentMetadataEvent,
  AgentModel,
  AgentOutcome,
  AgentWaitState,
  SessionStartedEvent,
  SessionStoppedEvent,
  SubagentDoneEvent,
  SubagentStartedEvent,
  ToolFinishedEvent,
  ToolStartedEvent,
  TurnStartedEvent,
  WaitFinishedEvent,
  WaitStartedEvent,
} from "./agent-event.js";
export { safeAgentString, selectAgentMapping } from "./agent-text.js";
export type { AgentMapping } from "./agent-text.js";
export { AdapterProcess, AdapterRequestError, AdapterResponseError } from "./runtime/adapter-process.js";
export type {
  AdapterDiagnostic,
  AdapterNotification,
  AdapterProcessEnd,
  AdapterProcessEndReason,
  AdapterProcessLimits,
  AdapterProcessOptions,
  AdapterProcessState,
  AdapterRequest,
  AdapterRequestOptions,
} from "./runtime/adapter-process.js";
export { bridgeAgentEvents } from "./bridge.js";
export type {
  AgentBridge,
  AgentBridgeOptions,
  AgentEventContext,
  ContentLevel,
  CorrectedRecord,
} from "./bridge.js";
export { normalizeLifecycleEvent } from "./contract.js";
export type {
  Capabilities,
  Capability,
  Json,
  LifecycleEvent,
  LifecycleEventBody,
  LifecycleEventInput,
  LifecycleEventKind,
  LifecycleState,
  Lineage,
  WaitingReason,
} from "./contract.js";
export { createJsonlRecordDecoder } from "./decoder.js";
export type { JsonlRecordDecoder, JsonlRecordDecoderOptions, JsonlRecordDecoderStats } from "./decoder.js";
export { fallbackTodos, statusReport } from "./display.js";
export type { DisplayOptions, FallbackTodo } from "./display.js";
export { LifecycleError } from "./error.js";
export type {
  LifecycleErrorCode,
  LifecycleErrorJson,
  LifecycleErrorOptions,
  LifecycleIssue,
} from "./error.js";
export { followJournal } from "./follow.js";
export type { FollowDiagnostic, FollowJournalOptions, FollowedChunk, FollowedJournal } from "./follow.js";
export { createHermesDelegationReconciler } from "./hermes-reconciler.js";
export type {
  HermesDelegationReconciler,
  HermesDelegationReconcilerOptions,
  HermesDiagnostic,
  HermesReconciled,
  HermesStatusReason,
} from "./hermes-reconciler.js";
export {
  hermesLifecycle,
  normalizeHermesDelegationEvent,
  reconcileHermesDelegationStatus,
  routingDecision,
} from "./hermes.js";
export type {
  HermesDelegation,
  HermesDelegationEvent,
  HermesInput,
  HermesIntent,
  HermesLifecycle,
  HermesLifecycleOptions,
  HermesOutput,
  HermesRecord,
  HermesRefusal,
  HermesReport,
  HermesReportCode,
  HermesStatus,
  HermesStatusSnapshot,
  ReconcileHermesOptions,
  RoutingDecision,
  RoutingProfile,
  RoutingQuestion,
  RoutingStatus,
} from "./hermes.js";
export type { HermesMonitorSource } from "./hermes-source.js";
export { hookSettings } from "./hooks.js";
export type { HookCommand, HookEventName, HookSettings, HookSettingsOptions } from "./hooks.js";
export { hostStatus } from "./host-status.js";
export type { HostStatus } from "./host-status.js";
export { JsonlLifecycleJournal } from "./journal.js";
export type {
  AppendOptions,
  JournalError,
  JournalProblem,
  JournalRepair,
  JournalRotation,
  JournalVerification,
  JournalledEvent,
  JsonlLifecycleJournalOptions,
  ReplayBatch,
  ReplayResult,
  RotateOptions,
} from "./journal.js";
export type { Evidence, Explanation, LateEvidence } from "./explanation.js";
export { openMonitor } from "./monitor.js";
export type {
  Monitor,
  MonitorAnswer,
  MonitorDiagnostic,
  MonitorOptions,
  MonitorQuestion,
  MonitorSource,
} from "./monitor.js";
export { observeJsonlSession } from "./observe.js";
export type { ObserveJsonlSessionOptions } from "./observe.js";
export type { AgentJournalRole, AgentObservationDiagnostic } from "./observed-journal.js";
export { JsonlLifecycleParser } from "./parser.js";
export type { Diagnostic, DiagnosticCode, JsonlLifecycleParserOptions } from "./parser.js";
export { LifecycleProjector } from "./projector.js";
export type {
  ApplyCode,
  ApplyJsonlResult,
  ApplyOptions,
  ApplyResult,
  ApplyStatus,
  LifecycleProjectorOptions,
  LifecycleRecord,
  ProcessEvidence,
  ReconcileOptions,
  RefusedResult,
} from "./projector.js";
export { createAgentLifecyclePublisher } from "./publisher.js";
export type {
  AgentLifecyclePublisher,
  AgentLifecyclePublisherOptions,
  AgentLifecycleSink,
} from "./publisher.js";
export { openPublisher } from "./publisher-file.js";
export type { AgentPublisher, OpenPublisherOptions } from "./publisher-file.js";
export { readStatus } from "./read-status.js";
export type { ReadStatusOptions, StatusRead } from "./read-status.js";
export { createReconciler } from "./reconciler.js";
export type { AuditQuery, Reconciler, ReconcilerDiagnostic, ReconcilerOptions } from "./reconciler.js";
export { redact } from "./redact.js";
export type { RedactOptions } from "./redact.js";
export { treeOf } from "./row.js";
export type { ChangeSet, Outcome, Row, RowTree, StaleReason } from "./row.js";
export { BindingStore } from "./runtime/binding-store.js";
export type {
  BindingChange,
  BindingClaim,
  BindingContent,
  BindingDiagnostic,
  BindingErrorCode,
  BindingFilter,
  BindingHistoryEntry,
  BindingInspection,
  BindingLocator,
  BindingLocatorKind,
  BindingMode,
  BindingOwnerStatus,
  BindingRepository,
  BindingState,
  BindingStoreOptions,
  BindingUpdate,
  BindingUpdateOptions,
  NativeReservation,
  NativeSession,
  NewBinding,
  RuntimeSessionBinding,
} from "./runtime/binding.js";
export { BindingError } from "./runtime/errors.js";
export type {
  RuntimeErrorDetails,
  RuntimeErrorJson,
  RuntimeErrorOptions,
  RuntimePhase,
} from "./runtime/errors.js";
export type {
  ApprovalRegistryOptions,
  ApprovalReply,
  AskedApproval,
  AskedUserInput,
  ClearOutcome,
  NativeRequestKey,
  OpenResult,
  PendingRequests,
  RequestFilter,
  RequestRefusal,
  ResolvedRequest,
  UserInputAnswer,
  UserInputAnswers,
} from "./runtime/approval.js";
export { bridgeSemanticEvents } from "./runtime/agent-events.js";
export type { SemanticBridge, SemanticBridgeOptions } from "./runtime/agent-events.js";
export { ApprovalRegistry } from "./runtime/approval-registry.js";
export type {
  DropReason,
  Observed,
  ObservedPlace,
  ObservedText,
  RequestResolution,
  TurnDiagnostic,
  TurnInput,
  TurnPlace,
  TurnSequencerOptions,
  TurnSequencerStats,
} from "./runtime/observation.js";
export type {
  AdapterLifecycleSemanticEvent,
  AgentRuntimeSemanticEvent,
  AgentRuntimeSemanticEventKind,
  ApprovalDecision,
  ApprovalRequest,
  ApprovalRequestedSemanticEvent,
  ApprovalResolvedSemanticEvent,
  AssistantDeltaSemanticEvent,
  AssistantMessageSemanticEvent,
  CompactionEndSemanticEvent,
  CompactionStartSemanticEvent,
  DiffUpdatedSemanticEvent,
  ErrorSemanticEvent,
  NativeEventSemanticEvent,
  PlanUpdatedSemanticEvent,
  ReasoningDeltaSemanticEvent,
  ReasoningFinishedSemanticEvent,
  ReasoningStartedSemanticEvent,
  RequestOutcome,
  RuntimeUsage,
  ToolCallSemanticEvent,
  ToolExecutionFinishedSemanticEvent,
  ToolExecutionStartedSemanticEvent,
  ToolExecutionUpdatedSemanticEvent,
  TurnCompletedSemanticEvent,
  TurnFailedSemanticEvent,
  TurnFailure,
  TurnStartedSemanticEvent,
  UsageSemanticEvent,
  UserInputOption,
  UserInputQuestion,
  UserInputRequest,
  UserInputRequestedSemanticEvent,
  UserInputResolvedSemanticEvent,
  WarningSemanticEvent,
} from "./runtime/semantic-event.js";
export { TurnSequencer } from "./runtime/turn-sequencer.js";
export { bindAgentSession, defineAgentProvider, jsonlSession } from "./session.js";
export type {
  AgentBoundSession,
  AgentChildSource,
  AgentFileEvidence,
  AgentFileWatcher,
  AgentJournalChunk,
  AgentJournalHandle,
  AgentJournalSource,
  AgentJsonlSession,
  AgentJsonlSessionOptions,
  AgentProcessEvidence,
  AgentProvider,
  AgentRecordContext,
  AgentRecordMapper,
  AgentSessionBinding,
  AgentSessionBindingRequest,
  AgentSessionEvidence,
  CancellationSignal,
} from "./session.js";
export type {
  AuditEntry,
  LifecycleSnapshot,
  OpenQuestion,
  ReconcileResult,
  SnapshotChild,
} from "./snapshot.js";
export type { Asked, SnapshotReason } from "./snapshot-schedule.js";

/** The version of the Rust core that the loaded addon was built from. */
export function coreVersion(): string {
  return callNative((native) => native.coreVersion());
}
