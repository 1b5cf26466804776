// What the tests of AdapterProcess have in common.
import fs from "node:fs";
import path from "node:path";
import { AdapterProcess } from "agent-lifecycle";

const child = path.join(import.meta.dirname, "adapter-child.mjs");

/** Starts the scripted adapter. */
export const start = (options = {}) =>
  AdapterProcess.start({ command: process.execPath, args: [child], ...options });

/** Starts a shell script. */
export const shell = (script, options = {}) =>
  AdapterProcess.start({ command: "/bin/sh", args: ["-c", script], ...options });

/** What a promise rejects with. */
export async function rejected(promise) {
  let given;
  try {
    given = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`not rejected: ${JSON.stringify(given)}`);
}

/** Waits for a condition; fails after a minute. */
export async function until(what, condition) {
  for (const end = Date.now() + 60_000; !(await condition());) {
    if (Date.now() > end) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Whether no process has this pid, or one that is only not collected yet. */
export function isGone(pid) {
  try {
    process.kill(pid, 0);
  } catch {
    return true;
  }
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
  } catch {
    return process.platform === "linux";
  }
}

/** How a process ends by itself: that alone keeps no script alive. */
export async function ended(process) {
  const alive = setInterval(() => undefined, 1000);
  try {
    return await process.closed;
  } finally {
    clearInterval(alive);
  }
}
