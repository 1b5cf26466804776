// The screen of `watch`, driven: changes, keys, time and size make pictures.
import type { ReadStream, WriteStream } from "node:tty";
import { createRowStore } from "../row-store.js";
import { explanationWords } from "./explanation.js";
import type { MonitorLike } from "./monitor.js";
import { render } from "./render.js";
import { openScreen } from "./screen.js";
import { FIRST_VIEW, type Key, press } from "./view.js";

export interface Watched {
  monitor: MonitorLike;
  /** Aborted when the screen is to end. */
  signal: AbortSignal;
  listen(onChange: () => void, onNotice: (text: string) => void): void;
}

/** The least time between two pictures that changes lead to; keys are answered at once. */
const FRAME_MS = 100;
/** How often ages are drawn anew. */
const TICK_MS = 1000;

/** Shows the screen until a key or the signal ends it. */
export async function watchScreen(
  { monitor, signal, listen }: Watched,
  input: ReadStream,
  output: WriteStream & { fd: number },
): Promise<void> {
  const store = createRowStore();
  const color = !process.env["NO_COLOR"];
  let view = FIRST_VIEW;
  let page = 1;
  let notice = "";
  let frame: NodeJS.Timeout | undefined;
  const { promise: quit, resolve: end, reject: fail } = deferred();

  const draw = () => {
    clearTimeout(frame);
    frame = undefined;
    store.apply(monitor.changesSince(store.cursor));
    const rows = store.snapshot();
    const now = Date.now();
    const selected = view.selected === null ? undefined : store.get(view.selected);
    const isExplained = view.panel === "explain" && selected !== undefined;
    const explanation = isExplained ? explanationWords(selected, monitor.explain(selected.key), now) : [];
    const picture = render({
      ...screen.size(),
      rows,
      hidden: monitor.hidden,
      view,
      explanation,
      notice,
      now,
      color,
    });
    ({ view, page } = picture);
    screen.draw(picture.lines);
  };
  /** A fault of drawing ends the screen first, and is then thrown. */
  const drawn = () => {
    try {
      draw();
    } catch (error) {
      fail(error);
    }
  };
  const soon = () => {
    frame ??= setTimeout(drawn, FRAME_MS);
  };
  const onKey = (key: Key) => {
    const next = press(view, key, store.snapshot(), page);
    if (next === "quit") return end();
    view = next;
    drawn();
  };
  const screen = openScreen({ input, output, onKey, onChange: drawn });
  const tick = setInterval(drawn, TICK_MS);
  signal.addEventListener("abort", () => end(), { once: true });
  try {
    listen(soon, (text) => {
      notice = text;
      soon();
    });
    drawn();
    if (!signal.aborted) await quit;
  } finally {
    clearInterval(tick);
    clearTimeout(frame);
    screen.close();
  }
}

function deferred() {
  let resolve!: () => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<void>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}
