// The open requests of one session: each is opened once, answered or ended once, and its one end is told.
import {
  functionOption,
  iterableArgument,
  numberOption,
  optionsArgument,
  textArgument,
} from "../arguments.js";
import { jsonText } from "../contract.js";
import { LifecycleError } from "../error.js";
import { type Native, callNative } from "../native.js";
import type {
  ApprovalRegistryOptions,
  ApprovalReply,
  AskedApproval,
  AskedUserInput,
  ClearOutcome,
  OpenResult,
  PendingRequests,
  RequestFilter,
  ResolvedRequest,
  UserInputAnswers,
} from "./approval.js";
import { TurnError } from "./errors.js";
import type { RequestResolution } from "./observation.js";
import type { RequestOutcome } from "./semantic-event.js";

/** What the core says to an answer. */
type Claim =
  | { status: "claimed"; claim: number; reply: ApprovalReply; secrets: string[] }
  | { status: "writing" }
  | { status: "resolved"; outcome: RequestOutcome }
  | { status: "unknown" }
  | { status: "invalid"; path: string; message: string };

/**
 * The requests of a harness that wait for somebody. At most 64 are open. It has no timer: whoever wants requests to expire calls
 * {@link ApprovalRegistry.expire}.
 */
export class ApprovalRegistry {
  readonly #native: Native.NativeApprovalRegistry;
  readonly #write: ApprovalRegistryOptions["write"];
  readonly #onResolved: ApprovalRegistryOptions["onResolved"];
  readonly #onSecret: ApprovalRegistryOptions["onSecret"];
  /** Answers that are being written, by request; each settles when it is known what became of the request. */
  readonly #writing = new Map<string, Promise<unknown>>();

  /** @throws {LifecycleError} `invalid_argument`, `invalid_option`. */
  constructor(options: ApprovalRegistryOptions) {
    const given = optionsArgument(options, "options", OPTIONS);
    const write = functionOption(given.write, "write");
    if (write === undefined) {
      throw new LifecycleError("invalid_option", "write must be a function", { path: "write" });
    }
    this.#write = write;
    this.#onResolved = functionOption(given.onResolved, "onResolved");
    this.#onSecret = functionOption(given.onSecret, "onSecret");
    const secrets = secretsOption(given.secrets);
    const generation = numberOption(given.generation, "generation") ?? Number.NaN;
    this.#native = callNative((addon) => new addon.NativeApprovalRegistry(generation, secrets));
  }

  /**
   * Takes a request of the harness. The same key with the same content is the same request while that is open; with other content the
   * old one is `cleared` and a new one is opened.
   *
   * @throws {LifecycleError} `invalid_argument` for what is no JSON object.
   */
  open(asked: AskedApproval | AskedUserInput): OpenResult {
    const text = jsonText(asked, "asked", "invalid_argument");
    const { ended, ...result } = JSON.parse(callNative(() => this.#native.open(text))) as OpenResult & {
      ended?: ResolvedRequest;
    };
    if (ended === undefined) return result;
    this.#onResolved?.(ended);
    return { ...result, replaced: resolutionOf(ended) };
  }

  /**
   * Answers an approval: claims it, writes the reply, and resolves once that is written. A claimed request does not expire.
   *
   * @throws {TurnError} as a rejection: `unknown_request`; `already_resolved` with `details.outcome`; `invalid_answer`, and the request
   *   stays open; `answer_not_written`, and the request is `cleared`.
   */
  async respondToApproval(requestId: string, decision: string): Promise<RequestResolution> {
    return this.#respond(textArgument(requestId, "requestId"), "approval", { decision });
  }

  /** As {@link respondToApproval}, for questions. Answers to questions marked `secret` are in no event, error or status. */
  async respondToUserInput(requestId: string, answers: UserInputAnswers): Promise<RequestResolution> {
    return this.#respond(textArgument(requestId, "requestId"), "userInput", { answers });
  }

  /** Ends a request as `expired`, unless it is being answered or has ended: then nothing happens. */
  expire(requestId: string): RequestResolution | undefined {
    const id = textArgument(requestId, "requestId");
    const ended = JSON.parse(callNative(() => this.#native.expire(id))) as ResolvedRequest | null;
    return ended === null ? undefined : this.#tell(ended);
  }

  /** Ends requests that nobody will answer any more, those that are being answered too. */
  clear(which: RequestFilter, outcome: ClearOutcome = "cleared"): RequestResolution[] {
    const { requestId, turnId, connection } = optionsArgument(which, "which", FILTER);
    const ended = callNative(() => this.#native.clear(requestId, turnId, connection, outcome));
    return (JSON.parse(ended) as ResolvedRequest[]).map((resolved) => this.#tell(resolved));
  }

  /** What is open, the oldest first. */
  pending(): PendingRequests {
    return JSON.parse(callNative(() => this.#native.pending())) as PendingRequests;
  }

  /** Hides one more text in the requests that come. @throws {LifecycleError} `invalid_option` for one that is too short. */
  hide(secret: string): void {
    const text = textArgument(secret, "secret");
    callNative(() => this.#native.hide(text));
  }

  async #respond(requestId: string, ask: ApprovalReply["ask"], answer: object): Promise<RequestResolution> {
    const text = jsonText(answer, "answer", "invalid_argument");
    for (;;) {
      const claim = JSON.parse(callNative(() => this.#native.claim(requestId, ask, text))) as Claim;
      switch (claim.status) {
        case "claimed": {
          const delivery = this.#deliver(claim.reply, claim.claim, claim.secrets);
          const known = Promise.allSettled([delivery]);
          this.#writing.set(requestId, known);
          await known;
          this.#writing.delete(requestId);
          return delivery;
        }
        case "writing":
          // Another answer is on its way: what becomes of it is what this one is told.
          await this.#writing.get(requestId);
          break;
        case "resolved":
          throw alreadyResolved(requestId, claim.outcome);
        case "unknown":
          throw refused(
            "unknown_request",
            "there is no such request: give the requestId of an open one",
            requestId,
          );
        case "invalid":
          throw refused("invalid_answer", claim.message, requestId, { path: claim.path });
      }
    }
  }

  async #deliver(reply: ApprovalReply, claim: number, secrets: string[]): Promise<RequestResolution> {
    const { requestId } = reply;
    for (const secret of secrets) this.#onSecret?.(secret);
    const failure = await this.#attempt(reply);
    const isWritten = failure === undefined;
    const said = callNative(() => this.#native.settle(requestId, claim, isWritten));
    const { ended, outcome } = JSON.parse(said) as { ended?: ResolvedRequest; outcome: RequestOutcome };
    // It ended while the answer was written: that end counts.
    if (ended === undefined) throw alreadyResolved(requestId, outcome);
    const resolution = this.#tell(ended);
    if (isWritten) return resolution;
    const message = "the answer could not be written to the harness, and the request is cleared";
    // What failed may repeat what it was to write.
    const cause = secrets.length > 0 ? {} : { cause: failure.error };
    throw new TurnError("answer_not_written", message, {
      phase: "respond",
      correlationId: requestId,
      ...cause,
    });
  }

  async #attempt(reply: ApprovalReply): Promise<{ error: unknown } | undefined> {
    try {
      await this.#write(reply);
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  #tell(ended: ResolvedRequest): RequestResolution {
    this.#onResolved?.(ended);
    return resolutionOf(ended);
  }
}

const OPTIONS = ["generation", "secrets", "write", "onResolved", "onSecret"] as const;
const FILTER = ["requestId", "turnId", "connection"] as const;

/** Secrets as the addon takes them. */
export function secretsOption(secrets: readonly string[] | undefined): string[] {
  return Array.from(iterableArgument(secrets ?? [], "secrets"), (secret, at) =>
    textArgument(secret, `secrets[${at}]`),
  );
}

function resolutionOf({ ask: _ask, native: _native, ...resolution }: ResolvedRequest): RequestResolution {
  return resolution;
}

function alreadyResolved(requestId: string, outcome: RequestOutcome): TurnError {
  const message = `the request has ended already: it was ${outcome}`;
  return refused("already_resolved", message, requestId, { outcome });
}

function refused(
  code: string,
  message: string,
  requestId: string,
  details?: Readonly<Record<string, string>>,
): TurnError {
  return new TurnError(code, message, { phase: "respond", correlationId: requestId, details });
}
