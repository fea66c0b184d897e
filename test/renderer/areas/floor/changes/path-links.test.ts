import type { IBufferLine, ILink } from '@xterm/xterm';
import { expect, test } from 'vitest';
import {
  cellsOf,
  createPathLinks,
  namesOf,
  pathsIn,
  pathsInSight,
} from '../../../../../src/renderer/areas/floor/changes/path-links.ts';

const said = (text: string) => pathsIn(text).map(({ path, line }) => (line === null ? path : `${path} @${line}`));

test('a path is found with its line, as compilers, tests and stack traces write it', () => {
  expect(said('src/a.ts:12:3 - error TS2304: Cannot find name')).toEqual(['src/a.ts @12']);
  expect(said('src/a.ts(12,3): error TS2304')).toEqual(['src/a.ts @12']);
  expect(said('    at run (/home/me/work/src/run.ts:4:1)')).toEqual(['/home/me/work/src/run.ts @4']);
  expect(said('  File "app/main.py", line 3')).toEqual(['app/main.py']);
  expect(said('I changed `README.md` and ./docs/guide.md.')).toEqual(['README.md', './docs/guide.md']);
  expect(said('● Update(src/total.ts)')).toEqual(['src/total.ts']);
  expect(said('--- a/src/total.ts')).toEqual(['a/src/total.ts']);
});

test('addresses of the web, numbers, options and ends of sentences are no paths', () => {
  for (const text of ['https://example.com/a.ts', 'and so on...', '1.5 kB', '--flag', 'v1.2.3', '/', '..']) {
    expect(said(text), text).toEqual([]);
  }
});

test('of a row only some are asked for, and none without end', () => {
  expect(pathsIn(Array.from({ length: 50 }, (_, at) => `src/${at}.ts`).join(' '))).toHaveLength(6);
  expect(pathsIn(`src/${'a'.repeat(5000)}.ts`)).toEqual([]);
});

test('the letters of a diff before a path are tried with it and without', () => {
  expect(namesOf('b/src/total.ts')).toEqual(['b/src/total.ts', 'src/total.ts']);
  expect(namesOf('src/total.ts')).toEqual(['src/total.ts']);
});

/** A row of a terminal; `wide` characters take two cells. */
function row(text: string, wide = ''): IBufferLine {
  const cells = [...text].flatMap((one): [string, number][] =>
    wide.includes(one)
      ? [
          [one, 2],
          ['', 0],
        ]
      : [[one, 1]],
  );
  return {
    length: cells.length,
    getCell: (x: number) => {
      const [chars, width] = cells[x] ?? ['', 1];
      return { getChars: () => chars, getWidth: () => width };
    },
  } as unknown as IBufferLine;
}

test('a link lies on its cells, also behind wide characters, and only where there is such a file', async () => {
  expect(cellsOf(row('日a', '日'))).toEqual({ text: '日a', cells: [0, 2] });
  const opened: unknown[] = [];
  const links = createPathLinks(
    { buffer: { active: { getLine: () => row('日 src/a.ts:7 gone.ts', '日') } } } as never,
    {
      find: async (path) => (path === 'src/a.ts' ? 'shop/src/a.ts' : null),
      open: (path, line) => opened.push([path, line]),
    },
  );
  const found = await new Promise<ILink[] | undefined>((resolve) => links.provideLinks(3, resolve));
  expect(found?.map(({ text, range }) => [text, range])).toEqual([
    ['src/a.ts', { start: { x: 4, y: 3 }, end: { x: 13, y: 3 } }],
  ]);
  found?.[0]?.activate({} as MouseEvent, '');
  expect(opened).toEqual([['shop/src/a.ts', 7]]);
});

test('without a mouse the files in sight are listed, the lowest first and each once, and only those that are there', async () => {
  const rows = ['src/old.ts:1', 'src/a.ts:7 gone.ts', 'b/src/a.ts:7', 'src/b.ts and src/a.ts:7'];
  const terminal = { rows: 3, buffer: { active: { viewportY: 1, getLine: (y: number) => row(rows[y] ?? '') } } };
  const find = async (path: string) => (path.startsWith('src/') ? path : null);
  expect(await pathsInSight(terminal as never, find)).toEqual([
    { path: 'src/b.ts', line: null },
    { path: 'src/a.ts', line: 7 },
  ]);
});

test('a path that goes on in the rows below is one link from each of them, and one entry of the list', async () => {
  const rows = ['at src/lo', 'ng/name.t', 's:7 and x', 'src/b.tsx', 'src/c.tsx'].map((text) => row(text));
  const terminal = { rows: 5, buffer: { active: { viewportY: 0, getLine: (y: number) => rows[y] } } };
  const files = ['src/long/name.ts', 'src/b.tsx', 'src/c.tsx'];
  const find = async (path: string) => (files.includes(path) ? path : null);
  const links = createPathLinks(terminal as never, { find, open: () => {} });
  const on = (y: number) => new Promise<ILink[] | undefined>((resolve) => links.provideLinks(y, resolve));
  const range = { start: { x: 4, y: 1 }, end: { x: 3, y: 3 } };
  for (const y of [1, 2, 3]) {
    expect((await on(y))?.map((one) => [one.text, one.range])).toEqual([['src/long/name.ts', range]]);
  }
  // Two that fill their rows are two.
  expect((await on(4))?.map(({ text }) => text)).toEqual(['src/b.tsx']);
  expect(await pathsInSight(terminal as never, find)).toEqual([
    { path: 'src/c.tsx', line: null },
    { path: 'src/b.tsx', line: null },
    { path: 'src/long/name.ts', line: 7 },
  ]);
});
