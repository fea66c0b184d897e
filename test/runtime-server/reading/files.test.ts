/** A bot's folder as its person reads it, over HTTP: what is outside, Gantry's own, endless or no file at all is never opened. */
import { execFileSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { maxEntries, maxFileText } from '../../../src/contracts/factory/file-routes.ts';
import { sharedEngine, through } from '../engine.ts';

const shared = sharedEngine();
interface Listed {
  root: string;
  path: string;
  entries: { name: string; kind: string }[];
  more: boolean;
}
interface Text {
  path: string;
  size: number;
  text: string;
  cut: boolean;
  binary: boolean;
}

/** `plain@t` works in the folder `shop` of the workspace, `tree@w` in a worktree of it. */
let root: string;
let worktree: string;

const asked = (what: '' | '/text' | '/place', path?: string) =>
  `/files${what}${path === undefined ? '' : `?${new URLSearchParams({ path })}`}`;
const list = (path?: string, bot = 'plain@t') => shared.current.call<Listed>('GET', `/agents/${bot}${asked('', path)}`);
const read = (path: string, bot = 'plain@t') =>
  shared.current.call<Text>('GET', `/agents/${bot}${asked('/text', path)}`);
const place = async (path: string, bot = 'plain@t') =>
  (await shared.current.call<{ path: string | null }>('GET', `/agents/${bot}${asked('/place', path)}`)).body.path;

beforeAll(async () => {
  const engine = shared.current;
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...words], {
      cwd: engine.workspace,
    });
  engine.write('shop/src/a.ts', 'export const a = 1;\n');
  engine.write('shop/README.md', 'The shop.\n');
  engine.write('README.md', 'The workspace.\n');
  engine.write('.gitignore', '.gantry\n');
  git('init', '-q');
  git('add', '.');
  git('commit', '-q', '-m', 'The shop');
  mkdirSync(join(engine.home, 'workspace'));
  writeFileSync(join(engine.home, 'workspace', 'REPORT.md'), 'Two texts.\n');
  engine.team(
    't',
    [
      'bots:',
      '  - {bot: plain, harness: shell, cwd: shop}',
      '  - {bot: later, harness: shell, cwd: shop, worktree: true}',
      `  - {bot: inside, harness: shell, cwd: ${JSON.stringify(engine.home)}}`,
      `  - {bot: first, harness: shell, cwd: ${JSON.stringify(join(engine.home, 'workspace'))}}`,
      `  - {bot: above, harness: shell, cwd: ${JSON.stringify(join(engine.home, '..'))}}`,
      '',
    ].join('\n'),
  );
  engine.team('w', 'bots:\n  - {bot: tree, harness: shell, cwd: shop, worktree: true}\n');
  expect(await engine.call('POST', '/teams/w/up', {})).toMatchObject({ status: 200 });
  root = join(engine.workspace, 'shop');
  worktree = (await engine.call<{ path: string }>('GET', '/agents/tree@w/diff')).body.path;
});

test('a folder lists its entries with their kinds, and a file has its text', async () => {
  expect((await list()).body).toEqual({
    root,
    path: '',
    entries: [
      { name: 'README.md', kind: 'file' },
      { name: 'src', kind: 'folder' },
    ],
    more: false,
  });
  expect((await list('src')).body).toMatchObject({ path: 'src', entries: [{ name: 'a.ts', kind: 'file' }] });
  expect((await read('src/a.ts')).body).toEqual({
    path: 'src/a.ts',
    size: 20,
    text: 'export const a = 1;\n',
    cut: false,
    binary: false,
  });
});

test('a bot with a worktree shows the worktree, and a path that it printed counts from its folder first', async () => {
  writeFileSync(join(worktree, 'shop', 'src', 'a.ts'), 'export const a = 2;\n');
  expect((await list(undefined, 'tree@w')).body).toMatchObject({ root: worktree });
  // So that nobody asks for the changes of a bot that has no worktree.
  const isTree = async (bot: string) =>
    (await shared.current.call<{ worktree: boolean }>('GET', `/agents/${bot}${asked('/place', 'README.md')}`)).body;
  expect([await isTree('tree@w'), await isTree('plain@t')]).toMatchObject([{ worktree: true }, { worktree: false }]);
  expect((await read('shop/src/a.ts', 'tree@w')).body.text).toBe('export const a = 2;\n');
  expect(await place('src/a.ts', 'tree@w')).toBe('shop/src/a.ts');
  expect(await place('shop/src/a.ts', 'tree@w')).toBe('shop/src/a.ts');
  expect(await place('README.md', 'tree@w')).toBe('shop/README.md');
  expect(await place('../README.md', 'tree@w')).toBe('README.md');
  expect(await place(join(worktree, 'README.md'), 'tree@w')).toBe('README.md');
  for (const none of ['src', 'gone.ts', '../../../token', join(root, 'README.md')]) {
    expect(await place(none, 'tree@w')).toBeNull();
  }
});

test('what lies outside is refused, however it is written: with dots, as a whole path, through a link', async () => {
  symlinkSync(join(shared.current.workspace, 'README.md'), join(root, 'out.md'));
  symlinkSync('/etc', join(root, 'etc'));
  symlinkSync('src/a.ts', join(root, 'in.ts'));
  symlinkSync('nowhere', join(root, 'broken'));
  for (const path of ['../README.md', 'src/../../README.md', '/etc/passwd', 'out.md', 'etc/passwd']) {
    expect(await read(path), path).toMatchObject({ status: 403, body: { error: { code: 'refused' } } });
    expect(await place(path), path).toBeNull();
  }
  expect(await list('etc')).toMatchObject({ status: 403 });
  expect(await list('..')).toMatchObject({ status: 403 });
  expect((await read('in.ts')).body).toMatchObject({ path: 'src/a.ts' });
  expect(await read('broken')).toMatchObject({ status: 404 });
  expect((await list()).body.entries).toContainEqual({ name: 'etc', kind: 'other' });
  for (const path of ['out.md', 'etc', 'in.ts', 'broken']) rmSync(join(root, path));
});

test('a named pipe, a folder and a file that is gone answer at once with what they are', async () => {
  execFileSync('mkfifo', [join(root, 'pipe')]);
  expect(await read('pipe')).toMatchObject({
    status: 403,
    body: { error: { fact: expect.stringContaining('a named pipe') } },
  });
  expect(await place('pipe')).toBeNull();
  expect(await read('src')).toMatchObject({
    status: 403,
    body: { error: { fact: expect.stringContaining('a folder') } },
  });
  expect(await read('gone.ts')).toMatchObject({ status: 404 });
  expect(await list('gone')).toMatchObject({ status: 404 });
  expect(await list('README.md')).toMatchObject({ status: 400 });
  expect(await read('a\0b')).toMatchObject({ status: 400 });
  rmSync(join(root, 'pipe'));
});

test('of a file of a gigabyte only the beginning is read, and whole characters of it', async () => {
  const handle = openSync(join(root, 'huge.txt'), 'w');
  writeFileSync(handle, `${'a'.repeat(maxFileText - 1)}ä${'b'.repeat(10_000)}`);
  ftruncateSync(handle, 1024 ** 3);
  closeSync(handle);
  const { body } = await read('huge.txt');
  expect(body).toMatchObject({ size: 1024 ** 3, cut: true, binary: false });
  expect(body.text).toBe('a'.repeat(maxFileText - 1));
  rmSync(join(root, 'huge.txt'));
});

test('a binary file says so and has no text; one in another encoding is shown as far as it can be', async () => {
  writeFileSync(join(root, 'a.bin'), Buffer.from([1, 0, 2]));
  expect((await read('a.bin')).body).toMatchObject({ size: 3, text: '', binary: true });
  writeFileSync(join(root, 'a.bin'), Buffer.from([0x67, 0xf6]));
  expect((await read('a.bin')).body).toMatchObject({ text: 'g\ufffd', binary: false });
  rmSync(join(root, 'a.bin'));
});

test('names with spaces, line breaks and marks that turn the order are read as they are', async () => {
  for (const name of ['two  spaces.txt', 'line\nbreak.txt', 'turn\u202etxt.exe', '#?&%20.txt']) {
    writeFileSync(join(root, name), name);
    expect((await read(name)).body.text).toBe(name);
    rmSync(join(root, name));
  }
});

test('a folder with more entries than are listed says that there are more', async () => {
  mkdirSync(join(root, 'many'));
  for (let n = 0; n <= maxEntries; n++) writeFileSync(join(root, 'many', `${n}`), '');
  const { body } = await list('many');
  expect([body.entries.length, body.more]).toEqual([maxEntries, true]);
  rmSync(join(root, 'many'), { recursive: true });
});

test('the data folder is shown to nobody: not as a bot’s folder, not below one, not through a link', async () => {
  const { home } = shared.current;
  writeFileSync(join(home, 'secret'), 'of Gantry');
  expect(await list(undefined, 'inside@t')).toMatchObject({ status: 403 });
  expect(await read('secret', 'inside@t')).toMatchObject({ status: 403 });
  const above = await list(undefined, 'above@t');
  expect(above.status).toBe(200);
  const name = home.slice(above.body.root.length + 1);
  expect(above.body.entries.map((entry) => entry.name)).not.toContain(name);
  for (const path of [name, `${name}/secret`, join(home, 'secret')]) {
    expect(await read(path, 'above@t')).toMatchObject({ status: 403 });
    expect(await place(path, 'above@t')).toBeNull();
  }
  expect(await list(name, 'above@t')).toMatchObject({ status: 403 });
  symlinkSync(home, join(root, 'data'));
  expect(await list('data')).toMatchObject({ status: 403 });
  rmSync(join(root, 'data'));
});

test('of the workspace that a first start makes in the data folder a bot’s files are shown, and nothing beside it', async () => {
  const { home } = shared.current;
  expect((await read('REPORT.md', 'first@t')).body.text).toBe('Two texts.\n');
  expect(await place('REPORT.md', 'first@t')).toBe('REPORT.md');
  expect(await read('../secret', 'first@t')).toMatchObject({ status: 403 });
  rmSync(join(home, 'workspace'), { recursive: true });
  symlinkSync(home, join(home, 'workspace'));
  expect(await list(undefined, 'first@t')).toMatchObject({ status: 403 });
  rmSync(join(home, 'workspace'));
});

test('a worktree that is not made yet is said, and an unknown bot is not found', async () => {
  expect(await list(undefined, 'later@t')).toMatchObject({
    status: 404,
    body: { error: { fact: expect.stringContaining('does not exist yet') } },
  });
  expect(await list(undefined, 'nobody@t')).toMatchObject({ status: 404 });
});

test('only the person reads them: no bot, no key, no access token of another program', async () => {
  const engine = shared.current;
  const bot = await engine.botToken('tree@w');
  for (const path of [asked(''), asked('/text', 'README.md'), asked('/place', 'README.md')]) {
    const call = (options: Parameters<typeof engine.call>[3]) =>
      engine.call('GET', `/agents/plain@t${path}`, undefined, options);
    expect(await call({ token: bot })).toMatchObject({ status: 403 });
    expect(await call(through('key'))).toMatchObject({ status: 403 });
    expect(await call(through('oidc'))).toMatchObject({ status: 403 });
    expect(await call({ token: 'nobody-at-all' })).toMatchObject({ status: 401 });
    expect(await call(through('browser'))).toMatchObject({ status: 200 });
  }
});
