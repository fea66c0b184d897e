import { expect, test } from 'vitest';
import { createStreamSlots, slotCount } from '../../../src/renderer/data/stream-slots.ts';

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
  const windows = [createStreamSlots(locks), createStreamSlots(locks)];
  const taken = await Promise.all(Array.from({ length: 6 }, (_, index) => windows[index % 2]!.take(false, nothing)));
  expect(taken.filter((slot) => slot !== null)).toHaveLength(slotCount);
  expect(held.size).toBe(slotCount);
});

test('the pane in use takes the slot of the one that had it longest, in its own window only', async () => {
  const { locks } = createLocks();
  const here = createStreamSlots(locks);
  const other = createStreamSlots(locks);
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
  const slots = createStreamSlots(locks);
  const first = await slots.take(false, nothing);
  first?.release();
  first?.release();
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(held.size).toBe(0);
  expect(await slots.take(false, nothing)).not.toBeNull();
});

test('without Web Locks a window still limits itself', async () => {
  const slots = createStreamSlots(undefined);
  const taken = await Promise.all(Array.from({ length: 5 }, () => slots.take(false, nothing)));
  expect(taken.filter((slot) => slot !== null)).toHaveLength(slotCount);
});
