/**
 * 200 and more tries of commands to change what says what may run: files written, replaced, moved away with what lies above them, made
 * where there was none; git by its commands, its environment, submodules and worktrees; links, `/proc`, mounts and namespaces; races,
 * and processes that outlive their command. Each is run twice on the same folders. Without the sandbox it has to succeed, else it is a
 * bad try; in the sandbox, and once Gantry has looked at what it left, nothing that says what may run may be another. What that is, the
 * world reads by rules of its own. Counted: tries that succeed in the sandbox, bad tries, and commands that could not be confined.
 */
import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { runProcess } from '../../../src/kit/process/run-process.ts';
import { createShellSandbox } from '../../../src/runtime-server/tool-server/shell-sandbox.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { type Attempt, attempts } from './held/attempts.ts';
import { makeWorld, type World } from './held/world.ts';

export const figures: readonly Figure[] = [{ name: 'sandbox.held', run }];

const deadlineMs = 30_000;
/** What acts after its command has acted by then. */
const lateMs = 700;
const env = {
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '/',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b.example',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b.example',
};

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const world = makeWorld();
  try {
    const all = attempts(world);
    const tried = quick ? all.filter((_, index) => index % 20 === 3) : all;
    let names = 0;
    const sandbox = createShellSandbox({
      env,
      hidden: [world.home],
      wanted: true,
      clock: systemClock,
      freshName: () => `n${names++}`,
    });
    const at = 'commands of tools in bubblewrap, in a workspace, an empty repository and a bot’s worktree';
    const missing = await sandbox.missing();
    if (missing !== null) return { value: null, unit: 'problems', n: 0, at, why: missing };
    const problems: string[] = [];
    let told = 0;
    for (const attempt of tried) {
      world.reset();
      const before = world.whatRuns();
      await plainly(world, attempt);
      if (differences(before, world.whatRuns()).length === 0) problems.push(`bad try: ${attempt.line}`);
      world.reset();
      const notes = await confined(world, attempt, sandbox);
      if (notes === null) problems.push(`not confined: ${attempt.line}`);
      told += notes === null || notes.length === 0 ? 0 : 1;
      const changed = differences(before, world.whatRuns());
      if (changed.length > 0) problems.push(`${attempt.at}: ${attempt.line} → ${changed.slice(0, 5).join(', ')}`);
    }
    log(`${tried.length} tries, ${told} told of`);
    return { value: problems.length, problems, unit: 'problems', n: tried.length, at, detail: { told } };
  } finally {
    world.remove();
  }
}

/** As its person would run it. What it leaves in the background is waited for, not ended. */
async function plainly(world: World, { at, line, late }: Attempt): Promise<void> {
  const child = spawn('/bin/sh', ['-c', line], { cwd: world[at], env, stdio: 'ignore', timeout: deadlineMs });
  await new Promise((resolve) => child.once('exit', resolve));
  if (late) await delay(lateMs);
}

async function confined(
  world: World,
  { at, line, late }: Attempt,
  sandbox: ReturnType<typeof createShellSandbox>,
): Promise<string[] | null> {
  const root = world[at];
  const checkout = at === 'plain' ? world.plain : world.work;
  const command: [string, ...string[]] = ['/bin/sh', '-c', line];
  const placed = await sandbox.place({ command, cwd: root, root, checkout, env });
  const { confined: isConfined, roots: _roots, settle, ...place } = placed;
  await runProcess({ ...place, deadlineMs });
  const notes = await settle();
  if (late) await delay(lateMs);
  return isConfined ? notes : null;
}

function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])];
  return paths.filter((path) => before.get(path) !== after.get(path) && (before.has(path) || !isUsual(path, after)));
}

/** What `git worktree add` writes, which leads from the new worktree to the repository that it is of. */
function isUsual(path: string, found: ReadonlyMap<string, string>): boolean {
  return /\/worktrees\/[^/]+\/gitdir$/.test(path) || (path.endsWith('/commondir') && found.get(path) === '../..');
}
