import { expect, test } from 'vitest';
import { checkRoomForStreams, maxOpenFiles } from '../../src/host/open-files.ts';

test('more event streams than a program may have files are refused, with how many it needs and may have', () => {
  expect(() => checkRoomForStreams(10_000, 4096)).toThrow(
    expect.objectContaining({
      code: 'usage',
      fact: expect.stringMatching(/10500 open files.*4096/),
      action: expect.stringContaining('ulimit -n 10500'),
    }),
  );
  expect(() => checkRoomForStreams(10_000, 10_500)).not.toThrow();
  expect(() => checkRoomForStreams(10_000, null)).not.toThrow();
});

test.runIf(process.platform === 'linux')('the limit is the one that the system holds this program to', () => {
  expect(maxOpenFiles()).toBeGreaterThan(100);
});
