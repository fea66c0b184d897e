import { expect, test } from 'vitest';
import { filesApart, joinSeconds } from '../../scripts/apart.ts';

const file = (path: string, firstLine = 'import') => ({ path, firstLine });

test('the longest files beyond the budget run apart, and the short ones stay', () => {
  const files = [file('long'), file('short'), file('middle')];
  const seconds = { long: 30, middle: 20, short: 2 };
  expect(filesApart(files, seconds, 52)).toEqual([]);
  expect(filesApart(files, seconds, 51)).toEqual(['long']);
  expect(filesApart(files, seconds, 21)).toEqual(['middle', 'long']);
});

test('a file that nobody has measured runs in a plain `npm test`', () => {
  expect(filesApart([file('new'), file('long')], { long: 30 }, 10)).toEqual(['long']);
});

test('a file that says why runs apart although it is short, or always although it is long', () => {
  const files = [
    file('kills', '// Runs apart: it kills programs in a loop.'),
    file('smoke', '// Runs always: it opens every page.'),
    file('other'),
    file('silent', '// Runs apart: '),
  ];
  const seconds = { kills: 1, smoke: 30, other: 5 };
  expect(filesApart(files, seconds, 35)).toEqual(['kills']);
  expect(filesApart(files, seconds, 34)).toEqual(['kills', 'other']);
});

test('what is measured takes the place of what was known; short files and files that are gone are left out', () => {
  const known = { 'b.test.ts': 3, 'gone.test.ts': 4, 'shorter.test.ts': 2 };
  const measured = [
    { file: 'b.test.ts', seconds: 5.04 },
    { file: 'a.test.ts', seconds: 1.26 },
    { file: 'shorter.test.ts', seconds: 0.9 },
  ];
  const joined = joinSeconds(known, measured, (path) => path !== 'gone.test.ts');
  expect(joined).toEqual({ 'a.test.ts': 1.3, 'b.test.ts': 5 });
  expect(Object.keys(joined)).toEqual(['a.test.ts', 'b.test.ts']);
});
