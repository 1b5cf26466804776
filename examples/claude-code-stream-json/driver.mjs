// An adapter for Claude Code without its screen: `claude -p --input-format stream-json --output-format stream-json`.
//
// Written for Claude Code 2.1, from public descriptions of its protocol. It was NOT run against the real program: only against an
// imitation of its protocol (`__test__/support/claude-code.mjs`). See README.md.
import { fileURLToPath } from "node:url";
import { jsonRpcDriver } from "agent-lifecycle";

/** What `bridge.mjs` can do. A message that is written while a turn is on is queued by the program: that is not steering. */
export const CAPABILITIES = { resume: true, steering: false, abort: true, approvals: true, userInput: true };

/** The neutral driver: the bridge translates. The program has no ids for turns. */
export const claudeCodeDriver = () =>
  jsonRpcDriver({ adapterId: "claude-code.stream-json", capabilities: CAPABILITIES, nativeTurnIds: false });

/**
 * The configuration of an instance: the program, further arguments (such as `--model`), and variables, each `NAME=value`.
 *
 * @param {{ command?: string, args?: string[], environment?: string[] }} [options]
 */
export const claudeCodeConfig = ({ command = "claude", args = [], environment = [] } = {}) => ({
  command: process.execPath,
  args: [fileURLToPath(new URL("bridge.mjs", import.meta.url)), command, ...args],
  environment,
});
