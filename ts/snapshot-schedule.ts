// When an authority is asked for a snapshot: at session open, at a reconnect, at an interval, and while a question is open.
import { optionFault } from "./arguments.js";
import { guarded, warnOf } from "./callbacks.js";
import { LONGEST_TIMER_MS } from "./timers.js";

/** Why a snapshot is asked for; `question`: the state of a child is in doubt. */
export type SnapshotReason = "session_open" | "reconnect" | "periodic" | "question";

/** What came of asking: what was made of the answer; none, an error or no time left; or the schedule was closed meanwhile. */
export type Asked<Taken> =
  | { status: "answered"; reason: SnapshotReason; result: Taken }
  | { status: "unanswered"; reason: SnapshotReason; error: unknown }
  | { status: "closed"; reason: SnapshotReason };

export interface SnapshotScheduleOptions<Answer, Taken> {
  /** Asks. `signal` is aborted at the deadline and at the close; an answer after that is none. */
  readonly fetch: (
    reason: SnapshotReason,
    options: { readonly signal: AbortSignal },
  ) => Answer | PromiseLike<Answer>;
  /** Takes an answer. One that it refuses by throwing is none. */
  readonly take: (answer: Answer, reason: SnapshotReason) => Taken;
  /** Told of each request that got no answer. */
  readonly unanswered: (error: unknown, reason: SnapshotReason) => void;
  /** Milliseconds from the end of one request until the next is due; positive and finite. */
  readonly intervalMs: number;
  /** Milliseconds that an answer is waited for; 10,000 by default. */
  readonly deadlineMs?: number | undefined;
  /** Whether it asks by timers of its own; true by default. If not, the host asks. */
  readonly isAutomatic?: boolean | undefined;
  /** Whether it asks ever more seldom after failures; as `isAutomatic` by default. If not, the next is due at once after one. */
  readonly backsOff?: boolean | undefined;
  /** Milliseconds; only differences count. It never throws. `performance.now` by default. */
  readonly clock?: (() => number) | undefined;
  /** From 0 to below 1; `Math.random` by default. */
  readonly random?: (() => number) | undefined;
}

/** Who asks. At most one request is open: whoever asks meanwhile shares it. */
export interface SnapshotSchedule<Taken> {
  /** Asks now, also while failures hold back what is periodic. */
  ask(reason: SnapshotReason): Promise<Asked<Taken>>;
  /** As `ask`, but an answer that is on its way may be of before: it is waited for, and not shared. */
  askAnew(reason: SnapshotReason): Promise<Asked<Taken>>;
  /** Asks where the interval, or after failures the pause, is over; shares what is asked at the moment; else nothing. */
  askIfDue(reason?: SnapshotReason): Promise<Asked<Taken>> | undefined;
  /** As `ask`, but not in the pause after a failure. */
  askUnlessPausing(reason: SnapshotReason): Promise<Asked<Taken>> | undefined;
  /** Ends it: the open request is aborted, its timers are cleared. More than once is as good as once. */
  close(): void;
}

const DEADLINE_MS = 10_000;
const FIRST_PAUSE_MS = 1000;
/** The longest pause, unless the interval is longer. */
const LONG_PAUSE_MS = 60_000;

/** @throws {LifecycleError} `invalid_option` where a time is not positive and finite. */
export function snapshotSchedule<Answer, Taken>(
  options: SnapshotScheduleOptions<Answer, Taken>,
): SnapshotSchedule<Taken> {
  const { fetch, take, unanswered, isAutomatic = true, backsOff = isAutomatic } = options;
  const clock = options.clock ?? (() => performance.now());
  const random = options.random ?? Math.random;
  const intervalMs = duration(options.intervalMs, "intervalMs");
  const deadlineMs = duration(
    options.deadlineMs === undefined ? DEADLINE_MS : options.deadlineMs,
    "deadlineMs",
  );
  const ended = new AbortController();
  let open: Promise<Asked<Taken>> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  /** When the last request ended, by `clock`; before the first there is none. */
  let since = Number.NaN;
  let wait = 0;

  /** Milliseconds until the next is due. */
  function left(): number {
    if (Number.isNaN(since)) return 0;
    const passed = clock() - since;
    // A clock that was set back further than the wait says nothing of it.
    return passed < -wait ? 0 : wait - passed;
  }
  async function answerOf(reason: SnapshotReason): Promise<Asked<Taken>> {
    const request = new AbortController();
    const limit = setTimeout(
      () => request.abort(new DOMException(`no answer within ${deadlineMs} ms`, "TimeoutError")),
      Math.min(deadlineMs, LONGEST_TIMER_MS),
    );
    limit.unref();
    const isOver = new Promise<never>((_, reject) => {
      request.signal.addEventListener("abort", () => reject(request.signal.reason as Error), { once: true });
    });
    const close = () => request.abort(ended.signal.reason);
    ended.signal.addEventListener("abort", close, { once: true });
    try {
      const answer = await Promise.race([fetch(reason, { signal: request.signal }), isOver]);
      if (ended.signal.aborted) return { status: "closed", reason };
      const result = take(answer, reason);
      failures = 0;
      return { status: "answered", reason, result };
    } catch (error) {
      if (ended.signal.aborted) return { status: "closed", reason };
      failures += 1;
      guarded(() => unanswered(error, reason), warnOf);
      return { status: "unanswered", reason, error };
    } finally {
      clearTimeout(limit);
      ended.signal.removeEventListener("abort", close);
    }
  }
  function ask(reason: SnapshotReason): Promise<Asked<Taken>> {
    if (ended.signal.aborted) return Promise.resolve({ status: "closed", reason });
    if (open !== undefined) return open;
    // Open before `fetch` is called, which may ask in its turn.
    let settle!: (asked: Asked<Taken>) => void;
    const asked = new Promise<Asked<Taken>>((resolve) => {
      settle = resolve;
    });
    open = asked;
    void answerOf(reason).then((answer) => {
      open = undefined;
      since = clock();
      wait = failures === 0 ? intervalMs : backsOff ? pause() : 0;
      plan(wait);
      return settle(answer);
    });
    return asked;
  }
  /** Twice as long with each failure, and by up to a half shorter, so that many hosts do not ask at once. */
  function pause(): number {
    const first = Math.min(FIRST_PAUSE_MS, intervalMs);
    const whole = Math.min(first * 2 ** (failures - 1), Math.max(intervalMs, LONG_PAUSE_MS));
    return whole * (1 - random() / 2);
  }
  function plan(ms: number): void {
    clearTimeout(timer);
    if (!isAutomatic || ended.signal.aborted) return;
    timer = setTimeout(
      () => {
        if (askIfDue() === undefined) plan(left());
      },
      Math.min(Math.max(ms, 1), LONGEST_TIMER_MS),
    );
    timer.unref();
  }
  function askIfDue(reason: SnapshotReason = "periodic"): Promise<Asked<Taken>> | undefined {
    return open ?? (left() > 0 ? undefined : ask(reason));
  }
  plan(intervalMs);
  return {
    ask,
    askAnew: (reason) => open?.then(() => ask(reason)) ?? ask(reason),
    askIfDue,
    askUnlessPausing: (reason) => open ?? (failures > 0 && left() > 0 ? undefined : ask(reason)),
    close() {
      clearTimeout(timer);
      ended.abort(new DOMException("closed", "AbortError"));
    },
  };
}

/**
 * An option that is a time.
 *
 * @throws {LifecycleError} `invalid_option` with the option's name as path.
 */
export function duration(value: unknown, name: string): number {
  if (typeof value === "number" && value > 0 && Number.isFinite(value)) return value;
  throw optionFault(name, `${name} must be a positive and finite number of milliseconds`);
}
