import { expect, test } from 'vitest';
import { createClosing } from '../../src/host/closing.ts';

test('steps are undone in reverse, and one that fails or hangs does not keep the others open', async () => {
  const done: string[] = [];
  const faults: string[] = [];
  const closing = createClosing({ limitMs: 100, onFault: (name) => faults.push(name) });
  closing.add('first', () => done.push('first'));
  closing.add('hangs', () => new Promise(() => {}));
  closing.add('fails', () => {
    throw new Error('no');
  });
  closing.add('last', async () => done.push('last'));
  await closing.close();
  await closing.close();
  expect(done).toEqual(['last', 'first']);
  expect(faults).toEqual(['fails', 'hangs']);
});
