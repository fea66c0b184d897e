import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { defineRoute } from '../../../src/contracts/common/route.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { botTokenMigrations, createBotTokens } from '../../../src/kit/http/bot-tokens.ts';
import { createIdempotency, idempotencyMigrations } from '../../../src/kit/http/idempotency.ts';
import { createOwnerAuthenticator } from '../../../src/kit/http/principals.ts';
import { type Answer, bind } from '../../../src/kit/http/types.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { shareStore } from '../../../src/kit/store/share-store.ts';
import { engines } from '../../support/engines.ts';
import { onEnd, ownerToken, serve } from './support.ts';

const create = defineRoute({
  op: 'createNote',
  area: 'test',
  summary: 'makes a note',
  errors: 'factory',
  method: 'POST',
  path: '/api/factory/notes',
  auth: ['owner', 'bot'],
  scope: 'bots:act',
  owner: 'collection',
  idempotent: true,
  body: z.strictObject({ text: z.string(), b: z.number().optional(), dryRun: z.boolean().optional() }),
  answers: {
    201: z.strictObject({ id: z.string(), text: z.string() }),
    200: z.strictObject({ dryRun: z.literal(true) }),
  },
});

async function start(home = mkdtempSync(join(tmpdir(), 'gantry-idem-')), now = () => systemClock.now()) {
  const clock = { now, monotonic: systemClock.monotonic };
  const store = await openStore({
    file: join(home, 'runtime.db'),
    migrations: [...idempotencyMigrations, ...botTokenMigrations],
    clock,
  });
  const bots = await createBotTokens({ store, clock, userId: 'user_local' });
  const made: string[] = [];
  let slow: Promise<void> = Promise.resolve();
  const handler = bind(create, async ({ body }): Promise<Answer<typeof create>> => {
    if (body.dryRun) return { status: 200, body: { dryRun: true } };
    await slow;
    if (body.text === 'refuse') throw new AppError('transport', 'away', 'again');
    made.push(body.text);
    return { body: { id: `note_${made.length}`, text: body.text } };
  });
  const served = await serve({
    routes: [handler],
    authenticators: [createOwnerAuthenticator(ownerToken), bots.authenticator],
    idempotency: createIdempotency(shareStore(store), clock),
  });
  onEnd(async () => {
    await store.close();
    rmSync(home, { recursive: true, force: true });
  });
  const post = (key: string | null, body: unknown, token = ownerToken) =>
    served.call('POST', create.path, { body, token, headers: key === null ? {} : { 'idempotency-key': key } });
  return {
    ...served,
    home,
    store,
    bots,
    made,
    post,
    hold(): () => void {
      let release: () => void = () => {};
      slow = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
  };
}

test('a repeated key gives the first answer and does the work once, whatever the order of fields', async () => {
  const { post, made } = await start();
  const first = await post('k1', { text: 'a', b: 1 });
  const again = await post('k1', { b: 1, text: 'a' });
  expect([first.status, again.status, again.text]).toEqual([201, 201, first.text]);
  expect(made).toEqual(['a']);
});

test('another body under the same key is 409, and without a key everything is made', async () => {
  const { post, made } = await start();
  await post('k1', { text: 'a' });
  const other = await post('k1', { text: 'b' });
  expect([other.status, other.json.error.code]).toEqual([409, 'refused']);
  await post(null, { text: 'a' });
  expect(made).toEqual(['a', 'a']);
});

test('keys of different callers have nothing to do with each other', async () => {
  const { post, made, bots } = await start();
  const token = await bots.mint('agent_1');
  await post('k1', { text: 'mine' });
  expect((await post('k1', { text: 'the bot’s' }, token)).status).toBe(201);
  expect(made).toEqual(['mine', 'the bot’s']);
});

test('two requests at the same moment do the work once', async () => {
  const { post, made, hold } = await start();
  const release = hold();
  const both = [post('k1', { text: 'a' }), post('k1', { text: 'a' }), post('k1', { text: 'b' })];
  expect((await both[2]!).status).toBe(409);
  release();
  const [one, two] = await Promise.all(both.slice(0, 2));
  expect([one!.status, two!.text]).toEqual([201, one!.text]);
  expect(made).toEqual(['a']);
});

test('a refused request frees its key; a dry run never takes it', async () => {
  const { post, made } = await start();
  expect((await post('k1', { text: 'refuse' })).status).toBe(502);
  expect((await post('k1', { text: 'a', dryRun: true })).status).toBe(200);
  expect((await post('k1', { text: 'a' })).status).toBe(201);
  expect(made).toEqual(['a']);
});

test('the first answer is kept over a restart for seven days', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gantry-idem-'));
  const first = await start(home);
  const answer = await first.post('k1', { text: 'a' });
  await first.store.close();
  const day = 24 * 3600 * 1000;
  const later = await start(home, () => systemClock.now() + 6 * day);
  expect((await later.post('k1', { text: 'a' })).text).toBe(answer.text);
  expect(later.made).toEqual([]);
  await later.store.close();
  const late = await start(home, () => systemClock.now() + 8 * day);
  expect((await late.post('k1', { text: 'b' })).status).toBe(201);
  expect(late.made).toEqual(['b']);
});

test('a request that a crash cut off is not done again by itself', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gantry-idem-'));
  const first = await start(home);
  first.hold();
  void first.post('k1', { text: 'a' }).catch(() => {});
  for (;;) {
    const rows = await first.store.read((tx) => tx.all('SELECT * FROM idempotency'));
    if (rows.length === 1) break;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await first.store.close();
  const second = await start(home);
  const reply = await second.post('k1', { text: 'a' });
  expect([reply.status, reply.json.error.fact]).toEqual([409, expect.stringContaining('cut off')]);
  expect(second.made).toEqual([]);
});

test('a key that is no key is a usage error', async () => {
  const { post } = await start();
  for (const key of ['', 'x'.repeat(256), 'with space']) expect((await post(key, { text: 'a' })).status).toBe(400);
});

test('a bot’s token lives over a restart, dies when it is revoked, and only its hash is kept', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gantry-bots-'));
  const first = await start(home);
  const old = await first.bots.mint('agent_1');
  const token = await first.bots.mint('agent_1');
  const other = await first.bots.mint('agent_2');
  expect((await first.post(null, { text: 'old' }, old)).status).toBe(401);
  const rows = JSON.stringify(await first.store.read((tx) => tx.all('SELECT * FROM bot_tokens')));
  expect(rows).not.toContain(token.slice(5));
  await first.store.close();

  const second = await start(home);
  expect((await second.post(null, { text: 'a' }, token)).status).toBe(201);
  await second.bots.revoke('agent_1');
  expect((await second.post(null, { text: 'a' }, token)).status).toBe(401);
  expect((await second.post(null, { text: 'b' }, other)).status).toBe(201);
});

test('an owner token that could be guessed does not start', () => {
  for (const token of ['', 'short']) expect(() => createOwnerAuthenticator(token)).toThrow('shorter than');
});

describe.each(engines)('with a database that goes away, on $name', ({ place }) => {
  /** A process whose database is there, away, or away just as it was to say that a change is kept. */
  async function world() {
    const store = await (await place()).open([
      ...idempotencyMigrations,
      { number: 1, name: 'notes', sql: 'CREATE TABLE note (id INTEGER NOT NULL) STRICT' },
    ]);
    let line: 'there' | 'away' | 'unheard' = 'there';
    const faults = {
      away: new AppError('transport', 'It cannot be reached.', ''),
      unheard: new AppError('transport', 'It went away at the end.', '', { unknownEnd: true }),
    };
    const behind: typeof store = {
      ...store,
      async write(operation, options) {
        if (line === 'away') throw faults.away;
        const answer = await store.write(operation, options);
        if (line === 'unheard') throw faults.unheard;
        return answer;
      },
    };
    const timers: (() => void)[] = [];
    const after = (ms: number, effect: () => void) => {
      // What waits for another process looks often; what is to be noted, each second.
      if (ms < 1000) setImmediate(effect);
      else timers.push(effect);
      return () => {};
    };
    const idempotency = createIdempotency(behind, systemClock, { after });
    /** `during`: how the line is as the work is done; `afterwards`: and from then on. */
    const create = (during: typeof line = 'there', afterwards: typeof line = 'there') =>
      idempotency.once({ caller: 'ada', op: 'createNote', key: 'k', fingerprint: 'f' }, async () => {
        line = during;
        try {
          await behind.write((tx) => tx.run('INSERT INTO note VALUES (1)'));
        } finally {
          line = afterwards;
        }
        return { status: 201, text: 'made' };
      });
    return {
      create,
      set: (next: typeof line) => {
        line = next;
      },
      /** A second passes. */
      tick() {
        for (const effect of timers.splice(0)) effect();
      },
      made: async () => (await store.all('SELECT id FROM note')).length,
    };
  }

  /** Resolves once it is made. */
  const comes = (create: () => Promise<unknown>) =>
    expect.poll(() => create().catch(() => null)).toEqual({ status: 201, text: 'made' });

  test('nothing is made twice whose end was not heard: its key stays taken', async () => {
    const { create, made } = await world();
    await expect(create('unheard')).rejects.toThrow('at the end');
    await expect(create().catch(({ fact }) => Promise.reject(new Error(fact)))).rejects.toThrow('outcome is not known');
    expect(await made()).toBe(1);
  });

  test('what failed is said as it was, and its key is free as soon as the database is back', async () => {
    const { create, made, set, tick } = await world();
    await expect(create('away', 'away')).rejects.toThrow('cannot be reached');
    await expect(create()).rejects.toThrow('cannot be reached');
    tick();
    set('there');
    await comes(() => {
      tick();
      return create();
    });
    expect(await made()).toBe(1);
  });

  test('what was made is answered also while that cannot be kept, and kept afterwards', async () => {
    const { create, made, set, tick } = await world();
    const answer = { status: 201, text: 'made' };
    expect(await create('there', 'away')).toEqual(answer);
    expect(await create()).toEqual(answer);
    set('there');
    tick();
    expect(await create()).toEqual(answer);
    expect(await made()).toBe(1);
  });

  test('a key whose taking was not heard is free again: nothing was done', async () => {
    const { create, made, set, tick } = await world();
    set('unheard');
    await expect(create()).rejects.toThrow('at the end');
    set('there');
    // What freed it was not heard either, and is said again.
    await comes(() => {
      tick();
      return create();
    });
    expect(await made()).toBe(1);
  });
});
