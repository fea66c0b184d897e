/** Nothing that a downloaded folder's own settings name is run by git as Gantry calls it; what the person set for themselves is. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createGit } from '../../../src/kit/process/git.ts';

let base: string;
let repo: string;
let traces: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'gantry-git-'));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const { HOME } = process.env;
  onTestFinished(() => {
    process.env.HOME = HOME;
  });
  process.env.HOME = join(base, 'person');
  repo = join(base, 'repo');
  traces = join(base, 'traces');
  for (const folder of [process.env.HOME, repo, traces]) mkdirSync(folder);
  writeFileSync(join(base, 'person', '.gitconfig'), '[user]\n\tname = a\n\temail = a@b.example\n');
});

function plain(...args: string[]): string {
  return execFileSync('git', ['-C', repo, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

const put = (path: string, text: string) => writeFileSync(join(repo, path), text);
/** A command that leaves a file and hands its input on. */
const trace = (name: string) => `touch '${join(traces, name)}'; cat`;
const left = () => readdirSync(traces).sort();

/** A repository with two branches that changed the same file, and then the settings of somebody else. */
function makeHostile(): void {
  plain('init', '-q', '-b', 'main');
  put('.gitattributes', 'data.bin filter=a=b\n*.txt diff=d merge=m\n');
  put('notes.txt', 'one\ntwo\nthree\nfour\nfive\n');
  plain('add', '--all');
  plain('commit', '-qm', 'first');
  const inner = join(repo, 'inner');
  execFileSync('git', ['init', '-q', inner]);
  writeFileSync(join(inner, 'data.bin'), 'x\n');
  writeFileSync(join(inner, '.gitattributes'), 'data.bin filter=inner\n');
  execFileSync('git', ['-C', inner, 'add', '--all']);
  execFileSync('git', ['-C', inner, 'commit', '-qm', 'inner']);
  plain('add', 'inner');
  plain('commit', '-qm', 'a repository in the repository');
  plain('switch', '-qc', 'other');
  put('notes.txt', 'ONE\ntwo\nthree\nfour\nfive\n');
  plain('commit', '-qam', 'theirs');
  plain('switch', '-q', 'main');
  put('notes.txt', 'one\ntwo\nthree\nfour\nFIVE\n');
  plain('commit', '-qam', 'ours');
  for (const kind of ['clean', 'smudge']) plain('config', `filter.a=b.${kind}`, trace(kind));
  plain('config', 'diff.d.textconv', trace('textconv'));
  plain('config', 'diff.d.command', trace('diff-command'));
  plain('config', 'diff.external', trace('diff-external'));
  plain('config', 'merge.m.driver', trace('merge-driver'));
  plain('config', 'core.fsmonitor', trace('fsmonitor'));
  plain('config', 'core.sshCommand', trace('ssh'));
  plain('config', 'core.editor', trace('editor'));
  plain('config', 'gpg.program', trace('gpg'));
  plain('config', 'alias.status', `!${trace('alias')}`);
  plain('config', 'alias.st', `!${trace('alias')}`);
  plain('config', 'core.hooksPath', join(repo, 'hooks'));
  mkdirSync(join(repo, 'hooks'));
  for (const hook of ['post-checkout', 'pre-commit', 'post-commit', 'post-merge', 'reference-transaction']) {
    put(`hooks/${hook}`, `#!/bin/sh\ntouch '${join(traces, `hook-${hook}`)}'\n`);
    chmodSync(join(repo, 'hooks', hook), 0o755);
  }
  // Settings of their own kind: included, and of the repository in the repository.
  put('more.config', `[filter "included"]\n\tclean = ${JSON.stringify(trace('included'))}\n`);
  plain('config', 'include.path', '../more.config');
  execFileSync('git', ['-C', inner, 'config', 'filter.inner.clean', trace('submodule')]);
  execFileSync('git', ['-C', inner, 'config', 'core.fsmonitor', trace('submodule-fsmonitor')]);
  appendFileSync(join(repo, '.gitattributes'), 'also.bin filter=included\n');
  // It looks changed, so git would read it through its filter.
  writeFileSync(join(inner, 'data.bin'), 'y\n');
}

/** What Gantry asks of git, but for what the folder's filters are needed for. */
async function work(run: (...args: string[]) => Promise<unknown>, add: () => Promise<unknown>): Promise<void> {
  await run('status', '--porcelain', '--ignore-submodules=dirty');
  await add();
  await run('commit', '--quiet', '-m', 'more');
  await run('diff', '--no-ext-diff', '--no-textconv', 'HEAD~1', 'HEAD');
  await run('merge-tree', '--write-tree', '--name-only', 'main', 'other');
  await run('merge', '--no-ff', '-m', 'both', 'other');
  await run('worktree', 'add', '-b', 'third', join(base, 'worktree'));
  await run('switch', '--create', 'fourth');
  await run('rev-parse', 'HEAD');
}

test('no program that the repository’s own settings name is run, whatever Gantry asks of git', async () => {
  makeHostile();
  const git = createGit();
  await work(
    (...args) => git.run(repo, args),
    () => git.addAll(repo),
  );
  expect(left()).toEqual([]);
  expect(plain('show', 'HEAD:notes.txt')).toBe('ONE\ntwo\nthree\nfour\nFIVE');
  for (const [file, name] of [
    ['data.bin', 'a=b'],
    ['also.bin', 'included'],
  ] as const) {
    put(file, 'secret\n');
    await expect(git.addAll(repo)).rejects.toMatchObject({
      fact: expect.stringContaining(`filter.${name}.clean is set in the repository's own settings`),
    });
    rmSync(join(repo, file));
  }
  expect(left()).toEqual([]);
});

test('the same calls by git as it comes run them', async () => {
  makeHostile();
  const run = async (...args: string[]) => {
    try {
      plain(...args.filter((one) => !one.startsWith('--no-ext') && !one.startsWith('--no-text')));
    } catch {
      // A driver that prints nothing useful may fail the call: it ran.
    }
  };
  await work(run, () => run('add', '--all'));
  put('data.bin', 'secret\n');
  put('also.bin', 'secret\n');
  plain('add', 'data.bin', 'also.bin');
  plain('status', '--porcelain');
  expect(left()).toEqual(
    expect.arrayContaining(['clean', 'included', 'fsmonitor', 'hook-post-commit', 'merge-driver']),
  );
  expect(left()).toEqual(expect.arrayContaining(['submodule', 'submodule-fsmonitor']));
});

test('a filter that the person has set for themselves is run, whatever the repository calls the same', async () => {
  makeHostile();
  appendFileSync(join(base, 'person', '.gitconfig'), `[filter "a=b"]\n\tclean = ${JSON.stringify(trace('person'))}\n`);
  put('data.bin', 'x\n');
  await createGit().addAll(repo);
  expect(left()).toEqual(['person']);
});
