import { expect, test } from 'vitest';
import { resolveMessage } from '../../../../../src/renderer/areas/floor/runs/resolve-message.ts';

test('a bot is told what to merge, which files conflict, and to leave the other branch alone', () => {
  const text = resolveMessage({ into: 'main', files: ['a.txt', 'b/c.ts'] });
  expect(text).toContain('merge main into your branch');
  expect(text).toContain('- a.txt\n- b/c.ts\n');
  expect(text).toContain('Do not change main.');
  expect(text).not.toContain('and others');
});

test('of many files that conflict the message names twenty and says that there are others', () => {
  const text = resolveMessage({ into: 'main', files: Array.from({ length: 100 }, (_, at) => `${at}.txt`) });
  expect(text).toContain('- 19.txt\n- and others\n');
  expect(text).not.toContain('- 20.txt');
});
