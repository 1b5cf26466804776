#!/usr/bin/env node
// The command `agent-lifecycle`: finds the subcommand, and turns faults into one line and an exit code.
import { LifecycleError } from "../error.js";
import { Exit, UsageError } from "./exit.js";
import { inert } from "./inert.js";
import { journal, tail } from "./journal.js";
import { status } from "./status.js";
import { validate } from "./validate.js";

const USAGE = `agent-lifecycle: the true state of coding agents, from their own records

  agent-lifecycle status [file|folder...] [--json] [--active] [--since 24h] [--all] [--now TIME]
      the state of agents and their sub-agents; without a file or folder, of this user's agents
  agent-lifecycle validate <file...> [--json]
      whether each line of a file is a schema-v1 event, and whether they fit together
  agent-lifecycle journal verify|repair|replay <file> [--json]
      whether a journal is valid; make it valid; what its entries come to
  agent-lifecycle journal rotate <file> --no-shared-writers [--keep N] [--json]
      begin it anew with a checkpoint, and keep the old one beside it
  agent-lifecycle tail <file> [--json] [--no-follow]
      the events of a file, as it grows
  agent-lifecycle --version | --help

Exit codes: 0 fine, 1 faults found, 2 unusable arguments or input.`;

const COMMANDS: Record<string, (args: string[]) => Promise<Exit>> = {
  status,
  validate,
  journal,
  tail,
};

async function main(args: string[]): Promise<Exit> {
  const [name = "--help", ...rest] = args;
  if (name === "--version" || name === "-v") {
    console.log((require("../../package.json") as { version: string }).version);
    return Exit.Fine;
  }
  if (
    name === "--help" ||
    name === "-h" ||
    name === "help" ||
    rest.includes("--help") ||
    rest.includes("-h")
  ) {
    console.log(USAGE);
    return args.length === 0 ? Exit.Unusable : Exit.Fine;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) throw new UsageError(`there is no command ${JSON.stringify(name)}`);
  return command(rest);
}

// A reader that stops early (`| head`) is no fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? Exit.Fine : Exit.Unusable);
});

main(process.argv.slice(2)).then(
  (exit) => (process.exitCode = exit),
  (error: unknown) => {
    const isOurs = error instanceof LifecycleError || error instanceof UsageError;
    const text = isOurs ? error.message : String((error as Error)?.stack ?? error);
    console.error(`agent-lifecycle: ${inert(text)}`);
    if (error instanceof UsageError) console.error("Run `agent-lifecycle --help` for the commands.");
    process.exitCode = Exit.Unusable;
  },
);
