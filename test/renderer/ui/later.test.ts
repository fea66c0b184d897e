import { expect, test } from 'vitest';
import { createLateParts } from '../../../src/renderer/ui/later.ts';

const away = () => new TypeError('Failed to fetch dynamically imported module: http://127.0.0.1:1/assets/a.js');

function parts(who: ('nobody' | 'same' | 'other')[]) {
  const mended: string[] = [];
  const pauses: number[] = [];
  const made = createLateParts({
    whoAnswers: async () => who.shift() ?? 'same',
    mendStyle: async (address) => void mended.push(address),
    sleep: async (ms) => void pauses.push(ms),
  });
  const told: (string | null)[] = [];
  made.subscribe(() => told.push(made.get()));
  return { ...made, told, mended, pauses };
}

test('a part that cannot be loaded is asked for until it is there, and says meanwhile that nobody answers', async () => {
  const { later, told, pauses } = parts(['nobody', 'nobody', 'nobody', 'nobody', 'nobody']);
  let tries = 0;
  const load = later(async () => {
    tries += 1;
    if (tries <= 5) throw away();
    return 'there';
  });
  expect(await load()).toBe('there');
  expect(told).toEqual(['away', null]);
  expect(pauses).toEqual([1_000, 2_000, 4_000, 5_000, 5_000]);
});

test('a part of another build says so at once; one that the browser does not ask for again says so after three tries', async () => {
  const other = parts(['other']);
  await other.later(once(away()))();
  expect(other.told).toEqual(['other', null]);
  const stuck = parts(['same', 'same', 'same']);
  let tries = 0;
  await stuck.later(async () => {
    tries += 1;
    if (tries <= 3) throw away();
  })();
  expect(stuck.told).toEqual(['away', 'other', null]);
});

test('a stylesheet that failed is loaded anew before its part, which the loader would show without it', async () => {
  const { later, mended } = parts(['nobody']);
  await later(once(new Error('Unable to preload CSS for /assets/dock.css')))();
  expect(mended).toEqual(['/assets/dock.css']);
});

test('a part that is broken fails as it is', async () => {
  const { later, get } = parts([]);
  const broken = later(() => Promise.reject(new ReferenceError('terminal is not defined')));
  await expect(broken()).rejects.toThrow('terminal is not defined');
  expect(get()).toBeNull();
});

/** Fails once. */
function once(error: Error): () => Promise<void> {
  let tried = false;
  return async () => {
    if (tried) return;
    tried = true;
    throw error;
  };
}
