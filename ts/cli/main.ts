#!/usr/bin/env node
// The command `agent-lifecycle`: finds the subcommand, and turns faults into one line and an exit code.
import { LifecycleError } from "../error.js";
import { Exit, UsageError } from "./exit.js";
import { inert } from "./inert.js";
import type * as Bindings from "./bindings.js";
import type * as Explain from "./explain.js";
import type * as Hook from "./hook.js";
import type * as HookRun from "../hook-run.js";
import type * as Journal from "./journal.js";
import type * as Status from "./status.js";
import type * as Tail from "./tail.js";
import type * as Validate from "./validate.js";
import type * as Watch from "./watch.js";

const USAGE = `agent-lifecycle: the true state of coding agents, from their own records

  agent-lifecycle status [file|folder...] [--json] [--active] [--since 24h] [--all] [--now TIME]
      the state of agents and their sub-agents; without a file or folder, of this user's agents
  agent-lifecycle watch [file|folder...] [--all] [--jsonl [--cursor CURSOR]]
      the same as it changes: a screen, off a terminal lines, with --jsonl changes for another program
  agent-lifecycle explain <id> [file|folder...] [--json]
      why an agent is in its state, and which records say so
  agent-lifecycle validate <file...> [--json]
      whether each line of a file is a schema-v1 event, and whether they fit together
  agent-lifecycle journal verify|repair|replay <file> [--json]
      whether a journal is valid; make it valid; what its entries come to
  agent-lifecycle journal rotate <file> --no-shared-writers [--keep N] [--json]
      begin it anew with a checkpoint, and keep the old one beside it (the last N of them);
      --no-shared-writers says that every writer opens it by name, under its lock
  agent-lifecycle bindings list|repair <db> [--json]
      the bindings of runtime sessions in a store; check the file, and free what dead processes claimed
      (repair: --dry-run only looks, --release SESSION frees one whose owner is gone for certain)
  agent-lifecycle bindings inspect|history <db> <session> [--json]
      one binding, or what became of it; never a native id, a locator or a value of metadata
  agent-lifecycle tail <file> [--json] [--no-follow]
      the events of a file, as it grows
  agent-lifecycle hook install|uninstall [--settings FILE] [--dry-run]
      puts hooks into Claude Code's settings that tell of permission waits, or takes them out
  agent-lifecycle hook status [--settings FILE] [--json]
      whether they are there
  agent-lifecycle hook run
      what the hooks run: leaves what it reads from stdin in the spool; prints nothing, never fails
  agent-lifecycle --version | --help

Exit codes: 0 fine, 1 faults found, 2 unusable arguments or input.`;

type Command = (args: string[]) => Promise<Exit>;

/** Each is loaded when it is asked for: a hook must be quick. */
const COMMANDS: Record<string, () => Command> = {
  status: () => (require("./status.js") as typeof Status).status,
  watch: () => (require("./watch.js") as typeof Watch).watch,
  explain: () => (require("./explain.js") as typeof Explain).explain,
  validate: () => (require("./validate.js") as typeof Validate).validate,
  journal: () => (require("./journal.js") as typeof Journal).journal,
  bindings: () => (require("./bindings.js") as typeof Bindings).bindings,
  tail: () => (require("./tail.js") as typeof Tail).tail,
  hook: () => (require("./hook.js") as typeof Hook).hook,
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
  return command()(rest);
}

/** An agent waits for this, or would show what it prints: it ends well, whatever happens. */
async function runHook(): Promise<never> {
  try {
    await (require("../hook-run.js") as typeof HookRun).runHook();
  } finally {
    process.exit(Exit.Fine);
  }
}

// A reader that stops early (`| head`) is no fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? Exit.Fine : Exit.Unusable);
});

const args = process.argv.slice(2);
const running = args[0] === "hook" && args[1] === "run" ? runHook() : main(args);
running.then(
  (exit) => (process.exitCode = exit),
  (error: unknown) => {
    const isOurs = error instanceof LifecycleError || error instanceof UsageError;
    const text = isOurs ? error.message : String((error as Error)?.stack ?? error);
    console.error(`agent-lifecycle: ${inert(text)}`);
    if (error instanceof UsageError) console.error("Run `agent-lifecycle --help` for the commands.");
    process.exitCode = Exit.Unusable;
  },
);
