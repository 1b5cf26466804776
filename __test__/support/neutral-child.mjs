// A program over the neutral protocol that is moved by its prompts. The text of each is JSON: `accept`, the answer to it; `send`, the
// messages that follow; `afterAnswer`, those that follow the first answer; `answers`, how many answers it waits for. Then it says the answers, and completes.
import readline from "node:readline";

const capabilities = JSON.parse(process.env.CAPABILITIES ?? "{}");
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
let turn;
let answers = [];

function look() {
  if (turn === undefined || answers.length < turn.answers) return;
  const { nativeTurnId } = turn.accept;
  const text = { cumulative: JSON.stringify(answers) };
  turn = undefined;
  answers = [];
  send({ method: "observation", params: { kind: "assistant", text, done: true, nativeTurnId } });
  send({ method: "turn/ended", params: { status: "completed", nativeTurnId } });
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === "initialize") send({ id, result: { protocolVersion: 1, capabilities } });
  else if (method?.startsWith("session/")) send({ id, result: {} });
  else if (method === "turn/prompt") {
    turn = { accept: {}, send: [], afterAnswer: [], answers: 0, ...JSON.parse(params.text) };
    send({ id, result: turn.accept });
    for (const message of turn.send) send(message);
    look();
  } else if (method === undefined) {
    answers.push([id, result?.decision ?? result?.answers ?? error.code]);
    for (const message of turn?.afterAnswer.splice(0) ?? []) send(message);
    look();
  }
});
