/**
 * Tries of a bot in `sandbox: closed` to get at what is not its own: secrets of its person, of Gantry and of other bots, destinations that nobody
 * allowed, files outside of its folder, and the value of a secret that it has only as a placeholder. Each is tried by the same bot without a sandbox,
 * too, and has to succeed there, else it is a bad try. Everything is in namespaces of its own, with a small internet that notes what arrives.
 * Counted: secrets seen, places reached, files written, and bad tries.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { plainEnvironment, runProcess } from '../../../src/kit/process/run-process.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import type { Found } from './leak/main.ts';

export const figures: readonly Figure[] = [{ name: 'sandbox.leak', run }];

const at = 'the product, with bots in shells, in namespaces with an internet of their own';
const code = new URL('../../..', import.meta.url).pathname.replace(/\/$/, '');
const programs = ['unshare', 'bwrap', 'nft', 'ip', 'perl', 'curl', 'git', 'ssh'];
const deadlineMs = 20 * 60_000;

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const why = await missing();
  if (why !== null) return { value: null, unit: 'problems', n: 0, at, why };
  // Not in a temporary folder: a sandbox has those of its own.
  const folder = mkdtempSync(join(homedir(), '.gantry-leak-'));
  try {
    const order = JSON.stringify({ quick, folder, code });
    const command = [...inNamespaces, process.execPath, join(import.meta.dirname, 'leak', 'main.ts'), order] as const;
    const { stdout, stderr, ended } = await runProcess({ command: [...command], env: plainEnvironment(), deadlineMs });
    if (ended !== null || stdout === '') throw new Error(`It ended without an answer: ${stderr.slice(-2000)}`);
    const { problems, tried, tookS } = JSON.parse(stdout) as Found;
    log(`${tried} tries, ${problems.length} problems`);
    return { value: problems.length, problems, unit: 'problems', n: tried, at, detail: { tookS } };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As a user one is root in there, and nowhere else. */
const inNamespaces = [
  'unshare',
  ...(process.getuid?.() === 0 ? [] : ['--map-root-user']),
  ...['--mount', '--net', '--ipc', '--uts', '--pid', '--fork', '--kill-child', '--mount-proc', '--'],
] as [string, ...string[]];

async function missing(): Promise<string | null> {
  const script = `for each in ${programs.join(' ')}; do command -v $each >/dev/null || echo $each; done`;
  const { PATH = '' } = plainEnvironment();
  const env = { PATH: `${PATH}:/usr/sbin:/sbin` };
  const { stdout } = await runProcess({ command: ['/bin/sh', '-c', script], env, deadlineMs: 10_000 });
  if (stdout !== '') return `without ${stdout.trim().split('\n').join(', ')} it cannot be tried`;
  const { exitCode, stderr } = await runProcess({ command: [...inNamespaces, 'true'], deadlineMs: 10_000 });
  return exitCode === 0 ? null : `namespaces cannot be made here: ${stderr.trim()}`;
}
