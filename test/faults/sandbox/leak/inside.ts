/** Runs each probe in the bot's own shell environment, one after the other. Copied into the bot's folder: imports nothing of Gantry. */
import { spawn } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

interface Line {
  readonly token: string;
  readonly line: string;
}
interface Ran {
  readonly token: string;
  readonly from: number;
  readonly until: number;
  readonly output: string;
}

const [orders = '', results = ''] = process.argv.slice(2);
const deadlineMs = 20_000;
/** More than any probe prints; what is looked for is found long before. */
const maxOutput = 32 * 1024 * 1024;

function run({ token, line }: Line): Promise<Ran> {
  return new Promise((resolve) => {
    const from = Date.now();
    const child = spawn('/bin/sh', ['-c', `${prelude}\n${line}`], {
      env: { ...process.env, ...variables, T: token },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: deadlineMs,
      killSignal: 'SIGKILL',
    });
    let output = '';
    const take = (chunk: string) => {
      if (output.length < maxOutput) output += chunk;
    };
    child.stdout.setEncoding('latin1').on('data', take);
    child.stderr.setEncoding('latin1').on('data', take);
    const done = () => resolve({ token, from, until: Date.now(), output });
    child.once('error', done);
    // What it left in the background may hold its output open.
    child.once('exit', () => setTimeout(done, 50));
  });
}

const { prelude, variables, lines } = JSON.parse(readFileSync(orders, 'utf8')) as {
  readonly prelude: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly lines: readonly Line[];
};
const all: Ran[] = [];
for (const line of lines) all.push(await run(line));
writeFileSync(`${results}.part`, JSON.stringify(all));
renameSync(`${results}.part`, results);
