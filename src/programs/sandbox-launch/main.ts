/**
 * Runs a program in the terminal that it was given, in a network namespace that it fills first. Ends with the program and as the program did. What it
 * starts ends with it (`own-network.ts` has the words), so that no program is ever in that network without it. README.md says the rest.
 */
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { constants } from 'node:os';
import type { LaunchOrder } from '../../kit/sandbox/launch-order.ts';
import { serveNetwork } from './network.ts';

/** As shells say it of a program that they cannot start. */
const notStarted = 125;

const [order = '{}', , program = '', ...args] = process.argv.slice(2);

function fail(error: Error): never {
  writeSync(2, `The network of this sandbox cannot be made: ${error.message}\n`);
  process.exit(notStarted);
}

await serveNetwork(JSON.parse(order) as LaunchOrder).catch(fail);
// A signal from the terminal is for the program.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const) process.on(signal, () => {});
const child = spawn(program, args, { stdio: 'inherit' });
child.once('error', fail);
child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
