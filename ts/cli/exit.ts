// Exit codes, and faults of the arguments.

/** What the process ends with. */
export enum Exit {
  Fine = 0,
  FaultsFound = 1,
  Unusable = 2,
}

/** The arguments make no sense; the message says which and why. */
export class UsageError extends Error {}
