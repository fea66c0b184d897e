import { expect, test } from 'vitest';
import { readImageRules } from '../../src/host/image-rules.ts';

test('without a setting everybody may name any image, and with none nobody may name one', () => {
  expect(readImageRules({}, 'GANTRY_TASK_IMAGES')).toBeNull();
  expect(readImageRules({ GANTRY_TASK_IMAGES: ' ' }, 'GANTRY_TASK_IMAGES')).toBeNull();
  expect(readImageRules({ GANTRY_TASK_IMAGES: 'none' }, 'GANTRY_TASK_IMAGES')).toEqual([]);
});

test('an operator allows beginnings of names, some to one person only', () => {
  expect(
    readImageRules({ GANTRY_TASK_IMAGES: 'ghcr.io/acme/, user_1=docker.io/library/' }, 'GANTRY_TASK_IMAGES'),
  ).toEqual([
    { userId: null, beginning: 'ghcr.io/acme/' },
    { userId: 'user_1', beginning: 'docker.io/library/' },
  ]);
});

test.each(['ghcr.io/acme,', 'user_1=', 'a b'])('%j names no image and stops the start', (given) => {
  expect(() => readImageRules({ GANTRY_TASK_IMAGES: given }, 'GANTRY_TASK_IMAGES')).toThrow(/GANTRY_TASK_IMAGES/);
});
