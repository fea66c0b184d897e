/** How far a long call is: told to its caller alone, while it runs, and the call answers as ever. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { followCall, type OnProgress, progressHeader } from '../../src/contracts/common/work-progress.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import type { Principal } from '../../src/kit/http/types.ts';
import { createProgressBook } from '../../src/runtime-server/base/progress.ts';
import { defineTool, type Tool } from '../../src/runtime-server/tool-server/index.ts';
import { createLedgerPart } from '../../src/runtime-server/work-engine/ledger.ts';
import { sharedEngine, waitFor } from './engine.ts';
import { startShells } from './shells.ts';
import { rest } from './tool-server/wire.ts';

type Handler = (asked: object) => Promise<{ readonly body: unknown }>;

/** A tool that takes as long as the test wants. */
let begun = Promise.withResolvers<OnProgress | undefined>();
let end = Promise.withResolvers<void>();
const slow: Tool = defineTool({
  name: 'slow.count',
  title: 'Count',
  description: 'Counts.',
  input: z.strictObject({}),
  output: z.strictObject({ counted: z.number() }),
  readOnly: true,
  plan: (_, caller) => ({
    risk: 'low',
    title: 'Count',
    summary: 'Count',
    async run() {
      begun.resolve(caller.onProgress);
      await end.promise;
      return { counted: 3 };
    },
  }),
});
const shared = sharedEngine({ tools: { tools: [slow] } });

const key = 'key-of-this-test';
const progress = async (of = key, token?: string) =>
  (await shared.current.call<{ progress: unknown }>('GET', `/progress/${of}`, undefined, token ? { token } : {})).body;
const count = (headers: Record<string, string>) =>
  rest<{ structuredContent: unknown }>(shared.current, 'POST', '/slow.count/call', { body: {}, headers });

test('a call is followed under the key that it was sent with, until it ends; another key finds nothing', async () => {
  begun = Promise.withResolvers();
  end = Promise.withResolvers();
  const answer = count({ [progressHeader]: key });
  const tell = await begun.promise;
  expect(await progress()).toEqual({ progress: null });
  tell?.({ what: 'Counting', done: 1, total: 3, unit: 'sheep' });
  expect(await progress()).toEqual({
    progress: { what: 'Counting', done: 1, total: 3, unit: 'sheep', startedAt: expect.any(String) },
  });
  expect(await progress('another-key-of-it')).toEqual({ progress: null });
  expect(await count({ [progressHeader]: key })).toMatchObject({ status: 400 });
  end.resolve();
  expect(await answer).toMatchObject({ status: 200, body: { structuredContent: { counted: 3 } } });
  tell?.({ what: 'Counting', done: 3, total: 3, unit: 'sheep' });
  expect(await progress()).toEqual({ progress: null });
});

test('a call without a key is not followed, and a bot finds nothing of its person', async () => {
  begun = Promise.withResolvers();
  end = Promise.withResolvers();
  const plain = count({});
  expect(await begun.promise).toBe(undefined);
  end.resolve();
  expect(await plain).toMatchObject({ status: 200 });
  expect(await count({ [progressHeader]: 'short' })).toMatchObject({ status: 400 });
  const team = await startShells(shared.current, 'web');
  const token = await shared.current.botToken(`web@${team}`);
  const refused = await shared.current.call('GET', `/progress/${key}`, undefined, { token });
  expect(refused.status).toBe(403);
});

test('a check of the ledger tells everybody who follows one how many rows are checked', async () => {
  const progress = createProgressBook({ clock: systemClock });
  const checked = Promise.withResolvers<void>();
  const ledger = {
    engineId: 'engine_1',
    async verify(tell: (done: number, total: number) => void) {
      await turn();
      tell(200, 1_000_000);
      await checked.promise;
      return { ok: true, rows: 1_000_000, head: { id: '999999', hash: '' } };
    },
  };
  const part = createLedgerPart({ ledger, progress, workspace: '/nowhere' } as never);
  const verify = part.routes.find(({ route }) => route.op === 'verifyLedger')?.handler as unknown as Handler;
  const person = { kind: 'owner', userId: 'user_ada' } as Principal;
  const asking = ['first-of-two', 'second-of-two'].map((name) =>
    verify({ principal: person, request: { headers: { [progressHeader]: name } } }),
  );
  const told = { what: 'Checking the ledger', done: 200, total: 1_000_000, unit: 'rows' };
  for (const name of ['first-of-two', 'second-of-two']) {
    expect(
      await waitFor(
        () => progress.read(person, name),
        (found) => found !== null,
      ),
    ).toMatchObject(told);
  }
  checked.resolve();
  for (const answer of await Promise.all(asking)) expect(answer.body).toMatchObject({ ok: true, rows: 1_000_000 });
  expect(progress.read(person, 'first-of-two')).toBe(null);
});

test('whoever follows a call asks again and again until it ends, and an older program that knows no answer is no fault', async () => {
  const call = Promise.withResolvers<string>();
  const rings: (() => void)[] = [];
  const seen: number[] = [];
  let asked = 0;
  const followed = followCall(() => call.promise, {
    async read() {
      asked += 1;
      if (asked === 1) throw new Error('not found');
      return { what: 'Counting', done: asked, total: 9, unit: null, startedAt: '2026-01-02T03:04:05.678Z' };
    },
    onProgress: ({ done }) => void seen.push(done),
    after(_, effect) {
      rings.push(effect);
      return () => void rings.splice(rings.indexOf(effect), 1);
    },
  });
  for (const wanted of [1, 2, 3]) {
    rings.shift()?.();
    await waitFor(
      async () => rings.length === 1 && asked === wanted,
      (ready) => ready,
    );
  }
  call.resolve('done');
  expect(await followed).toBe('done');
  expect([seen, rings]).toEqual([[2, 3], []]);
});
