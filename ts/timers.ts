// What timers can do.

/** Milliseconds of the longest timer: Node fires one that is longer at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
