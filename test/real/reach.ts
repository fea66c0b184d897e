/**
 * A job apart, "reach me" with nothing left out (`npm run test:reach`, root on Linux): a cloud and two computers, each in a
 * network namespace of its own; a person in Firefox; the real Claude Code on the other computer. Prints a line a scene and ends
 * with 1 when one fails, with 77 when something it needs is not here. `GANTRY_CLAUDE_PREFIX` names a folder that has Claude Code.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildRenderer } from '../e2e/support/renderer.ts';
import { commandIn, createNetwork, noNetwork } from '../support/namespaces.ts';
import { claudeIn } from './claude-install.ts';
import { firefoxPath, hasFirefox } from './firefox.ts';

const scenes = fileURLToPath(new URL('./reach-scenes.ts', import.meta.url));
const skipped = 77;

function missing(): string | null {
  const network = noNetwork();
  if (network !== null) return `no network of its own: ${network}`;
  return hasFirefox() ? null : `no Firefox at ${firefoxPath}; GANTRY_FIREFOX names another`;
}

/** The scenes run at the person's computer; they get to the other places by name. */
async function play(claudeBin: string): Promise<number> {
  await buildRenderer();
  const network = createNetwork();
  const scratch = mkdtempSync(join(tmpdir(), 'reach-'));
  const places = { cloud: network.place('cloud'), here: network.place('here'), there: network.place('there') };
  const env = { ...process.env, TMPDIR: scratch, GANTRY_REACH: JSON.stringify({ ...places, claudeBin }) };
  const [program, ...args] = commandIn(places.here, process.execPath, scenes);
  const child = spawn(program, args, { stdio: 'inherit', env });
  // Whoever ends this program ends the scenes; what they started is ended with the network.
  const end = () => child.kill('SIGTERM');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, end);
  try {
    return await new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
  } finally {
    await network.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

function claudeOrWhy(prefix: string): string | null {
  try {
    return claudeIn(prefix);
  } catch (error) {
    console.error(`SKIPPED, nothing was tried: ${(error as Error).message}`);
    return null;
  }
}

const why = missing();
if (why === null) {
  const given = process.env.GANTRY_CLAUDE_PREFIX;
  const prefix = given ?? mkdtempSync(join(tmpdir(), 'gantry-claude-'));
  try {
    const claudeBin = claudeOrWhy(prefix);
    process.exitCode = claudeBin === null ? skipped : await play(claudeBin);
  } finally {
    if (given === undefined) rmSync(prefix, { recursive: true, force: true });
  }
} else {
  console.error(`SKIPPED, nothing was tried: ${why}`);
  process.exitCode = skipped;
}
