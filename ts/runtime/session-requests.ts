// The requests of a live session: opened by its harness, told by events, answered or ended once, and the harness told of that.
import { guarded, thrownText } from "../callbacks.js";
import { ApprovalRegistry } from "./approval-registry.js";
import type {
  ApprovalReply,
  AskedApproval,
  AskedUserInput,
  PendingRequests,
  ResolvedRequest,
  UserInputAnswers,
} from "./approval.js";
import type { NativeRequest } from "./driver.js";
import type { Harness } from "./harness.js";
import type { RequestResolution } from "./observation.js";
import type {
  AgentRuntimeSemanticEvent,
  ApprovalRequest,
  RequestOutcome,
  UserInputRequest,
} from "./semantic-event.js";
import { within } from "./within.js";

export interface SessionRequestsOptions {
  readonly generation: number;
  readonly secrets: readonly string[];
  harness(): Harness;
  /** Rejects when the session ends in whatever way. */
  readonly over: Promise<never>;
  opened(request: { approval: ApprovalRequest } | { userInput: UserInputRequest }): void;
  resolved(resolution: RequestResolution): void;
  /** No answer is on its way any more. */
  answered(): void;
  /** A text that is to be seen nowhere. */
  hide(secret: string): void;
  /** A request was not taken. */
  refused(code: string, message: string): void;
  warn(code: string, message: string): void;
}

/** Milliseconds that an adapter has to write an answer. */
const WRITE_MS = 10_000;

/** Keeps three in step: the registry, the events of the sequencer, and the harness. */
export class SessionRequests {
  readonly #options: SessionRequestsOptions;
  readonly #registry: ApprovalRegistry;
  /** Open in the registry: the id of the newest request of each name that the harness has. */
  readonly #byNative = new Map<string, string>();
  /** Requests that events tell of and whose end they do not yet. */
  readonly #told = new Set<string>();
  #answers = 0;

  constructor(options: SessionRequestsOptions) {
    this.#options = options;
    this.#registry = new ApprovalRegistry({
      generation: options.generation,
      secrets: options.secrets,
      write: (reply) => this.#write(reply),
      onResolved: (ended) => this.#onResolved(ended),
      onSecret: (secret) => options.hide(secret),
    });
  }

  /** False where it is refused. */
  ask(asked: AskedApproval | AskedUserInput): boolean {
    const result = this.#registry.open(asked);
    if (result.status === "refused") {
      this.#options.refused(result.code, result.message);
      return false;
    }
    if (result.status === "same") return true;
    const request = "approval" in result ? { approval: result.approval } : { userInput: result.userInput };
    const { requestId } = "approval" in result ? result.approval : result.userInput;
    this.#byNative.set(nameOf(asked), requestId);
    this.#options.opened(request);
    return true;
  }

  /** The harness does not want an answer any more. */
  withdraw(native: NativeRequest): void {
    const requestId = this.#byNative.get(nameOf(native));
    if (requestId !== undefined) this.#registry.clear({ requestId });
  }

  /** Ends those of a turn, or all. */
  end(turnId: string | undefined, outcome: "cleared" | "aborted"): void {
    this.#registry.clear(turnId === undefined ? {} : { turnId }, outcome);
  }

  pending(): PendingRequests {
    return this.#registry.pending();
  }

  respondToApproval(requestId: string, decision: string): Promise<RequestResolution> {
    return this.#answer(() => this.#registry.respondToApproval(requestId, decision));
  }

  respondToUserInput(requestId: string, answers: UserInputAnswers): Promise<RequestResolution> {
    return this.#answer(() => this.#registry.respondToUserInput(requestId, answers));
  }

  /** Whether an answer is on its way to the harness. */
  get isAnswering(): boolean {
    return this.#answers > 0;
  }

  /** @throws {LifecycleError} `invalid_option` for a text that is too short, or one too many. */
  hide(secret: string): void {
    this.#registry.hide(secret);
  }

  /** Each event of the session, before anybody is told: the end of a turn ends its requests. */
  note(event: AgentRuntimeSemanticEvent): void {
    switch (event.kind) {
      case "approval_requested":
      case "user_input_requested":
        this.#told.add(event.request.requestId);
        return;
      case "approval_resolved":
      case "user_input_resolved":
        this.#told.delete(event.requestId);
        this.#registry.clear(
          { requestId: event.requestId },
          event.outcome === "aborted" ? "aborted" : "cleared",
        );
        return;
      default:
    }
  }

  async #answer(answer: () => Promise<RequestResolution>): Promise<RequestResolution> {
    this.#answers += 1;
    try {
      return await answer();
    } finally {
      this.#answers -= 1;
      if (this.#answers === 0) this.#options.answered();
    }
  }

  async #write(reply: ApprovalReply): Promise<void> {
    const { driver, native } = this.#options.harness();
    const request = namedBy(reply.native);
    const written =
      reply.ask === "approval"
        ? driver.respondToApproval!(native, request, reply.decision)
        : driver.respondToUserInput!(native, request, reply.answers);
    await within(
      WRITE_MS,
      Promise.race([written, this.#options.over]),
      () => new Error(`the answer was not written within ${WRITE_MS} ms`),
    );
  }

  #onResolved({ ask: _ask, native, ...resolution }: ResolvedRequest): void {
    const { requestId, outcome } = resolution;
    const name = nameOf(native);
    if (this.#byNative.get(name) === requestId) this.#byNative.delete(name);
    // Where the sequencer ended it, it has said so.
    if (this.#told.has(requestId)) this.#options.resolved(resolution);
    if (outcome !== "responded") this.#tellHarness(namedBy(native), outcome);
  }

  #tellHarness(request: NativeRequest, outcome: RequestOutcome): void {
    const { driver, native } = this.#options.harness();
    if (native === undefined) return;
    guarded(
      () => driver.requestEnded?.(native, request, outcome),
      (error) => this.#options.warn("request_ended_failed", thrownText(error)),
    );
  }
}

/** 0 and "0" are two names. */
const nameOf = ({ connection, scope, nativeId }: NativeRequest): string =>
  JSON.stringify([connection, scope, nativeId]);

function namedBy({ connection, scope, nativeId }: NativeRequest): NativeRequest {
  return { ...(connection !== undefined && { connection }), ...(scope !== undefined && { scope }), nativeId };
}

/** The request of a turn of this package, whatever it says itself. */
export function ofTurn<Asked extends AskedApproval | AskedUserInput>(
  asked: Asked,
  turnId: string | undefined,
): Asked {
  const { turnId: _own, ...request } = asked;
  return { ...request, ...(turnId !== undefined && { turnId }) } as Asked;
}
