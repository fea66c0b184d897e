/**
 * Which team folders another computer may bring: no path outside the folder, no path twice, no name that a system gives a
 * meaning.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { uploadBytes, uploadFiles } from '../../../src/contracts/factory/peer-routes.ts';
import { placeUpload, readUpload, type UploadFiles } from '../../../src/runtime-server/peers/upload.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gantry-upload-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const team = { 'team.yaml': 'bots:\n  - {bot: web, harness: shell}\n' };
const read = (files: UploadFiles) => readUpload('dev', files, { root, userHome: '/nowhere' });
const refusal = (files: UploadFiles): { status: number; fact: string } => {
  try {
    read(files);
  } catch (error) {
    if (error instanceof AppError) return { status: error.status, fact: error.fact };
    throw error;
  }
  throw new Error('It was taken.');
};

const hostile = {
  'a parent': '../x',
  'a parent in the middle': 'a/../../x',
  'an absolute path': '/etc/passwd',
  'a drive': 'C:\\Windows\\x',
  'a drive without a backslash': 'C:/x',
  'a backslash': 'a\\..\\x',
  NUL: 'a\0b',
  'a line break': 'a\nb',
  'a device with an ending': 'aux.txt',
  'a device in capitals': 'notes/CON',
  'a device by superscript': 'COM¹',
  'a trailing dot': 'a.',
  'a trailing space': 'a ',
  'a repository': '.git/hooks/post-checkout',
  'a repository in capitals': '.GIT/config',
  'a repository by its short name': 'GIT~1/config',
  'a repository with an unseen mark': '.g\u200cit/config',
  'a decomposed letter': 'u\u0308.md',
  'a turned name': 'x\u202Egpj.md',
  'a stream': 'a:b',
  'an empty part': 'a//b',
  'a dot': './a',
  'a trailing slash': 'a/',
  'no name': '',
  'half a character': 'a\ud800.md',
  'a wildcard': 'a*.md',
  'too long a part': `${'a'.repeat(201)}.md`,
  'too long a path': Array.from({ length: 60 }, () => 'aaaaaaaaa').join('/'),
};

test.each(Object.entries(hostile))('a folder with %s is refused, and the name is said', (_what, path) => {
  const { status, fact } = refusal({ ...team, [path]: 'x' });
  expect([status, fact.startsWith('The path ')]).toEqual([400, true]);
});

test.each(['notes.md', 'a/b/c.md', 'Übersicht.md', '日本.md', '.hidden', 'git.md', 'console.txt', 'common.md', 'x~1'])(
  'the honest name %s is taken',
  (path) => {
    expect(read({ ...team, [path]: 'x' }).file.bots).toHaveLength(1);
  },
);

test.each([[['A.md', 'a.md']], [['Docs/x.md', 'docs/y.md']], [['notes', 'notes/a.md']], [['STRASSE.md', 'straße.md']]])(
  '%s are one file on some computers: 409',
  (paths) => {
    const files = Object.fromEntries(paths.map((path) => [path, 'x']));
    expect(refusal({ ...team, ...files }).status).toBe(409);
  },
);

test('two hundred files and four MiB are taken, one more of either is not', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}.md`, '']));
  expect(() => read({ ...team, ...many(uploadFiles - 1) })).not.toThrow();
  expect(refusal({ ...team, ...many(uploadFiles) }).status).toBe(400);
  const room = uploadBytes - Buffer.byteLength(team['team.yaml']);
  expect(() => read({ ...team, 'a.md': 'a'.repeat(room) })).not.toThrow();
  // Counted as they are written: this letter has two bytes.
  expect(refusal({ ...team, 'a.md': `${'a'.repeat(room - 1)}ä` }).status).toBe(400);
});

test('a folder without a team.yaml, or with one that has problems, is refused', () => {
  expect(refusal({ 'a.md': 'x' }).fact).toContain('team.yaml');
  expect(refusal({ 'team.yaml': 'bots:\n  - {bot: web, harness: shel}\n' }).fact).toContain('line 2');
});

test('a name of the prototype is a file like any other, or none', () => {
  const files = JSON.parse(
    '{"__proto__": "x", "team.yaml": "bots:\\n  - {bot: web, harness: shell}\\n"}',
  ) as UploadFiles;
  expect(read(files).file.bots).toHaveLength(1);
  expect(Object.hasOwn(Object.prototype, 'team.yaml')).toBe(false);
});

test('a folder is replaced whole, and nothing is left beside it', async () => {
  await placeUpload(root, 'dev', { ...team, 'old.md': 'x' }, 'm1');
  await placeUpload(root, 'dev', { ...team, 'sub/new.md': 'y' }, 'm2');
  const teams = join(root, '.gantry', 'teams');
  expect(readdirSync(teams)).toEqual(['dev']);
  expect(readdirSync(join(teams, 'dev')).toSorted()).toEqual(['sub', 'team.yaml']);
  expect(readFileSync(join(teams, 'dev', 'sub', 'new.md'), 'utf8')).toBe('y');
});

test('a link where the team folders lie is not followed', async () => {
  const outside = join(root, 'outside');
  mkdirSync(join(root, 'work', '.gantry'), { recursive: true });
  mkdirSync(outside);
  symlinkSync(outside, join(root, 'work', '.gantry', 'teams'));
  await expect(placeUpload(join(root, 'work'), 'dev', team, 'm')).rejects.toThrow('is a link to another folder');
  expect(readdirSync(outside)).toEqual([]);
});

test('a file of the repository in the place of the team folders is told, not gone over', async () => {
  mkdirSync(join(root, 'work'));
  writeFileSync(join(root, 'work', '.gantry'), '/etc');
  await expect(placeUpload(join(root, 'work'), 'dev', team, 'm')).rejects.toMatchObject({
    code: 'refused',
    status: 409,
  });
  expect(readFileSync(join(root, 'work', '.gantry'), 'utf8')).toBe('/etc');
});

test('a link in the place of the old folder is taken away, not followed', async () => {
  const outside = join(root, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'keep'), 'x');
  mkdirSync(join(root, 'work', '.gantry', 'teams'), { recursive: true });
  symlinkSync(outside, join(root, 'work', '.gantry', 'teams', 'dev'));
  await placeUpload(join(root, 'work'), 'dev', team, 'm');
  expect(readdirSync(outside)).toEqual(['keep']);
  expect(readdirSync(join(root, 'work', '.gantry', 'teams', 'dev'))).toEqual(['team.yaml']);
});
