// A full-screen terminal: draws lines and reads keys. Whatever ends the process, the terminal is as it was before.
import fs from "node:fs";
import { emitKeypressEvents } from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";
import type { Key } from "./view.js";

/** Alternate screen; cursor hidden; no wrapping at the edge, so that a width that a terminal sees otherwise moves nothing. */
const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l";
const CLEAR = "\u001b[0m\u001b[2J";

export interface Screen {
  size(): { width: number; height: number };
  /** Shows `lines`; only those that are other than on the screen are written. */
  draw(lines: readonly string[]): void;
  /** Puts the terminal back. Once is enough; more does nothing. */
  close(): void;
}

export interface ScreenOptions {
  input: ReadStream;
  output: WriteStream & { fd: number };
  onKey: (key: Key) => void;
  /** The size changed, or the screen was taken away and given back: draw again. */
  onChange: () => void;
}

interface Keypress {
  name?: string;
  ctrl?: boolean;
  meta?: boolean;
}

export function openScreen({ input, output, onKey, onChange }: ScreenOptions): Screen {
  let drawn: string[] = [];
  let isOpen = false;
  let isFull = false;

  const enter = () => {
    isOpen = true;
    drawn = [];
    input.setRawMode(true);
    output.write(ENTER + CLEAR);
  };
  const leave = () => {
    if (!isOpen) return;
    isOpen = false;
    // Written at once: the process may be about to end, and what streams hold back would be lost.
    try {
      fs.writeSync(output.fd, LEAVE);
    } catch {
      // The terminal is gone, or takes nothing now; then the stream does what it can.
      output.write(LEAVE);
    }
    try {
      input.setRawMode(false);
    } catch {
      // A terminal that is gone has no mode.
    }
  };
  const anew = () => {
    drawn = [];
    if (isOpen && !isFull) output.write(CLEAR);
    onChange();
  };
  const keypress = (text: string | undefined, { name, ctrl, meta }: Keypress) => {
    if (ctrl === true && name === "z") suspend();
    else onKey({ name, ctrl, meta, text });
  };
  const suspend = () => {
    if (process.platform === "win32") return;
    leave();
    process.once("SIGCONT", () => {
      enter();
      onChange();
    });
    process.kill(process.pid, "SIGTSTP");
  };
  const drained = () => {
    isFull = false;
    onChange();
  };

  emitKeypressEvents(input);
  input.on("keypress", keypress);
  output.on("resize", anew);
  output.on("drain", drained);
  // Covers `process.exit`, an error that nobody caught, and the end of the script.
  process.on("exit", leave);
  // Before Node prints such an error, which would go away with the alternate screen.
  process.on("uncaughtExceptionMonitor", leave);
  enter();
  input.resume();

  return {
    size: () => ({ width: Math.max(1, output.columns || 80), height: Math.max(1, output.rows || 24) }),
    draw(lines) {
      // A terminal that is behind gets the newest picture when it has caught up, not all those between.
      if (!isOpen || isFull) return;
      const changed = lines
        .map((line, at) => (line === drawn[at] ? "" : `\u001b[${at + 1};1H${line}`))
        .join("");
      drawn = [...lines];
      if (changed !== "") isFull = !output.write(changed);
    },
    close() {
      leave();
      input.off("keypress", keypress);
      output.off("resize", anew);
      output.off("drain", drained);
      process.off("exit", leave);
      process.off("uncaughtExceptionMonitor", leave);
      input.pause();
    },
  };
}
