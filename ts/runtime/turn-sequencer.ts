// Inputs in any order in, semantic events in a legal order out. The rules are in the core; docs/turns.md says them.
import { booleanOption, numberOption, optionalText, optionsArgument, textArgument } from "../arguments.js";
import { jsonText } from "../contract.js";
import { LifecycleError } from "../error.js";
import { type Native, callNative } from "../native.js";
import { secretsOption } from "./approval-registry.js";
import type { TurnInput, TurnPlace, TurnSequencerOptions, TurnSequencerStats } from "./observation.js";
import type { AgentRuntimeSemanticEvent } from "./semantic-event.js";

/** A pure state machine for one live generation of one session. It reads no clock, sends nothing, and its memory is bounded. */
export class TurnSequencer {
  readonly #native: Native.NativeTurnSequencer;

  /** @throws {LifecycleError} `invalid_argument`, `invalid_option`. */
  constructor(options: TurnSequencerOptions) {
    const given = optionsArgument(options, "options", OPTIONS);
    const productSessionId = textArgument(given.productSessionId, "productSessionId");
    const nativeTurnIds = booleanOption(given.nativeTurnIds, "nativeTurnIds");
    if (nativeTurnIds === undefined) {
      // A default would put what a harness says into the wrong turn, and nobody would see why.
      const message = "nativeTurnIds must be true or false: whether the harness names its turns";
      throw new LifecycleError("invalid_option", message, { path: "nativeTurnIds" });
    }
    const secrets = secretsOption(given.secrets);
    const generation = numberOption(given.generation, "generation") ?? Number.NaN;
    this.#native = callNative(
      (addon) => new addon.NativeTurnSequencer(productSessionId, generation, nativeTurnIds, secrets),
    );
  }

  /**
   * Takes one input; the events are what it makes, in order, redacted. An input that makes none has a reason in `stats().dropped`,
   * waits, or only changes what comes later.
   *
   * @throws {LifecycleError} `invalid_argument` for what is no input, with the member as path; then nothing has changed.
   */
  push(input: TurnInput): AgentRuntimeSemanticEvent[] {
    const text = jsonText(whole(input), "input", "invalid_argument");
    return JSON.parse(callNative(() => this.#native.push(text))) as AgentRuntimeSemanticEvent[];
  }

  /**
   * Hides one more text in what comes, in pieces that are open too; at most 256.
   *
   * @throws {LifecycleError} `invalid_option` for one that is shorter than 8 UTF-16 code units, or one too many.
   */
  hide(secret: string): void {
    const text = textArgument(secret, "secret");
    callNative(() => this.#native.hide(text));
  }

  /** The turn that something of the harness belongs to, such as a request: by its native turn id, else the turn that is on. */
  turnOf(nativeTurnId?: string): TurnPlace {
    const id = optionalText(nativeTurnId, "nativeTurnId");
    return JSON.parse(callNative(() => this.#native.turnOf(id))) as TurnPlace;
  }

  /** What became of everything so far. */
  stats(): TurnSequencerStats {
    return JSON.parse(callNative(() => this.#native.stats())) as TurnSequencerStats;
  }
}

const OPTIONS = ["productSessionId", "generation", "nativeTurnIds", "secrets"] as const;

/** Text that is cut in the middle of a character, in code units: as JSON text the halves would be lost. */
function whole(input: TurnInput): unknown {
  const { text } = (input ?? {}) as { text?: unknown };
  const { delta, cumulative } = (text ?? {}) as { delta?: unknown; cumulative?: unknown };
  if (typeof delta === "string" && /\p{Cs}/u.test(delta)) {
    return {
      ...input,
      text: { units: Array.from({ length: delta.length }, (_, at) => delta.charCodeAt(at)) },
    };
  }
  // Of a text that is said again as a whole, the half comes whole the next time.
  if (typeof cumulative === "string" && /[\uD800-\uDBFF]$/.test(cumulative)) {
    return { ...input, text: { cumulative: cumulative.slice(0, -1) } };
  }
  return input;
}
