import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PaneInput } from '../../../../src/contracts/factory/agent.ts';
import {
  createInputQueue,
  type Keystroke,
  maxTextLength,
  takeRequest,
} from '../../../../src/renderer/areas/floor/input-queue.ts';

/** What a pane would see: text first, then keys, request by request. */
function seen(requests: readonly PaneInput[]): string[] {
  return requests.flatMap((one) => [...(one.text ?? ''), ...(one.keys ?? []).map((key) => `<${key}>`)]);
}
function typed(strokes: readonly Keystroke[]): string[] {
  return strokes.flatMap((one) => ('key' in one ? [`<${one.key}>`] : [...('paste' in one ? one.paste : one.text)]));
}
/** A send that ends when the test says so. */
function heldSend() {
  const requests: PaneInput[] = [];
  const waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  return {
    requests,
    send: (input: PaneInput) =>
      new Promise<void>((resolve, reject) => {
        requests.push(input);
        waiting.push({ resolve, reject });
      }),
    async end(error?: Error) {
      const one = waiting.shift();
      if (error === undefined) one?.resolve();
      else one?.reject(error);
      // What follows an answer happens in later turns of the loop.
      await new Promise((resolve) => setTimeout(resolve, 0));
    },
    open: () => waiting.length,
  };
}

const stroke = fc.oneof(
  fc.string({ minLength: 1, maxLength: 5 }).map((text): Keystroke => ({ text })),
  fc.constantFrom('Enter', 'C-c', 'Up').map((key): Keystroke => ({ key })),
  fc.string({ minLength: 1, maxLength: 5 }).map((paste): Keystroke => ({ paste })),
);

test('whatever is typed arrives in order, whenever the requests end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(stroke, fc.boolean()), { maxLength: 40 }), async (script) => {
      const held = heldSend();
      const queue = createInputQueue(held.send, () => {});
      for (const [one, end] of script) {
        queue.push(one);
        if (end) await held.end();
        expect(held.open()).toBeLessThanOrEqual(1);
      }
      while (held.open() > 0) await held.end();
      expect(seen(held.requests)).toEqual(typed(script.map(([one]) => one)));
    }),
    { numRuns: 60 },
  );
});

test('keystrokes that come while a request is on its way leave together', async () => {
  const held = heldSend();
  const queue = createInputQueue(held.send, () => {});
  for (const letter of 'ls --color') queue.push({ text: letter });
  queue.push({ key: 'Enter' });
  await held.end();
  expect(held.requests).toEqual([{ text: 'l' }, { text: 's --color', keys: ['Enter'] }]);
});

test('what was typed before the pane went behind another tab still reaches it, and nothing after', async () => {
  const held = heldSend();
  const queue = createInputQueue(held.send, () => {});
  for (const letter of 'ls') queue.push({ text: letter });
  queue.push({ key: 'Enter' });
  queue.close();
  queue.push({ text: 'late' });
  await held.end();
  await held.end();
  expect(held.requests).toEqual([{ text: 'l' }, { text: 's', keys: ['Enter'] }]);
});

test('text after a key waits for the next request, because a request is text first', () => {
  const pending: Keystroke[] = [{ text: 'a' }, { key: 'Enter' }, { key: 'Up' }, { text: 'b' }];
  const first = takeRequest(pending);
  expect(first.input).toEqual({ text: 'a', keys: ['Enter', 'Up'] });
  expect(takeRequest(first.rest).input).toEqual({ text: 'b' });
});

test('a paste is a request of its own and says that it is one', () => {
  const pending: Keystroke[] = [{ text: 'a' }, { paste: 'b\rc' }, { key: 'Enter' }];
  const first = takeRequest(pending);
  const second = takeRequest(first.rest);
  expect([first.input, second.input, takeRequest(second.rest).input]).toEqual([
    { text: 'a' },
    { text: 'b\rc', paste: true },
    { keys: ['Enter'] },
  ]);
});

test('a long text is cut between characters, never inside one', () => {
  const text = `${'x'.repeat(maxTextLength - 1)}😀tail`;
  const first = takeRequest([{ text }, { key: 'Enter' }]);
  expect(first.input.text).toBe('x'.repeat(maxTextLength - 1));
  expect(takeRequest(first.rest).input).toEqual({ text: '😀tail', keys: ['Enter'] });
});

test('after a failed request nothing typed before it is sent late, and the person is told once', async () => {
  const held = heldSend();
  const errors: unknown[] = [];
  const queue = createInputQueue(held.send, (error) => errors.push(error));
  queue.push({ text: 'rm -rf build' });
  queue.push({ key: 'Enter' });
  await held.end(new Error('gone'));
  expect(held.requests).toEqual([{ text: 'rm -rf build' }]);
  expect(errors).toHaveLength(1);
  queue.push({ text: 'ls' });
  expect(held.requests).toHaveLength(2);
});
