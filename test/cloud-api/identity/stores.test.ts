/** The stores of identity, and what the kit keeps for every caller, on both engines. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { Change } from '../../../src/cloud-api/identity/changes.ts';
import { identityMigrations } from '../../../src/cloud-api/identity/index.ts';
import { createKeys } from '../../../src/cloud-api/identity/keys.ts';
import { createOpening } from '../../../src/cloud-api/identity/opening.ts';
import { createProjects } from '../../../src/cloud-api/identity/projects.ts';
import { createSessionStore, type SignInRow } from '../../../src/cloud-api/identity/session-store.ts';
import { createSessions } from '../../../src/cloud-api/identity/sessions.ts';
import { createUsers } from '../../../src/cloud-api/identity/users.ts';
import { createIdempotency, idempotencyMigrations } from '../../../src/kit/http/idempotency.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createDeviceAuthenticator, signingMigrations } from '../../../src/kit/signing/authenticator.ts';
import { signedHeaders } from '../../../src/kit/signing/signature.ts';
import { answered } from '../../../src/kit/store/answered.ts';
import { engines } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';

const log = { warn() {} };
const changes = { note: () => answered(undefined), age: null };

describe.each(engines)('on $name', ({ place }) => {
  async function open() {
    const clock = createTestClock();
    const store = await (await place()).open(
      [...identityMigrations, ...idempotencyMigrations, ...signingMigrations],
      clock,
    );
    return { clock, store, ids: createIds(clock) };
  }

  test('people are made once at their first sign-in, and changed, listed and shut out', async () => {
    const shutOut: string[] = [];
    const deps = { ...(await open()), changes, onShutOut: (id: string) => shutOut.push(id) };
    const users = createUsers(deps);
    const who = { issuer: 'https://id.example', subject: 'ada', email: null, name: 'Ada' };
    const together = await Promise.all(Array.from({ length: 5 }, () => users.signIn(who)));
    expect(new Set(together.map(({ id }) => id)).size).toBe(1);
    const { id } = together[0]!;
    await users.signIn({ ...who, email: 'ada@example.com', name: 'Ada L.' });
    await users.ensureOwner('user_local', 'Owner');
    await users.ensureOwner('user_local', 'Owner');
    expect(await users.of(who.issuer, who.subject)).toMatchObject({ id, name: 'Ada L.', plan: 'free' });
    expect((await users.list()).map((user) => user.plan).sort()).toEqual(['free', 'ultra']);
    expect(await users.change(id, { plan: 'super', disabled: true })).toMatchObject({ plan: 'super' });
    expect([shutOut, await users.find(id), await users.admits(id)]).toEqual([[id], null, false]);
    expect(await createUsers(deps).get(id)).toMatchObject({ plan: 'super', disabledAt: deps.clock.now() });
    await expect(users.change('user_x', {})).rejects.toMatchObject({ code: 'not_found' });
  });

  test('of keys with one name two live at once, however many are asked for together', async () => {
    const { store, clock, ids } = await open();
    const keys = createKeys({ store, clock, ids, log, changes, onEnded: () => {} });
    const key = { name: 'ci', scopes: ['compute' as const], expiresInDays: 1 };
    const made = await Promise.allSettled(Array.from({ length: 6 }, () => keys.create('user_1', key)));
    const rows = made.flatMap((one) => (one.status === 'fulfilled' ? [one.value.row] : []));
    expect(rows).toHaveLength(2);
    expect((await keys.list('user_1')).map(({ id }) => id).sort()).toEqual(rows.map(({ id }) => id).sort());
    await keys.revoke(rows[0]!.id);
    expect(await keys.list('user_1')).toHaveLength(1);
    expect(await keys.list(null, true)).toHaveLength(2);
    expect((await keys.create('user_1', key)).row.expires_at).toBe(clock.now() + 24 * 3_600_000);
  });

  test('a key for one address opens that alone, also for a process that had not made it, and however paths are written', async () => {
    const { store, clock, ids } = await open();
    const process = () => createKeys({ store, clock, ids, log, changes, onEnded: () => {} });
    const keys = process();
    const path = '/edge/mcp/bots/bot_1';
    const wanted = { name: 'app', scopes: ['bots:act' as const], resource: path };
    const { row, secret } = await keys.create('user_1', wanted);
    const free = await keys.create('user_1', { name: 'all', scopes: ['bots:act'] });
    expect((await keys.list('user_1')).map(({ resource }) => resource).sort()).toEqual([path, null].sort());
    const ask = async (by: typeof keys, url: string, text = secret) => {
      const headers = { authorization: `Bearer ${text}` };
      return by.authenticator.authenticate({ url, headers, socket: {} } as unknown as IncomingMessage);
    };
    for (const by of [keys, process()]) {
      // First elsewhere: what is kept of a key from one request must not open another.
      await expect(ask(by, '/edge/mcp/bots/bot_2')).rejects.toMatchObject({ status: 401 });
      for (const url of [path, `${path}?computer=c`, '/edge/mcp/bots/bot%5F1', '/edge/mcp/bots/%62ot_1?x#/api']) {
        expect([url, await ask(by, url)]).toMatchObject([url, { kind: 'key', keyId: row.id }]);
      }
      for (const url of [
        ...['/', '/edge', '/edge/mcp', '/mcp/server', '/edge/mcp/bots/bot_2', '/edge/mcp/bots/bot_%32', `${path}/`],
        ...['/api/factory/agents', '/api/factory/send', '/api/%66actory/agents', `/api/factory/agents?${path}`],
        ...[`${path}/../bot_2`, `${path}/%2e%2e/bot_2`, `${path}%2F..%2Fbot_2`, '/edge/mcp/bots/bot%255F1'],
        ...[`//x${path}`, `http://x${path}`, `${path}%00`, `${path}%3Fx`, `/x?${path}`, '/edge/mcp/bots/bot%'],
      ]) {
        const refused = expect(ask(by, url), url).rejects;
        await refused.toMatchObject({ status: 401, message: expect.stringContaining(path) });
      }
      expect(await ask(by, '/api/factory/agents', free.secret)).toMatchObject({ keyId: free.row.id });
    }
  });

  test('other processes are told by which sign-in a browser goes on', async () => {
    const { store, clock, ids } = await open();
    const noted: Change[] = [];
    const ended: unknown[] = [];
    const sessions = await createSessions({
      store: createSessionStore(store, { note: (_tx, change) => answered(void noted.push(change)) }),
      clock,
      ids,
      log,
      kind: 'user',
      cookieName: 'gantry_1',
      signInAgain: 'Sign in.',
      onEnded: (id, replacedBy) => ended.push([id, replacedBy]),
    });
    const from = (cookie: string) => ({ headers: { cookie: `gantry_1=${cookie}` } }) as IncomingMessage;
    await sessions.begin(
      'user_2',
      from(await sessions.begin('user_1', from(await sessions.begin('user_1', from(''))))),
    );
    const [last] = await sessions.list('user_2');
    const [same, other] = noted as Extract<Change, { kind: 'session' }>[];
    expect(noted).toMatchObject([
      { kind: 'session', over: true, replacedBy: other?.id },
      { kind: 'session', over: true, replacedBy: undefined },
    ]);
    expect(last?.id).not.toBe(other?.id);
    sessions.ended(same!.id, same!.digest, same!.replacedBy);
    expect(ended).toEqual([
      [same?.id, other?.id],
      [other?.id, undefined],
      [same?.id, other?.id],
    ]);
  });

  test('sign-ins: the credential of a computer takes the place of the one before; old browsers are removed', async () => {
    const { store } = await open();
    const sessions = createSessionStore(store, changes);
    const row = (digest: string, more: Partial<SignInRow> = {}): SignInRow => ({
      digest,
      id: `session_${digest}`,
      user_id: 'user_1',
      kind: 'browser',
      device: 'Firefox',
      computer_id: null,
      created_at: 10,
      used_at: 10,
      ...more,
    });
    const home = { kind: 'home', computer_id: 'computer_1' } as const;
    expect(await sessions.add(row('a', home))).toBeNull();
    expect(await sessions.add(row('b', home))).toBe('a');
    for (const [digest, used_at] of [
      ['c', 5],
      ['d', 20],
    ] as const)
      await sessions.add(row(digest, { used_at }));
    await sessions.touch('d', 30);
    await sessions.touch('d', 25);
    expect((await sessions.find('d'))?.used_at).toBe(30);
    await sessions.removeOld(8, 0);
    expect((await sessions.ofUser('user_1')).map(({ digest }) => digest)).toEqual(['d', 'b']);
    expect(await sessions.removeHome('computer_1')).toMatchObject({ digest: 'b' });
    await sessions.remove(row('d'));
    expect(await sessions.byId('session_d')).toBeNull();
  });

  test('a one-time address is good once, of many that try it together', async () => {
    const { store, clock } = await open();
    const opening = createOpening({ store, clock, origin: 'http://127.0.0.1:1' });
    const code = new URL((await opening.create()).url).searchParams.get('t')!;
    const taken = await Promise.all(Array.from({ length: 6 }, () => opening.take(code)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    const late = new URL((await opening.create()).url).searchParams.get('t')!;
    await clock.advance(24 * 3_600_000);
    expect(await opening.take(late)).toBe(false);
  });

  test('projects and prices are kept as they were set', async () => {
    const projects = createProjects((await open()).store);
    const project = {
      id: 'p',
      userId: 'user_1',
      name: 'P',
      hostedDriverEnabled: true,
      spendCapCents: null,
      createdAt: 1,
    };
    await projects.create(project);
    await expect(projects.create(project)).rejects.toMatchObject({ status: 409 });
    expect(await projects.change('p', { spendCapCents: 250 })).toEqual({ ...project, spendCapCents: 250 });
    expect(await projects.list()).toEqual([{ ...project, spendCapCents: 250 }]);
    await projects.setPrice({ name: 'minute', cents: 0.012345, updatedAt: 1 });
    await projects.setPrice({ name: 'minute', cents: 0.5, updatedAt: 2 });
    expect(await projects.prices()).toEqual([{ name: 'minute', cents: 0.5, updatedAt: 2 }]);
  });

  test('a request with a key is done once, also by two processes, and its key is free again when it failed', async () => {
    const { store, clock } = await open();
    const [one, other] = [createIdempotency(store, clock), createIdempotency(store, clock)];
    const request = { caller: 'user_1', op: 'create', key: 'k', fingerprint: 'f' };
    let done = 0;
    const work = async () => {
      done += 1;
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (done === 1) throw new Error('away');
      return { status: 201, text: `made ${done}` };
    };
    await expect(one.once(request, work)).rejects.toThrow('away');
    const first = one.once(request, work);
    await expect.poll(() => done).toBe(2);
    // One process alone knows that the first request was cut off; of several, another may still be at it.
    if (store.engine === 'postgres') expect(await other.once(request, work)).toEqual(await first);
    else await expect(other.once(request, work)).rejects.toMatchObject({ status: 409 });
    expect(await first).toEqual({ status: 201, text: 'made 2' });
    expect(await other.once(request, work)).toEqual({ status: 201, text: 'made 2' });
    await expect(other.once({ ...request, fingerprint: 'g' }, work)).rejects.toMatchObject({ status: 409 });
    expect(done).toBe(2);
  });

  test('of twenty copies of one signature one is taken', async () => {
    const { store, clock } = await open();
    const key = 'a'.repeat(64);
    const authenticator = createDeviceAuthenticator({ store, clock, find: () => ({ userId: 'user_1', keys: [key] }) });
    const signer = { runtimeId: 'computer_1', key, now: () => clock.now() };
    const headers = signedHeaders(signer, { method: 'PUT', path: '/x', body: '' });
    const copy = () => {
      const request = Object.assign(Readable.from([]), { url: '/x', method: 'PUT', headers });
      return authenticator.authenticate(request as unknown as IncomingMessage);
    };
    const taken = await Promise.allSettled(Array.from({ length: 20 }, async () => copy()));
    expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});
