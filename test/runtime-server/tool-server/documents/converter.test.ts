/** The conversion program as the runtime drives it: kept warm, killed in time, told apart from the document that ended it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import type { WorkReport } from '../../../../src/contracts/common/work-progress.ts';
import { programCommand } from '../../../../src/kit/process/programs.ts';
import { createConverter } from '../../../../src/runtime-server/tool-server/documents/converter.ts';
import { after, failure, held, startConverter } from '../../../support/documents/converter.ts';
import { makePdf } from '../../../support/documents/pdf.ts';

const real = startConverter();
const { convert } = real;
const stuck = startConverter([
  process.execPath,
  new URL('../../../support/documents/stuck-converter.ts', import.meta.url).pathname,
]);
afterAll(() => Promise.all([real.close(), stuck.close()]));

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // One that has ended and that nobody has taken note of still has a number.
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
};

async function until(holds: () => boolean): Promise<void> {
  for (let left = 400; !holds(); left -= 1) {
    if (left === 0) throw new Error('it did not come to that in time');
    await delay(25);
  }
}

test('a text comes back as Markdown, and the process is kept for the next one', async () => {
  const first = await convert('# A\r\n\r\ntext\r\n', 'a.md');
  expect(first).toMatchObject({
    kind: 'markdown',
    family: 'data',
    charset: 'utf-8',
    markdown: '# A\n\ntext\n',
    notes: [],
  });
  const [pid] = real.processes();
  await convert('more');
  expect(real.processes()).toEqual([pid]);
});

test('a conversion tells how many pages it has read, and only who asks hears of them', async () => {
  const page = { texts: [{ text: 'words', x: 50, y: 50 }] };
  const pdf = makePdf(Array.from({ length: 12 }, () => page));
  const told: WorkReport[] = [];
  const ask = { filename: 'a.pdf', mimeType: '', family: null };
  const signal = new AbortController().signal;
  const followed = await real.converter.convert(held(pdf), ask, signal, (report) => told.push(report));
  expect(told.slice(0, 2)).toEqual([
    { what: 'Converting the document', done: 0, total: null, unit: null },
    { what: 'Converting the document', done: 0, total: 12, unit: 'pages' },
  ]);
  expect(await real.converter.convert(held(pdf), ask, signal)).toEqual(followed);
});

test('what the program says of its way is passed on only where it is a step', async () => {
  const said = [
    { done: 1, total: 3, unit: 'pages' },
    { done: 4, total: 3, unit: 'pages' },
    { done: -1, total: 3, unit: 'pages' },
    { done: 1, total: 3, unit: '\x1b[2J<b>' },
    { done: 'all', total: 3, unit: 'pages' },
    { what: 'Sending your keys', done: 2, total: 3, unit: 'slides' },
    null,
  ];
  const stranger = createConverter({
    command: programCommand('converter'),
    after,
    start: () => ({
      pid: 1,
      async convert(_head, _source, onStep) {
        for (const step of said) onStep?.(step as Parameters<NonNullable<typeof onStep>>[0]);
        const document = {
          kind: 'text',
          family: 'text',
          mimeType: 'text/plain',
          charset: null,
          metadata: {},
          notes: [],
        };
        return { head: { size: 1, resident: 1, document }, markdown: 'a' };
      },
      alive: () => true,
      kill() {},
      ended: new Promise(() => {}),
    }),
  });
  const told: unknown[] = [];
  const ask = { filename: '', mimeType: '', family: null };
  await stranger.convert(held('a'), ask, new AbortController().signal, (report) => told.push(report));
  const what = 'Converting the document';
  expect(told).toEqual([
    { what, done: 0, total: null, unit: null },
    { what, done: 1, total: 3, unit: 'pages' },
    { what, done: 2, total: 3, unit: 'slides' },
  ]);
});

test('at most one process is kept, and it goes when nobody asks any more', async () => {
  const timers: { ms: number; effect: () => void }[] = [];
  const idle = createConverter({
    command: programCommand('converter'),
    after: (ms, effect) => {
      const timer = { ms, effect };
      timers.push(timer);
      return () => timers.splice(timers.indexOf(timer), 1);
    },
  });
  const ask = { filename: '', mimeType: '', family: null };
  const never = new AbortController().signal;
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map((text) => idle.convert(held(text), ask, never)));
  await until(() => idle.processes().length === 1);
  expect(timers).toHaveLength(1);
  timers[0]?.effect();
  await until(() => idle.processes().length === 0);
  await idle.close();
});

test('a document of 50 MB goes through, a larger one is refused before a byte of it is read', async () => {
  const size = 50 * 1024 * 1024;
  const chunk = Buffer.from(`${'x'.repeat(1023)}\n`.repeat(1024));
  const ask = { filename: '', mimeType: '', family: null };
  const never = new AbortController().signal;
  const whole = await real.converter.convert({ size, chunks: Array.from({ length: 50 }, () => chunk) }, ask, never);
  expect(whole.notes[0]).toContain('cut');
  const untouched: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]() {
      throw new Error('it was read');
    },
  };
  const error = await failure(real.converter.convert({ size: size + 1, chunks: untouched }, ask, never));
  expect(error).toMatchObject({ code: 'usage', fact: expect.stringContaining(String(size + 1)) });
});

test('a tool of one family refuses another one by the name of the right tool', async () => {
  const error = await failure(convert('plain', '', { family: 'pdf' }));
  expect(error).toMatchObject({ code: 'usage', action: expect.stringContaining('document.data') });
});

test('a conversion that never ends is killed at its deadline', async () => {
  expect(await failure(stuck.convert('spin', '', { deadlineMs: 200 }))).toMatchObject({ code: 'timeout' });
  await until(() => stuck.processes().length === 0);
});

test('a conversion whose caller leaves is killed at once', async () => {
  const leaving = new AbortController();
  const work = stuck.convert('spin', '', {}, leaving.signal).catch((error: unknown) => error);
  await until(() => stuck.processes().length === 1);
  leaving.abort(new Error('gone'));
  expect(await work).toMatchObject({ message: 'gone' });
  await until(() => stuck.processes().length === 0);
});

test.each(['crash', 'leave', 'noise'])(
  'a document that ends the program (%s) is told as a fault of the document',
  async (word) => {
    const error = await failure(stuck.convert(word));
    expect(error).toMatchObject({ code: 'usage', fact: 'The document crashed the converter.' });
  },
);

test('a document that takes too much memory ends its own process and nothing else', async () => {
  const nested = Buffer.alloc(48 * 1024 * 1024, '[');
  nested.fill(']', nested.length / 2);
  const error = await failure(convert(nested, 'a.json'));
  expect(error).toMatchObject({ code: 'usage', fact: expect.stringContaining('memory') });
  expect((await convert('still here')).markdown).toBe('still here');
});

test('a program whose runtime was killed ends, also in the middle of a document', async () => {
  const [node, file] = programCommand('converter');
  const victim = spawn(
    node,
    [new URL('../../../support/victims/converting-runtime.ts', import.meta.url).pathname, file as string],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  try {
    const [line] = (await once(victim.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    expect(alive(pid)).toBe(true);
    // Time enough to be at work on it.
    await delay(400);
    victim.kill('SIGKILL');
    await until(() => !alive(pid));
  } finally {
    victim.kill('SIGKILL');
  }
});

test('the program has no way to a file of the user, to another program or to the network', async () => {
  // It is asked by way of its own source, which is all that it may read.
  const [node] = programCommand('converter');
  const root = new URL('../../../../', import.meta.url).pathname;
  const run = async (code: string): Promise<string> => {
    const child = spawn(
      node,
      [
        '--permission',
        `--allow-fs-read=${root}*`,
        '--allow-worker',
        '--no-warnings',
        '--input-type=module',
        '-e',
        `await import(${JSON.stringify(`${root}src/programs/converter/main.ts`)}); try { ${code}; console.error('DONE'); } catch (error) { console.error(error.message); } process.exit(0);`,
      ],
      { stdio: ['pipe', 'ignore', 'pipe'] },
    );
    const parts: Buffer[] = [];
    child.stderr.on('data', (part: Buffer) => parts.push(part));
    await once(child, 'close');
    return Buffer.concat(parts).toString();
  };
  const [read, write, start, connect, fetched] = await Promise.all([
    run(`(await import('node:fs')).readFileSync('/etc/hostname')`),
    run(`(await import('node:fs')).writeFileSync(${JSON.stringify(`${root}x`)}, 'x')`),
    run(`(await import('node:child_process')).spawnSync('true')`),
    run(`(await import('node:net')).connect(9)`),
    run(`await fetch('http://127.0.0.1:9')`),
  ]);
  expect(read).toContain('--allow-fs-read');
  expect(write).toContain('--allow-fs-write');
  expect(start).toContain('is not there in the conversion program');
  expect(connect).toContain('is not there in the conversion program');
  expect(fetched).toContain('fetch is not defined');
});
