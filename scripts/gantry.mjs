#!/usr/bin/env node
/**
 * The command `gantry`. Runs the built program in this very process where this Node is new enough (idle memory counts: no wrapper
 * process), else hands everything to the Node that came with the dependencies. Node 18 can parse this file.
 */
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildIsFresh, findNode, isCheckout, noNode, root, thisNodeIsEnough } from './node-runtime.mjs';

/** Commands that go on for as long as Gantry runs. */
const servers = new Set(['start', 'runtime', 'cloud']);
/**
 * For those, of Node. V8 would let what is young take 190 MB as soon as thousands of streams open at once, and keep it. With 24 MB the same
 * work takes no longer; with 48 MB the start alone took 34 of them.
 */
const serverOptions = ['--max-semi-space-size=8'];

if (thisNodeIsEnough()) {
  becomeServer();
  await runHere();
} else await runElsewhere();

/**
 * Node reads such options only as it begins: where a program can replace itself, this one does (same process, same terminal; 40 ms).
 * Elsewhere the server runs without them.
 */
function becomeServer() {
  if (!servers.has(process.argv[2]) || typeof process.execve !== 'function' || process.platform === 'win32') return;
  if (process.execArgv.some((option) => option.startsWith('--max-semi-space-size'))) return;
  process.execve(process.execPath, [
    process.execPath,
    ...serverOptions,
    ...process.execArgv,
    fileURLToPath(import.meta.url),
    ...process.argv.slice(2),
  ]);
}

async function runHere() {
  const built = join(root, 'out', 'server', 'cli.js');
  const source = join(root, 'src', 'cli', 'main.ts');
  const program = isCheckout() && !(existsSync(built) && buildIsFresh()) ? source : built;
  if (!existsSync(join(root, 'node_modules')) && isCheckout()) {
    fail('Gantry is not installed yet: run npm start (or npm ci) in its folder first.');
    return;
  }
  await import(pathToFileURL(program).href);
}

async function runElsewhere() {
  const node = findNode();
  if (node === null) {
    fail(
      isCheckout() && !existsSync(join(root, 'node_modules'))
        ? 'Gantry is not installed yet: run npm start in its folder first.'
        : noNode,
    );
    return;
  }
  const { spawn } = await import('node:child_process');
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends its signals to the whole group; those that only we got are passed on.
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'])
    process.on(signal, () => child.kill(signal));
  process.on('SIGINT', () => {
    if (!process.stdin.isTTY) child.kill('SIGINT');
  });
  child.on('error', (error) => fail(`${node} could not be started (${error.message}).`));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}

/** One sentence and exit code 70, as JSON where that was asked for. */
function fail(fact) {
  if (process.argv.includes('--json')) {
    console.log(JSON.stringify({ error: { code: 'internal', fact, action: '' } }));
  } else console.error(fact);
  process.exitCode = 70;
}
