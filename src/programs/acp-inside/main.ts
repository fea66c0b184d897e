/**
 * Runs an agent over ACP and stands beside it, in its sandbox if it has one: passes on its messages, and does for it what it asks of its client, files and
 * commands, once Gantry has allowed it. Ends with the agent and as it did. README.md says the rest.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { createCommands } from './commands.ts';
import { readText, writeText } from './files.ts';
import { type Answer, mark, maxAnswer, type Order } from './protocol.ts';

const [program = '', ...args] = process.argv.slice(2);
const agent = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const commands = createCommands();
const newline = 10;
const markByte = mark.charCodeAt(0);

agent.once('error', (error) => {
  // As shells say it of a program that they cannot start.
  process.stderr.write(`${program} could not be started: ${error.message}\n`);
  process.exit(127);
});
agent.stdin.on('error', () => {});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => agent.kill(signal));
process.on('exit', commands.endAll);
// Gantry is gone, and whatever was to be told with it.
process.stdout.on('error', () => agent.kill('SIGTERM'));

agent.once('exit', (code, signal) => {
  commands.endAll();
  // What left the agent's tree may hold its pipes.
  const late = setTimeout(end, 500, code, signal);
  agent.once('close', () => {
    clearTimeout(late);
    end(code, signal);
  });
});

function end(code: number | null, signal: NodeJS.Signals | null): void {
  const leave = () => {
    if (signal === null) process.exit(code ?? 1);
    commands.endAll();
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // In a sandbox it is the first process there, which signals do not end.
    setTimeout(() => process.exit(128 + constants.signals[signal]), 50);
  };
  // A pipe that nobody reads must not keep it.
  setTimeout(leave, 500).unref();
  process.stdout.write('', leave);
}

void takeOrders();
void passOn();

/** Lines of Gantry: orders for this program, all others for the agent. */
async function takeOrders(): Promise<void> {
  let parts: Buffer[] = [];
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      const line = Buffer.concat([...parts, chunk.subarray(from, at + 1)]);
      parts = [];
      from = at + 1;
      if (line[0] === markByte) void answer(line.toString('utf8', 1));
      else if (!agent.stdin.write(line)) await Promise.race([once(agent.stdin, 'drain'), once(agent, 'exit')]);
    }
    parts.push(chunk.subarray(from));
  }
  agent.stdin.end();
}

async function answer(line: string): Promise<void> {
  const { id, order } = JSON.parse(line) as { readonly id: number; readonly order: Order };
  let said: Answer;
  try {
    said = { id, is: await carryOut(order) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    said = { id, missing: code === 'ENOENT', why: message };
  }
  let text = JSON.stringify(said);
  if (Buffer.byteLength(text) > maxAnswer)
    text = JSON.stringify({ id, missing: false, why: `the answer is longer than ${maxAnswer} bytes` } satisfies Answer);
  answers.push(`${mark}${text}\n`);
  tellAnswers();
}

function carryOut(order: Order): Promise<unknown> {
  switch (order.do) {
    case 'read':
      return readText(order);
    case 'write':
      return writeText(order);
    case 'start':
      return commands.start(order);
    default:
      return commands[order.do](order.command);
  }
}

/** Wait for the end of the agent's line. */
const answers: string[] = [];
let isBetweenLines = true;

function tellAnswers(): void {
  if (isBetweenLines) for (const text of answers.splice(0)) process.stdout.write(text);
}

/** The agent's lines to Gantry as they are, but none that would pass for an answer of this program. */
async function passOn(): Promise<void> {
  let isDropped = false;
  for await (const chunk of agent.stdout as AsyncIterable<Buffer>) {
    let from = 0;
    while (from < chunk.length) {
      const found = chunk.indexOf(newline, from);
      const to = found === -1 ? chunk.length : found + 1;
      const piece = chunk.subarray(from, to);
      from = to;
      if (isBetweenLines) isDropped = piece[0] === markByte;
      isBetweenLines = found !== -1;
      if (!isDropped && !process.stdout.write(piece)) await once(process.stdout, 'drain');
      tellAnswers();
    }
  }
  isBetweenLines = true;
  tellAnswers();
}
