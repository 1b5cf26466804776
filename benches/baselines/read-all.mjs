// Reads every line of every journal below a folder, file by file, and parses it: what any reader in JavaScript does at least.
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { plain } from "./jsonl.mjs";

const [, , folder] = process.argv;
const sessions = new Set();
for (const name of readdirSync(folder, { recursive: true })) {
  if (!name.endsWith(".jsonl")) continue;
  plain([readFileSync(path.join(folder, name))], (records) => {
    for (const { sessionId } of records) if (sessionId !== undefined) sessions.add(sessionId);
  });
}
console.log(JSON.stringify({ sessions: sessions.size }));
