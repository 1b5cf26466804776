// What a provider does with the texts of a foreign program: which of them can be shown, and which mapping fits its version.
import { LifecycleError } from "./error.js";

// Controls other than tab and newline, what reverses or isolates the direction of writing, and surrogates without their other half.
const UNSAFE = /(?![\t\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069]|\p{Cs}/u;

/**
 * The same string where it can be shown as it is, else undefined: 1 to `maximum` UTF-16 code units, no controls other than tab and
 * newline, no bidirectional embedding, override or isolate (U+202A to U+202E, U+2066 to U+2069), no lone surrogate. It never cuts,
 * so it serves for identities too. A `maximum` below 1, or one that is no number, lets nothing through.
 */
export function safeAgentString(value: unknown, maximum = 4096): string | undefined {
  if (typeof value !== "string" || typeof maximum !== "number") return undefined;
  const fits = value.length >= 1 && value.length <= maximum;
  return fits && !UNSAFE.test(value) ? value : undefined;
}

/** What fits a provider's versions from `providerVersion` on. */
export interface AgentMapping<T> {
  /** A leading integer with optional minor and patch, such as `2.1.143`; what follows is ignored. */
  readonly providerVersion: string;
  readonly value: T;
}

/**
 * The value of the newest mapping that is not newer than `providerVersion`; where all are newer, of the oldest. A version that
 * does not begin with an integer (or is not known) gets the newest mapping. The first of equals counts. Mappings whose own version
 * does not begin with an integer are taken only where all are such. Undefined for an empty list.
 *
 * @throws {LifecycleError} `invalid_argument` where `mappings` is no list.
 */
export function selectAgentMapping<T>(
  mappings: readonly AgentMapping<T>[],
  providerVersion: string | null | undefined,
): T | undefined {
  if (!Array.isArray(mappings)) {
    throw new LifecycleError("invalid_argument", "mappings must be a list", { path: "mappings" });
  }
  const known = (mappings as readonly AgentMapping<T>[]).flatMap((mapping) => {
    const version = parseVersion(mapping?.providerVersion);
    return version === undefined ? [] : [{ mapping, version }];
  });
  const wanted = parseVersion(providerVersion);
  const notNewer = known.filter(
    ({ version }) => wanted === undefined || compareVersions(version, wanted) <= 0,
  );
  const chosen = notNewer.length > 0 ? furthest(notNewer, 1) : furthest(known, -1);
  return (chosen?.mapping ?? mappings[0])?.value;
}

/** The newest (direction 1) or oldest (-1); the first of equals. */
function furthest<K extends { version: Version }>(known: readonly K[], direction: 1 | -1): K | undefined {
  return known.reduce<K | undefined>(
    (best, next) =>
      best === undefined || compareVersions(next.version, best.version) * direction > 0 ? next : best,
    undefined,
  );
}

/** Major, minor and patch as decimal digits without leading zeros, which have no bound. */
type Version = readonly string[];

function parseVersion(version: unknown): Version | undefined {
  if (typeof version !== "string") return undefined;
  const match = /^(\d+)(?:\.(\d+)(?:\.(\d+))?)?/.exec(version);
  return match?.slice(1).map((digits: string | undefined) => (digits ?? "").replace(/^0+/, ""));
}

function compareVersions(a: Version, b: Version): number {
  for (const [place, digits] of a.entries()) {
    const other = b[place] ?? "";
    if (digits !== other) return digits.length - other.length || (digits < other ? -1 : 1);
  }
  return 0;
}
