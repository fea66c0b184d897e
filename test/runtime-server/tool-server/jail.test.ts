/** What is outside the root stays out of reach, whatever the path says and whatever is swapped meanwhile. */
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { createJail, type Jail } from '../../../src/runtime-server/tool-server/jail.ts';

let top: string;
let root: string;
let outside: string;
let jail: Jail;
let names = 0;

beforeEach(async () => {
  top = mkdtempSync(join(tmpdir(), 'gantry-jail-'));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  root = join(top, 'root');
  outside = join(top, 'outside');
  mkdirSync(join(root, 'in', 'deep'), { recursive: true });
  mkdirSync(outside);
  mkdirSync(join(top, 'root-evil'));
  writeFileSync(join(outside, 'secret.txt'), 'SECRET');
  writeFileSync(join(top, 'root-evil', 'secret.txt'), 'SECRET');
  writeFileSync(join(root, 'a.txt'), 'inside a');
  writeFileSync(join(root, 'in', 'deep', 'b.txt'), 'inside b');
  symlinkSync(join(outside, 'secret.txt'), join(root, 'link.txt'));
  symlinkSync(outside, join(root, 'linkdir'));
  symlinkSync(join(outside, 'not-yet.txt'), join(root, 'dangling.txt'));
  symlinkSync('in', join(root, 'good-dir'));
  symlinkSync('a.txt', join(root, 'good.txt'));
  jail = await createJail({ root, hidden: [], freshName: () => `tmp${names++}` });
});

async function read(path: string): Promise<string> {
  const place = await jail.open(path);
  try {
    return (await place.handle.stat()).isFile() ? await place.handle.readFile('utf8') : '(folder)';
  } finally {
    await place.handle.close();
  }
}
const write = (path: string, content = 'new', createDirs = false) =>
  jail.write(path, Buffer.from(content), { createDirs });
const untouched = () => {
  expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('SECRET');
  expect(readdirSync(outside)).toEqual(['secret.txt']);
  expect(readdirSync(join(top, 'root-evil'))).toEqual(['secret.txt']);
};

test('what is inside is read and written, also through links that stay inside', async () => {
  expect(await read('a.txt')).toBe('inside a');
  expect(await read(join(root, 'in/deep/b.txt'))).toBe('inside b');
  expect(await read('in/../a.txt')).toBe('inside a');
  expect(await read('good-dir/deep/b.txt')).toBe('inside b');
  expect(await write('good.txt', 'changed')).toEqual({ path: 'a.txt', created: false });
  expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('changed');
  expect(await write('x/y/z.txt', 'made', true)).toEqual({ path: join('x', 'y', 'z.txt'), created: true });
  await expect(write('q/z.txt')).rejects.toMatchObject({ code: 'not_found' });
  expect(readdirSync(root)).not.toContain('q');
});

const escapes = [
  '..',
  '../outside/secret.txt',
  'in/../../outside/secret.txt',
  '/etc/passwd',
  '../root-evil/secret.txt',
  'link.txt',
  'linkdir/secret.txt',
  'linkdir',
  'linkdir/../outside/secret.txt',
  'good-dir/../../outside/secret.txt',
];
test.each(escapes)('%s is neither read nor written nor removed', async (path) => {
  await expect(read(path)).rejects.toMatchObject({ code: expect.stringMatching(/refused|not_found/) });
  await expect(jail.look(path))
    .rejects.toMatchObject({ code: 'refused' })
    .catch(async () => {
      // By its letters it lies inside and is not there.
      expect(await jail.look(path)).toBeNull();
    });
  await expect(write(path)).rejects.toBeInstanceOf(AppError);
  untouched();
});

test('a link that leads nowhere yet is not written through, and not called free', async () => {
  await expect(write('dangling.txt')).rejects.toMatchObject({ code: 'refused' });
  await expect(write('linkdir/new.txt', 'x', true)).rejects.toMatchObject({ code: 'refused' });
  await expect(write('linkdir/sub/new.txt', 'x', true)).rejects.toMatchObject({ code: 'refused' });
  expect(await jail.look('dangling.txt')).toBe('other');
  untouched();
});

test('removing takes the link and never what it leads to; a tree with links in it leaves their targets', async () => {
  await jail.remove('link.txt', { recursive: false });
  symlinkSync(outside, join(root, 'in', 'way-out'));
  await jail.remove('in', { recursive: true });
  expect(readdirSync(root)).not.toContain('in');
  await jail.remove('linkdir', { recursive: true });
  untouched();
  await expect(jail.remove('.', { recursive: true })).rejects.toMatchObject({ code: 'refused' });
  await expect(jail.remove('../outside', { recursive: true })).rejects.toMatchObject({ code: 'refused' });
  untouched();
});

test('a file with a second name outside is replaced, not written through', async () => {
  linkSync(join(outside, 'secret.txt'), join(root, 'hard.txt'));
  await write('hard.txt', 'mine');
  expect(readFileSync(join(root, 'hard.txt'), 'utf8')).toBe('mine');
  untouched();
});

test('a write that a check refuses leaves the file and no draft of it', async () => {
  const check = () => {
    throw new AppError('refused', 'changed', 'read it');
  };
  await expect(jail.write('a.txt', Buffer.from('x'), { createDirs: false, check })).rejects.toMatchObject({
    fact: 'changed',
  });
  expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('inside a');
  expect(readdirSync(root).filter((name) => name.startsWith('.'))).toEqual([]);
});

test('a named pipe is opened without waiting for its other end', async () => {
  const { execFileSync } = await import('node:child_process');
  execFileSync('mkfifo', [join(root, 'pipe')]);
  expect(await jail.look('pipe')).toBe('other');
  await expect(write('pipe')).rejects.toMatchObject({ code: 'usage' });
});

const part = fc.constantFrom(
  '..',
  '.',
  'in',
  'deep',
  'a.txt',
  'b.txt',
  'link.txt',
  'linkdir',
  'secret.txt',
  'good-dir',
  'outside',
  'dangling.txt',
  '',
  '/',
  'root',
  '~',
  '%2e%2e',
  'x\0y',
  '..;',
  '...',
);
test('whatever path is made of these parts, nothing outside is seen or touched', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 6 }), fc.boolean(), async (parts, absolute) => {
      const path = (absolute ? `${root}/` : '') + parts.join('/');
      const seen = await read(path).catch(() => '');
      expect(seen).not.toContain('SECRET');
      await write(path, 'new', true).catch(() => {});
      await jail.remove(path, { recursive: false }).catch(() => {});
      untouched();
    }),
    { numRuns: 300 },
  );
});

test('a folder that is swapped for a link all the while never leads a read or a write outside', async () => {
  const swap = join(root, 'swap');
  const kept = join(root, 'kept');
  mkdirSync(swap);
  writeFileSync(join(swap, 'secret.txt'), 'inside');
  let going = true;
  const swapping = (async () => {
    while (going) {
      renameSync(swap, kept);
      symlinkSync(outside, swap);
      await new Promise((resolve) => setImmediate(resolve));
      rmSync(swap);
      renameSync(kept, swap);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  const seen = new Map<string, number>();
  const met = () => (seen.get('inside') ?? 0) > 20 && (seen.get('refused') ?? 0) > 20;
  // Until both sides of the race were met often enough, however slow the machine is.
  for (let round = 0; round < 400 || (!met() && round < 20_000); round += 1) {
    const what = await read('swap/secret.txt').catch((error: AppError) => error.code);
    seen.set(what, (seen.get(what) ?? 0) + 1);
    if (round % 20 === 0) await write('swap/other.txt', 'inside').catch(() => {});
  }
  going = false;
  await swapping;
  untouched();
  expect([...seen.keys()]).not.toContain('SECRET');
  expect(met()).toBe(true);
});
