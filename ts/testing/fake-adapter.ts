// The fake adapter: a program that speaks the neutral protocol and does what its script says. Its first argument is the script as JSON.
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { type FakeAdapterScript, type FakeStep, REFUSED } from "./fake-script.js";

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

interface Turn {
  readonly requestId: string | number;
  readonly nativeTurnId: string;
  readonly text: string;
  over: boolean;
  /** What has come for it, and who waits for that. */
  readonly signals: Map<"steer" | "abort", Signal>;
}

interface Signal {
  readonly came: Promise<void>;
  come(): void;
}

/** The native session as it is kept. */
interface Kept {
  turns: number;
}

const PROTOCOL_VERSION = 1;
const SESSION_MISSING = -32004;
const METHOD_NOT_FOUND = -32601;
const INVALID_REQUEST = -32600;
/** The only names of files that it makes; what a host gives as an id is checked against it. */
const NATIVE_ID = /^fake-[0-9a-f-]{36}$/;

class FakeAdapter {
  readonly #script: FakeAdapterScript;
  readonly #variables: ReadonlyMap<string, string>;
  readonly #answers = new Map<number, (message: Message) => void>();
  #asked = 0;
  #prompts = 0;
  #nativeSessionId: string | undefined;
  #kept: Kept = { turns: 0 };
  #turn: Turn | undefined;
  #answer = "";
  #steered = "";
  #hasAbortLeft = false;

  constructor(script: FakeAdapterScript, variables: ReadonlyMap<string, string>) {
    this.#script = script;
    this.#variables = variables;
  }

  receive(message: Message): void {
    const { id, method } = message;
    if (method === undefined) {
      const take = typeof id === "number" ? this.#answers.get(id) : undefined;
      take?.(message);
      return;
    }
    if (id === undefined) return;
    void this.#serve(id, method, message.params ?? {});
  }

  async #serve(id: string | number, method: string, params: Record<string, unknown>): Promise<void> {
    switch (method) {
      case "initialize":
        if (this.#isRefused()) {
          process.stderr.write("the login was refused\n");
          return exit(1);
        }
        await this.#play(this.#script.start ?? []);
        return this.#respond(id, {
          protocolVersion: PROTOCOL_VERSION,
          capabilities: this.#script.capabilities ?? {},
        });
      case "session/open":
        if (this.#script.nativeSessionId !== "first-turn") this.#make();
        return this.#respond(id, this.#state());
      case "session/resume":
        return this.#resume(id, String(params["nativeSessionId"]));
      case "turn/prompt":
        return this.#prompt(id, String(params["text"]));
      case "turn/steer":
        this.#steered = String(params["text"]);
        this.#respond(id, {});
        return this.#turn?.signals.get("steer")?.come();
      case "turn/abort":
        this.#respond(id, {});
        return this.#abort();
      default:
        this.#refuse(id, METHOD_NOT_FOUND, "the fake does not know this method");
    }
  }

  #isRefused(): boolean {
    const { sessions } = this.#script;
    return sessions !== undefined && fs.existsSync(path.join(sessions, REFUSED));
  }

  #make(): void {
    this.#nativeSessionId = `fake-${randomUUID()}`;
    this.#keep();
  }

  #resume(id: string | number, nativeSessionId: string): void {
    const { resume, sessions } = this.#script;
    const file =
      sessions !== undefined && NATIVE_ID.test(nativeSessionId) ? this.#file(nativeSessionId) : undefined;
    if (file !== undefined && fs.existsSync(file)) {
      this.#nativeSessionId = nativeSessionId;
      if (resume !== "empty") this.#kept = JSON.parse(fs.readFileSync(file, "utf8")) as Kept;
      return this.#respond(id, this.#state());
    }
    if (resume !== "replace") return this.#refuse(id, SESSION_MISSING, "there is no such session");
    this.#make();
    this.#respond(id, this.#state());
  }

  #prompt(requestId: string | number, text: string): void {
    const { turns, nativeSessionId } = this.#script;
    if (this.#turn?.over === false) return this.#refuse(requestId, INVALID_REQUEST, "a turn is on");
    if (this.#nativeSessionId === undefined && nativeSessionId === "first-turn") {
      this.#make();
      this.#notify("session/changed", this.#state());
    }
    this.#kept.turns += 1;
    this.#keep();
    const turn: Turn = {
      requestId,
      nativeTurnId: `turn-${this.#kept.turns}`,
      text,
      over: false,
      signals: new Map([
        ["steer", signal()],
        ["abort", signal()],
      ]),
    };
    this.#turn = turn;
    const steps = turns[Math.min(this.#prompts++, turns.length - 1)] ?? [];
    if (!steps.some((step) => "accept" in step || "reject" in step)) this.#accept(turn);
    if (this.#hasAbortLeft) {
      this.#hasAbortLeft = false;
      return this.#end(turn, { status: "interrupted" });
    }
    void this.#play(steps, turn);
  }

  #abort(): void {
    const turn = this.#turn;
    if (turn === undefined || turn.over) {
      this.#hasAbortLeft = this.#script.abortSticks === true;
      return;
    }
    if (this.#script.abort === "ignore") return turn.signals.get("abort")?.come();
    this.#end(turn, { status: "interrupted" });
  }

  /** Until the end of the steps, or until somebody else ended the turn. */
  async #play(steps: readonly FakeStep[], turn?: Turn): Promise<void> {
    for (const step of steps) {
      // What follows its own end is said all the same: that is what late messages are.
      const wasOver = turn?.over === true;
      await this.#do(this.#filled(step, turn), turn);
      if (!wasOver && turn?.over === true && !("end" in step) && !("reject" in step)) return;
    }
  }

  async #do(step: FakeStep, turn: Turn | undefined): Promise<void> {
    if ("observe" in step) return this.#observe(step, turn);
    if ("end" in step) return this.#end(turn, step.end);
    if ("accept" in step) return turn && this.#accept(turn);
    if ("reject" in step) {
      if (turn === undefined) return;
      turn.over = true;
      return this.#refuse(turn.requestId, step.reject.code, step.reject.message);
    }
    if ("approval" in step) return this.#ask("approval/request", step.approval, turn);
    if ("questions" in step) return this.#ask("input/request", { questions: step.questions }, turn);
    if ("until" in step) return turn?.signals.get(step.until)?.came;
    if ("hang" in step) return new Promise(() => undefined);
    if ("pause" in step) return new Promise((resolve) => setTimeout(resolve, step.pause));
    if ("notify" in step) return this.#notify(step.notify.method, step.notify.params);
    if ("line" in step) return void process.stdout.write(`${step.line}\n`);
    if ("cut" in step) return void process.stdout.write(step.cut);
    if ("stderr" in step) return void process.stderr.write(`${step.stderr}\n`);
    if ("exit" in step) return exit(step.exit);
    if ("kill" in step) {
      await written();
      process.kill(process.pid, step.kill);
      return new Promise(() => undefined);
    }
    if (this.#nativeSessionId !== undefined && this.#script.sessions !== undefined)
      fs.rmSync(this.#file(this.#nativeSessionId), { force: true });
  }

  #observe({ observe, chunk }: Extract<FakeStep, { observe: unknown }>, turn: Turn | undefined): void {
    const place = this.#script.nativeTurnIds === true && { nativeTurnId: turn?.nativeTurnId };
    const text = "text" in observe ? observe.text : undefined;
    if (chunk === undefined || text === undefined || !("delta" in text))
      return this.#notify("observation", { ...place, ...observe });
    for (let at = 0; at < text.delta.length; at += chunk)
      this.#notify("observation", {
        ...place,
        ...observe,
        // The last piece ends it.
        ...(at + chunk < text.delta.length && { done: false }),
        text: { delta: text.delta.slice(at, at + chunk) },
      });
  }

  #end(turn: Turn | undefined, terminal: object): void {
    if (turn !== undefined) turn.over = true;
    const place = this.#script.nativeTurnIds === true && { nativeTurnId: turn?.nativeTurnId };
    this.#notify("turn/ended", { ...place, ...terminal });
  }

  #accept(turn: Turn): void {
    this.#respond(
      turn.requestId,
      this.#script.nativeTurnIds === true ? { nativeTurnId: turn.nativeTurnId } : {},
    );
  }

  #ask(method: string, params: object, turn: Turn | undefined): Promise<void> {
    const id = this.#asked++;
    const place = this.#script.nativeTurnIds === true && { nativeTurnId: turn?.nativeTurnId };
    send({ id, method, params: { ...place, ...params } });
    return new Promise((resolve) => {
      this.#answers.set(id, ({ result, error }) => {
        this.#answers.delete(id);
        this.#answer = error === undefined ? answerText(result) : `refused (${error.code})`;
        resolve();
      });
    });
  }

  #state(): object {
    return { ...(this.#nativeSessionId !== undefined && { nativeSessionId: this.#nativeSessionId }) };
  }

  #keep(): void {
    const { sessions } = this.#script;
    if (sessions === undefined || this.#nativeSessionId === undefined) return;
    fs.mkdirSync(sessions, { recursive: true });
    fs.writeFileSync(this.#file(this.#nativeSessionId), JSON.stringify(this.#kept));
  }

  #file(nativeSessionId: string): string {
    return path.join(this.#script.sessions!, `${nativeSessionId}.json`);
  }

  #filled(step: FakeStep, turn: Turn | undefined): FakeStep {
    const values: Record<string, string | undefined> = {
      turn: turn?.nativeTurnId,
      previousTurn: `turn-${this.#kept.turns - 1}`,
      turns: String(this.#kept.turns),
      text: turn?.text,
      steered: this.#steered,
      answer: this.#answer,
      session: this.#nativeSessionId,
    };
    const fill = (text: string): string =>
      text.replaceAll(/\{(env\.)?(\w+)\}/g, (whole, isVariable: string | undefined, name: string) => {
        const value = isVariable === undefined ? values[name] : this.#variables.get(name);
        return value ?? whole;
      });
    return JSON.parse(JSON.stringify(step), (_, value: unknown) =>
      typeof value === "string" ? fill(value) : value,
    ) as FakeStep;
  }

  #respond(id: string | number, result: object): void {
    send({ id, result });
  }

  #refuse(id: string | number, code: number, message: string): void {
    send({ id, error: { code, message } });
  }

  #notify(method: string, params?: unknown): void {
    send({ method, ...(params !== undefined && { params }) });
  }
}

function signal(): Signal {
  let come!: () => void;
  const came = new Promise<void>((resolve) => {
    come = resolve;
  });
  return { came, come };
}

function answerText(result: unknown): string {
  const { decision, answers } = (result ?? {}) as {
    decision?: unknown;
    answers?: Record<string, { text?: string; options?: string[] }>;
  };
  if (answers === undefined) return String(decision);
  return Object.values(answers)
    .flatMap(({ text, options }) => [...(options ?? []), ...(text === undefined ? [] : [text])])
    .join(", ");
}

const send = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

/** When all that was said is with the host. */
const written = (): Promise<void> =>
  new Promise((resolve) => process.stdout.write("", () => process.stderr.write("", () => resolve())));

async function exit(code: number): Promise<never> {
  await written();
  process.exit(code);
}

function main([script, ...assignments]: readonly string[]): void {
  const variables = new Map(
    [...Object.entries(process.env), ...assignments.map((one) => splitOnce(one))].filter(
      (pair): pair is [string, string] => pair[1] !== undefined,
    ),
  );
  const adapter = new FakeAdapter(JSON.parse(script ?? "") as FakeAdapterScript, variables);
  readline
    .createInterface({ input: process.stdin })
    .on("line", (line) => adapter.receive(JSON.parse(line) as Message))
    .on("close", () => void exit(0));
}

const splitOnce = (assignment: string): [string, string] => {
  const at = assignment.indexOf("=");
  return [assignment.slice(0, at), assignment.slice(at + 1)];
};

main(process.argv.slice(2));
