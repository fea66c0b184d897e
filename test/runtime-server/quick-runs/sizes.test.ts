/** Readings of worktrees for lists: few at a time, however many pages ask; an answer is older than the question only where git takes long. */
import { expect, test } from 'vitest';
import { createSizes } from '../../../src/runtime-server/quick-runs/sizes.ts';

/** Worktrees that are read when the test says so; each reading says which one it was. `late`: whoever waits has waited too long. */
function slowWorktrees() {
  const patience = new Set<() => void>();
  const timers = {
    after(_: number, effect: () => void) {
      patience.add(effect);
      return () => void patience.delete(effect);
    },
  };
  const late = () => {
    for (const effect of patience) effect();
  };
  const begun: { readonly address: string; finish(): void; fail(): void }[] = [];
  const sizeOf = (address: string) =>
    new Promise<{ branch: string; base: string; files: number; added: number; removed: number; hasWork: boolean }>(
      (resolve, reject) => {
        const files = begun.length;
        begun.push({
          address,
          finish: () => resolve({ branch: address, base: '', files, added: 0, removed: 0, hasWork: files > 0 }),
          fail: () => reject(new Error('git is gone')),
        });
      },
    );
  return { begun, late, patience, sizes: createSizes({ sizeOf }, timers) };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('lists that are asked for again and again read four worktrees at a time, and each one once for all who wait', async () => {
  const { begun, sizes } = slowWorktrees();
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const first = names.map(sizes);
  await settle();
  expect(begun.map(({ address }) => address)).toEqual(['a', 'b', 'c', 'd']);
  const later = [1, 2, 3].map(() => names.map(sizes));
  for (let at = 0; at < 10; at += 1) {
    await settle();
    expect(begun.length).toBe(Math.min(4 + at, 10));
    begun[at]?.finish();
  }
  // Two waited from the first request on; the four under way were read once more.
  expect(begun.map(({ address }) => address).join('')).toBe('abcdefabcd');
  const files = async (list: readonly ReturnType<typeof sizes>[]) => (await Promise.all(list)).map((one) => one?.files);
  expect(await files(first)).toEqual([0, 1, 2, 3, 4, 5]);
  for (const list of later) expect(await files(list)).toEqual([6, 7, 8, 9, 4, 5]);
});

test('who asks while a worktree is being read gets what is read after that', async () => {
  const { begun, sizes } = slowWorktrees();
  const before = sizes('a');
  await settle();
  const after = sizes('a');
  for (let at = 0; at < 2; at += 1) {
    await settle();
    begun[at]?.finish();
  }
  expect([(await before)?.files, (await after)?.files]).toEqual([0, 1]);
});

test('a worktree that cannot be read has no size, and the next one is read', async () => {
  const { begun, sizes } = slowWorktrees();
  const all = ['a', 'b', 'c', 'd', 'e'].map(sizes);
  await settle();
  begun[0]?.fail();
  await settle();
  for (const one of begun.slice(1)) one.finish();
  expect((await Promise.all(all)).map((one) => one?.branch ?? null)).toEqual([null, 'b', 'c', 'd', 'e']);
});

test('a list that has waited long for git gets what was read last, and the next one what came meanwhile', async () => {
  const { begun, late, patience, sizes } = slowWorktrees();
  const never = sizes('a');
  await settle();
  late();
  expect(await never).toBeNull();
  begun[0]?.finish();
  await settle();
  const known = sizes('a');
  await settle();
  late();
  expect((await known)?.files).toBe(0);
  // The reading goes on. Only one of a worktree is under way, and those who ask meanwhile share the next.
  const both = [sizes('a'), sizes('a')];
  await settle();
  expect(begun).toHaveLength(2);
  begun[1]?.finish();
  await settle();
  begun[2]?.finish();
  expect((await Promise.all(both)).map((one) => one?.files)).toEqual([2, 2]);
  expect(begun).toHaveLength(3);
  expect(patience.size).toBe(0);
});
