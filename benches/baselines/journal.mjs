// The journal that hosts write today: each append takes the lock directory, reads and checks the whole file for its last number, and
// appends one line.
import fs from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";

export class ReplayingJournal {
  #file;
  #last = Promise.resolve();

  constructor(file) {
    this.#file = file;
  }

  append(event) {
    const appended = this.#last.then(() => this.#append(event));
    this.#last = appended;
    return appended;
  }

  async #append(event) {
    const lock = `${this.#file}.lock`;
    await take(lock);
    try {
      let last = 0;
      for (const line of (await fs.readFile(this.#file, "utf8")).trimEnd().split("\n")) {
        const { journalSequence } = JSON.parse(line);
        if (!(journalSequence > last)) throw new Error("journal integrity");
        last = journalSequence;
      }
      const entry = { ...event, journalSequence: last + 1 };
      await fs.appendFile(this.#file, `${JSON.stringify(entry)}\n`);
      return entry;
    } finally {
      await fs.rm(lock, { recursive: true });
    }
  }
}

async function take(lock) {
  for (;;) {
    try {
      await fs.mkdir(lock);
      const owner = { pid: process.pid, token: String(Math.random()), createdAt: new Date().toISOString() };
      await fs.writeFile(`${lock}/owner.json`, JSON.stringify(owner));
      return;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      await pause(10);
    }
  }
}
