/**
 * Takes what a worker changed into the folder of its step. The patch comes from another machine, whatever runs there: it is first applied to an index
 * of its own, where git lists what it would do, and only plain files inside the repository are accepted. Must not know the queue.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import { complaint, type Git } from '../../../kit/process/git.ts';
import type { RunResult } from '../../../kit/process/run-process.ts';

/** Files that one step may change. */
const maxFiles = 20_000;
const listCap = 16 * 1024 * 1024;
const plainModes = ['100644', '100755', '000000'];

interface Changes {
  /** Root of the working tree. */
  readonly top: string;
  /** What the patch was made from. */
  readonly commit: string;
  /** Its file. */
  readonly patch: string;
  /** Tells git of new files, without their content: the next step's worker gets the files that git knows. */
  readonly announce: boolean;
}

/**
 * Applies the patch, all of it or nothing. A patch that is there already counts as applied: Gantry may have been killed just after it. `refused`, with
 * the reason, for one that does not apply or touches what it may not.
 */
export async function applyChanges(git: Git, { top, commit, patch, announce }: Changes): Promise<void> {
  const added = await inspect(git, top, commit, patch);
  const apply = ['apply', '--whitespace=nowarn'];
  const may = await git.try(top, [...apply, '--check', patch]);
  if (may.exitCode === 0) await git.run(top, [...apply, patch]);
  else await mustBeThere();
  // Not by `git apply --intent-to-add`, which drops other files from the index (git 2.39).
  const add = [
    '--literal-pathspecs',
    'add',
    '--intent-to-add',
    '--force',
    '--pathspec-from-file=-',
    '--pathspec-file-nul',
  ];
  if (announce && added.length > 0) await git.run(top, add, { input: added.join('\0') });

  async function mustBeThere(): Promise<void> {
    const isThere = await git.try(top, [...apply, '--reverse', '--check', patch]);
    if (isThere.exitCode === 0) return;
    throw refused(
      `They do not apply to ${top}: ${reason(may)}.`,
      'Somebody changed the same lines in the meantime. Nothing was changed; the patch is among the proofs of the step.',
    );
  }
}

/** Returns the files that it adds. */
async function inspect(git: Git, top: string, commit: string, patch: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-index-'));
  try {
    const env = { GIT_INDEX_FILE: join(folder, 'index') };
    await git.run(top, ['read-tree', commit], { env });
    const done = await git.try(top, ['apply', '--cached', '--whitespace=nowarn', patch], { env });
    if (done.exitCode !== 0) {
      throw refused(
        `They are no patch of the files that the worker got: ${reason(done)}.`,
        'Nothing was changed. Check what runs as a worker with your keys.',
      );
    }
    const listed = await git.try(top, ['diff-index', '--cached', '--raw', '--no-renames', '-z', commit], {
      env,
      outputCap: listCap,
    });
    const changes = listed.stdout.split('\0');
    if (listed.exitCode !== 0 || listed.truncated || changes.length > 2 * maxFiles + 1) {
      throw refused(`The worker changed more than ${maxFiles} files.`, 'Nothing was changed. Split the step.');
    }
    const added: string[] = [];
    for (let at = 0; at + 1 < changes.length; at += 2) {
      const [facts = '', path = ''] = changes.slice(at, at + 2);
      check(facts, path);
      if (facts.endsWith(' A')) added.push(path);
    }
    return added;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** `:100644 120000 <id> <id> T` and a path. git itself refuses paths outside the repository, inside `.git` and beyond links. */
function check(facts: string, path: string): void {
  const mode = facts.split(' ')[1] ?? '';
  const isOurs = /(?:^|\/)\.gantry\/ledger(?:\/|$)/i.test(path);
  if (plainModes.includes(mode) && !isOurs) return;
  const what = isOurs ? 'a file of Gantry' : mode === '120000' ? 'a symbolic link' : `an entry of mode ${mode}`;
  throw refused(
    `The worker made ${JSON.stringify(path)}, ${what}. A step of the queue may change only plain files.`,
    'Nothing was changed; the patch is among the proofs of the step.',
  );
}

const reason = (failed: RunResult) =>
  complaint(failed)
    .replace(/^error: /, '')
    .replace(/\.$/, '');

function refused(fact: string, action: string): AppError {
  return new AppError('refused', fact, action, { status: 409 });
}
