/**
 * Runs a program in the terminal that it was given, in a network namespace that it fills while bubblewrap prepares the rest. Ends with the program and as the
 * program did. What it starts ends with it (`own-network.ts` has the words), so that no program is ever in that network without it. README.md says the
 * rest.
 */
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { constants } from 'node:os';
import type { Duplex } from 'node:stream';
import { type LaunchOrder, readyDescriptor } from '../../kit/sandbox/launch-order.ts';
import { serveNetwork } from './network.ts';

/** As shells say it of a program that they cannot start. */
const notStarted = 125;
const terminal = ['inherit', 'inherit', 'inherit'] as const;
const unused = Array.from({ length: readyDescriptor - terminal.length }, () => 'ignore' as const);

const [order = '{}', , program = '', ...args] = process.argv.slice(2);

function fail(error: Error): never {
  writeSync(2, `The network of this sandbox cannot be made: ${error.message}\n`);
  process.exit(notStarted);
}

// A signal from the terminal is for the program.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const) process.on(signal, () => {});
const served = serveNetwork(JSON.parse(order) as LaunchOrder);
const child = spawn(program, args, { stdio: [...terminal, ...unused, 'pipe'] });
child.once('error', fail);
child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
const ready = (child.stdio as readonly unknown[])[readyDescriptor] as Duplex;
// What it was for may have ended.
ready.on('error', () => {});
await served.catch(fail);
ready.end('\n', () => ready.destroy());
