/** Containers that are kept warm, without an engine: what happens between two that want the same one. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { claimIn, createDockerWarm, warmSpec } from '../../../src/cloud-api/hosted-computers/docker-warm.ts';
import type { ComputerSpec } from '../../../src/cloud-api/hosted-computers/driver.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

function open(after: (place: string) => Promise<void>) {
  const folder = scratchFolder();
  const clock = createTestClock();
  const made: string[] = [];
  const removed: string[] = [];
  const warm = createDockerWarm({
    wanted: { desktop: 0, shell: 1 },
    folder,
    clock,
    timers: clock,
    log: { warn() {} },
    list: async () => made.map((place) => ({ place, toolset: 'shell', state: 'running', isCurrent: true })),
    async make({ computer: place }) {
      mkdirSync(join(folder, place));
      made.push(place);
      await after(place);
    },
    remove: async (place) => void removed.push(place),
  });
  onTestFinished(() => warm.close());
  return { folder, warm, made, removed };
}

const wish: ComputerSpec = { ...warmSpec('shell', 'cmp_000000000001'), key: 'its key' };

test('one that is taken as soon as it can be called is left to its computer, although who made it no longer finds it', async () => {
  const taken: (string | null)[] = [];
  const { folder, warm, made, removed } = open(async () => {
    taken.push(await warm.take(wish));
    throw new Error('There is no computer of that name.');
  });
  warm.begin();
  await expect.poll(() => taken).toEqual(made);
  expect(made).toHaveLength(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect([removed, claimIn(folder, made[0]!)]).toEqual([[], { computer: wish.computer, key: 'its key' }]);
  expect(existsSync(join(folder, made[0]!))).toBe(true);
});

test('one that does not start is removed, and nobody is given it meanwhile', async () => {
  const { warm, made, removed } = open(() => Promise.reject(new Error('It does not start.')));
  warm.begin();
  await expect.poll(() => removed).toEqual(made);
  expect(await warm.take(wish)).toBe(null);
});
