// The routing guard: whether the model that runs a session may delegate.
import { optionalText, optionsArgument, textArgument } from "./arguments.js";
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
  const given = optionsArgument(question, "question", ["runtimeModel", "selection", "profile"]);
  const runtimeModel = optionalText(given.runtimeModel ?? undefined, "runtimeModel");
  const selection = textArgument(given.selection, "selection");
  const profile = profileModel(given.profile ?? undefined);
  const text = callNative((native) => native.routingDecision(runtimeModel, selection, profile));
  return JSON.parse(text) as RoutingDecision;
}

function profileModel(profile: RoutingProfile | string | undefined): string | undefined {
  if (profile === undefined || typeof profile === "string") return profile;
  // A profile has more members than the guard looks at.
  return textArgument(optionsArgument(profile, "profile").model, "profile.model");
}
