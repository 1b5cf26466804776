// The routing guard: whether the model that runs a session may delegate.
import { optionalText, optionsArgument, textArgument } from "./arguments.js";
import { safeText } from "./callbacks.js";
import { LifecycleError } from "./error.js";
import { callNative } from "./native.js";

/** How a runtime's model and a routing profile stand to each other. */
export type RoutingStatus = "MATCH" | "MISMATCH" | "UNPROFILED";

export interface RoutingDecision {
  status: RoutingStatus;
  /** Only for `MATCH`. */
  mayDelegate: boolean;
  /** Why, as a sentence. */
  reason: string;
}

/** A routing profile, as far as the guard looks at it. */
export interface RoutingProfile {
  /** The model that it names. */
  readonly model: string;
}

export interface RoutingQuestion {
  /** The model that runs the session; `null` or left out where that is not known. */
  runtimeModel?: string | null | undefined;
  /** Whether somebody named it, or it is the runtime's own. */
  selection: "explicit" | "implicit";
  /** The routing profile, or the model that it names; `null` or left out where there is none. */
  profile?: RoutingProfile | string | null | undefined;
}

/**
 * Whether a child may be delegated. Only a profile that names exactly the runtime's model allows it. The guard selects no model, changes
 * no profile and remembers nothing: ask before each dispatch.
 *
 * @throws {LifecycleError} `invalid_argument`, `invalid_option` (a member that there is not).
 */
export function routingDecision(question: RoutingQuestion): RoutingDecision {
  const { runtimeModel, selection, profile } = judged(question);
  const text = callNative((native) => native.routingDecision(runtimeModel, selection, profile));
  return JSON.parse(text) as RoutingDecision;
}

/** The members, each read once. What a getter throws is the refusal of the question. */
function judged(question: RoutingQuestion) {
  try {
    const given = optionsArgument(question, "question", ["runtimeModel", "selection", "profile"]);
    return {
      runtimeModel: modelName(optionalText(given.runtimeModel ?? undefined, "runtimeModel"), "runtimeModel"),
      selection: textArgument(given.selection, "selection"),
      profile: modelName(profileModel(given.profile ?? undefined), "profile"),
    };
  } catch (cause) {
    if (cause instanceof LifecycleError) throw cause;
    const message = `question cannot be read: ${safeText(cause)}`;
    throw new LifecycleError("invalid_argument", message, { path: "question", cause });
  }
}

/** A name as it is. Two with different lone surrogates would be one on their way to the comparison. */
function modelName(name: string | undefined, path: string): string | undefined {
  if (name === undefined || !LONE_SURROGATE.test(name)) return name;
  throw new LifecycleError("invalid_argument", `${path} has a lone surrogate; give a model's name`, { path });
}

const LONE_SURROGATE = /\p{Surrogate}/u;

function profileModel(profile: RoutingProfile | string | undefined): string | undefined {
  if (profile === undefined || typeof profile === "string") return profile;
  // A profile has more members than the guard looks at.
  return textArgument(optionsArgument(profile, "profile").model, "profile.model");
}
