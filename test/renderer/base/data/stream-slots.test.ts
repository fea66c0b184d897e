import { expect, test } from 'vitest';
import { createStreamSlots, eventSlots, screenSlots } from '../../../../src/renderer/base/data/stream-slots.ts';

/** Web Locks as far as they are used: one holder a name, `ifAvailable`, let go when the callback's promise ends. */
function createLocks() {
  const held = new Set<string>();
  return {
    held,
    locks: {
      async request(name: string, _options: unknown, callback: (lock: unknown) => unknown) {
        if (held.has(name)) return callback(null);
        held.add(name);
        try {
          return await callback({ name });
        } finally {
          held.delete(name);
        }
      },
    } as unknown as LockManager,
  };
}
const nothing = (): void => {};

test('all windows together hold no more streams than there are slots', async () => {
  const { locks, held } = createLocks();
  const windows = [createStreamSlots(locks, screenSlots), createStreamSlots(locks, screenSlots)];
  const taken = await Promise.all(Array.from({ length: 6 }, (_, index) => windows[index % 2]!.take(false, nothing)));
  expect(taken.filter((slot) => slot !== null)).toHaveLength(screenSlots.count);
  expect(held.size).toBe(screenSlots.count);
});

test('the pane in use takes the slot of the one that had it longest, in its own window only', async () => {
  const { locks } = createLocks();
  const here = createStreamSlots(locks, screenSlots);
  const other = createStreamSlots(locks, screenSlots);
  const lost: string[] = [];
  await other.take(false, () => lost.push('other'));
  await here.take(false, () => lost.push('first'));
  await here.take(false, () => lost.push('second'));
  expect(await here.take(false, nothing)).toBeNull();
  expect(await here.take(true, nothing)).not.toBeNull();
  expect(lost).toEqual(['first']);
});

test('a slot that was let go can be taken again, and letting go twice frees one slot', async () => {
  const { locks, held } = createLocks();
  const slots = createStreamSlots(locks, screenSlots);
  const first = await slots.take(false, nothing);
  first?.release();
  first?.release();
  // A lock is given back in a later turn of the loop.
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(held.size).toBe(0);
  expect(await slots.take(false, nothing)).not.toBeNull();
});

test('without Web Locks a window still limits itself', async () => {
  const slots = createStreamSlots(undefined, screenSlots);
  const taken = await Promise.all(Array.from({ length: 5 }, () => slots.take(false, nothing)));
  expect(taken.filter((slot) => slot !== null)).toHaveLength(screenSlots.count);
});

test('screens and events leave one of the six connections of a browser to everything else', async () => {
  const { locks, held } = createLocks();
  const screens = createStreamSlots(locks, screenSlots);
  const events = createStreamSlots(locks, eventSlots);
  for (let window = 0; window < 4; window += 1) {
    await screens.take(true, nothing);
    await events.take(false, nothing);
  }
  expect(held.size).toBe(5);
});
