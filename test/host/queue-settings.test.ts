import { expect, test } from 'vitest';
import { readTaskImages } from '../../src/host/queue-settings.ts';

test('without a setting everybody may name any image, and with none nobody may name one', () => {
  expect(readTaskImages({})).toBeNull();
  expect(readTaskImages({ GANTRY_TASK_IMAGES: ' ' })).toBeNull();
  expect(readTaskImages({ GANTRY_TASK_IMAGES: 'none' })).toEqual([]);
});

test('an operator allows beginnings of names, some to one person only', () => {
  expect(readTaskImages({ GANTRY_TASK_IMAGES: 'ghcr.io/acme/, user_1=docker.io/library/' })).toEqual([
    { userId: null, beginning: 'ghcr.io/acme/' },
    { userId: 'user_1', beginning: 'docker.io/library/' },
  ]);
});

test.each(['ghcr.io/acme,', 'user_1=', 'a b'])('%j names no image and stops the start', (given) => {
  expect(() => readTaskImages({ GANTRY_TASK_IMAGES: given })).toThrow(/GANTRY_TASK_IMAGES/);
});
