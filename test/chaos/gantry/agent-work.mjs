/**
 * What the agent program in a pane does with a message: it works at the step for a moment and reports with the real `gantry` verbs, one after the
 * other. As a program of its own, with run and step as arguments, it is the command of a real agent program. Each report is written down before it is made and after it was answered, in a file that the orchestrator does not know: `CHAOS_JOURNAL`.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const gantry = fileURLToPath(new URL('../../../scripts/gantry.mjs', import.meta.url));
/** Not the clock of the computer, which a fault sets. */
const now = () => Math.round(performance.timeOrigin + performance.now());
const write = (line) => appendFileSync(process.env.CHAOS_JOURNAL, `${JSON.stringify({ at: now(), ...line })}\n`);

const maxTries = 60;
const againMs = 500;
const isFull = ({ code, said }) => code === 3 && /disk .* is full|ENOSPC/.test(said);

/** A message that hands over no step is only read. */
export async function work(message) {
  const [, run, step] = /gantry workspace done (\S+) (\S+) --output/.exec(message) ?? [];
  if (run === undefined) return;
  const turn = `t${randomBytes(6).toString('hex')}`;
  const of = { run, step, turn, pid: process.pid, agent: process.env.GANTRY_AGENT };
  write({ kind: 'turn', ...of, attempt: attemptOf(run, step) });
  const pauseMs = Number(process.env.CHAOS_PAUSE_MS ?? 400);
  for (const [index, verb] of ['progress', 'progress', 'done'].entries()) {
    await delay(pauseMs * (0.5 + Math.random()));
    const token = `${turn}-${index + 1}`;
    write({ kind: 'begin', ...of, token, verb });
    let answer = await call(verb, run, step, token);
    // Who is told that the disk is full tries again. Where nobody is there it gives up: that is the loss that a spool is for.
    for (let tries = 0; isFull(answer) && tries < maxTries; tries += 1) {
      await delay(againMs);
      answer = await call(verb, run, step, token);
    }
    write({ kind: 'end', ...of, token, verb, ...answer });
  }
  write({ kind: 'over', ...of });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , run, step] = process.argv;
  await work(`gantry workspace done ${run} ${step} --output`);
}

/** Which attempt the step was handed over as: noted beside the bot's token. */
function attemptOf(run, step) {
  try {
    const file = join(dirname(process.env.GANTRY_TOKEN_FILE), 'spool', 'work.json');
    const { dagId, nodeId, attempt } = JSON.parse(readFileSync(file, 'utf8'));
    return dagId === run && nodeId === step ? attempt : null;
  } catch {
    return null;
  }
}

function call(verb, run, step, token) {
  const words = verb === 'done' ? ['--output', token] : [token];
  const child = spawn(process.execPath, [gantry, 'workspace', verb, run, step, ...words, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (bytes) => {
    out += bytes;
  });
  child.stderr.on('data', (bytes) => {
    err += bytes;
  });
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ code: null, said: String(error) }));
    child.on('close', (code) => resolve({ code, said: `${out}${err}`.slice(0, 2000) }));
  });
}
