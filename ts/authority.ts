// Questions to the host's authority: each gets one answer in its time, and one that got none is asked again, ever more seldom.
import { safeText } from "./callbacks.js";
import type { MonitorAnswer, MonitorOptions, MonitorQuestion } from "./monitor.js";
import type { Row } from "./row.js";
import { LONGEST_TIMER_MS } from "./timers.js";

const FIRST_AGAIN_MS = 30_000;
const LAST_AGAIN_MS = 600_000;
/** Questions that are asked again at the same time. */
const MOST_AGAIN = 1024;
/** Until the next look where so many were asked again that others have to wait. */
const CROWDED_MS = 1000;

/** What a question becomes; it stands in the projection. */
export interface Court {
  readonly reconcile: NonNullable<MonitorOptions["reconcile"]>;
  answer(source: string, childId: string, word: "gone" | "there" | "none"): void;
  rows(): readonly Pick<Row, "source" | "childId" | "freshness">[];
  failed(message: string): void;
}

interface Unanswered {
  readonly question: MonitorQuestion;
  /** How long an answer is waited for. */
  readonly patience: number;
  delay: number;
  /** When it is asked again, by the clock of `performance`; infinite while it is. */
  due: number;
}

/** Who asks: `ask` for a question that is new, `close` at the end. Its timers keep no script alive. */
export function authority(court: Court): { ask(question: MonitorQuestion): void; close(): void } {
  const unanswered = new Map<string, Unanswered>();
  let asking = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  /** The answer; `none` where there is none in time. */
  async function answerOf(question: MonitorQuestion, patience: number) {
    let timeout: NodeJS.Timeout | undefined;
    const silence = new Promise<undefined>((resolve) => {
      timeout = setTimeout(() => resolve(undefined), Math.min(Math.max(patience, 1), LONGEST_TIMER_MS));
      timeout.unref();
    });
    let answer: MonitorAnswer | undefined;
    try {
      answer = await Promise.race([court.reconcile({ ...question }), silence]);
    } catch (error) {
      if (!isClosed) court.failed(safeText(error));
    }
    clearTimeout(timeout);
    return answer === "gone" || answer === "there" ? answer : "none";
  }
  async function put(question: MonitorQuestion, patience: number) {
    const { source, childId } = question;
    const word = await answerOf(question, patience);
    if (isClosed) return word;
    try {
      court.answer(source, childId, word);
    } catch (error) {
      court.failed(safeText(error));
    }
    return word;
  }
  async function ask(question: MonitorQuestion) {
    const key = nameOf(question);
    unanswered.delete(key);
    const patience = Date.parse(question.deadlineAt) - Date.now();
    if ((await put(question, patience)) !== "none" || isClosed) return;
    unanswered.set(key, {
      question,
      patience,
      delay: FIRST_AGAIN_MS,
      due: performance.now() + FIRST_AGAIN_MS,
    });
    plan();
  }
  async function askAgain(key: string, one: Unanswered) {
    asking += 1;
    one.due = Infinity;
    const deadlineAt = new Date(Date.now() + Math.max(one.patience, 1)).toISOString();
    const word = await put({ ...one.question, deadlineAt }, one.patience);
    asking -= 1;
    if (unanswered.get(key) !== one || isClosed) return;
    if (word !== "none") unanswered.delete(key);
    one.delay = Math.min(one.delay * 2, LAST_AGAIN_MS);
    one.due = performance.now() + one.delay;
    plan();
  }
  /** Waits for the next that is due. */
  function plan() {
    clearTimeout(timer);
    let next = Infinity;
    for (const { due } of unanswered.values()) next = Math.min(next, due);
    if (next === Infinity) return;
    const least = asking < MOST_AGAIN ? 1 : CROWDED_MS;
    timer = setTimeout(look, Math.max(next - performance.now(), least));
    timer.unref();
  }
  /** Asks again what is due, and forgets what is open no more. */
  function look() {
    let open = new Set<string>();
    try {
      const rows = court.rows().filter(({ freshness }) => freshness.reconcile === "unanswered");
      open = new Set(rows.map(nameOf));
    } catch (error) {
      court.failed(safeText(error));
    }
    const now = performance.now();
    for (const [key, one] of unanswered) {
      if (!open.has(key)) unanswered.delete(key);
      else if (one.due <= now && asking < MOST_AGAIN) void askAgain(key, one);
    }
    plan();
  }
  return {
    ask: (question) => void ask(question),
    close() {
      isClosed = true;
      clearTimeout(timer);
      unanswered.clear();
    },
  };
}

const nameOf = ({ source, childId }: { source: string; childId: string }): string =>
  JSON.stringify([source, childId]);
