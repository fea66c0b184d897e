import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { factoryEventStream } from '../../../src/contracts/factory/routes.ts';
import { movableClock, startPair } from '../../host/support.ts';
import { type Call, keepUntilEnd } from '../../kit/http/support.ts';
import { signInAs } from '../../support/oidc-provider.ts';
import { personWith, startPeople } from './support.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

interface Place {
  /** The person whose keys these are, and somebody else or nobody. */
  readonly call: Call;
  readonly stranger: Call | null;
  readonly withKey: Call;
  readonly database: string;
  readonly move: (ms: number) => void;
}

const stop = keepUntilEnd();
const places: { embedded?: Place; headless?: Place } = {};
beforeAll(async () => {
  const clock = movableClock();
  const pair = await startPair({ clock });
  const anybody: Call = (method, path, options = {}) => pair.callWeb(method, path, { token: null, ...options });
  places.embedded = {
    call: pair.callWeb,
    stranger: null,
    withKey: anybody,
    database: pair.places.cloudDb,
    move: clock.move,
  };
  const people = await startPeople();
  const [ada, bob] = await Promise.all(
    ['ada', 'bob'].map(async (name) => personWith(people, await signInAs(name, people.origin))),
  );
  places.headless = {
    call: ada!.call,
    stranger: bob!.call,
    withKey: people.call,
    database: `${people.home}/cloud.db`,
    move: people.clock.move,
  };
});
afterAll(stop);

interface Made {
  readonly key: { id: string; prefix: string; lastUsedAt: string | null; expiresAt: string | null };
  readonly secret: string;
}

describe.each(['embedded', 'headless'] as const)('%s', (mode) => {
  const at = () => places[mode]!;
  const make = async (body: Record<string, unknown>): Promise<Made> => {
    const reply = await at().call('POST', '/api/v1/keys', { body: { scopes: ['agents:read'], ...body } });
    expect(reply.status).toBe(201);
    return reply.json as unknown as Made;
  };
  const listed = async () => {
    const { keys } = (await at().call('GET', '/api/v1/keys')).json as unknown as { keys: Made['key'][] };
    return keys;
  };
  const use = (secret: string) => at().withKey('GET', '/api/factory/approvals', { token: secret });

  test('a key is shown once, works, and is kept by hash only', async () => {
    const { key, secret } = await make({ name: 'ci' });
    expect(secret).toMatch(/^gantry_[A-Za-z0-9_-]{38}$/);
    expect(key.prefix).toBe(secret.slice(0, 15));
    expect((await use(secret)).status).toBe(200);
    expect(JSON.stringify(await listed())).not.toContain(secret);
    const bytes = Buffer.concat([readFileSync(at().database), readFileSync(`${at().database}-wal`)]);
    expect(bytes.includes(key.id)).toBe(true);
    expect(bytes.includes(secret)).toBe(false);
    expect(bytes.includes(secret.slice(7, 39))).toBe(false);
  });

  test('a mistyped key is told from an unknown one by its checksum', async () => {
    const { secret } = await make({ name: 'typed' });
    const flipped = `${secret.slice(0, 20)}${secret[20] === 'A' ? 'B' : 'A'}${secret.slice(21)}`;
    const reply = await use(flipped);
    expect(reply.status).toBe(401);
    expect(reply.json.error.fact).toContain('mistyped');
  });

  test('a key does what its scopes say, and never what takes a person', async () => {
    const { secret } = await make({ name: 'narrow' });
    const refused = async (method: string, path: string, body?: unknown) => {
      const reply = await at().withKey(method, path, { token: secret, body });
      expect([path, reply.status]).toEqual([path, 403]);
    };
    await refused('POST', '/api/factory/send', {});
    await refused('GET', '/api/v1/admin/users');
    const every = await make({ name: 'wide', scopes: ['agents:read', 'bots:act', 'compute', 'computers', 'work'] });
    for (const [method, path] of [
      ['POST', '/api/factory/approvals/approval_1/resolve'],
      ['POST', '/api/v1/keys'],
      ['GET', '/api/v1/keys'],
      ['DELETE', `/api/v1/keys/${every.key.id}`],
      ['GET', '/api/v1/sessions'],
      ['GET', '/api/v1/session'],
    ] as const) {
      const reply = await at().withKey(method, path, {
        token: every.secret,
        ...(method === 'POST' ? { body: {} } : {}),
      });
      expect([path, reply.status]).toEqual([path, 403]);
    }
  });

  test('a key may be for one server of the edge, of which the list speaks, and for no other address', async () => {
    const { key, secret } = await make({ name: 'edge', resource: '/edge/mcp' });
    expect((await listed()).find(({ id }) => id === key.id)).toMatchObject({ resource: '/edge/mcp' });
    const reply = await use(secret);
    expect([reply.status, reply.json.error]).toMatchObject([
      401,
      { fact: expect.stringContaining('only for /edge/mcp') },
    ]);
    const wrong = [
      '',
      '/',
      '/edge',
      '/edge/mcp/',
      '/edge/mcp/bots/',
      '/edge/mcp/bots/..',
      '/edge/mcp/bots/a%62',
      '/api',
    ];
    for (const resource of [...wrong, '/edge/mcp?x', 'https://x/edge/mcp', '/edge/mcp\n']) {
      const body = { name: 'edge', scopes: ['agents:read'], resource };
      expect([resource, (await at().call('POST', '/api/v1/keys', { body })).status]).toEqual([resource, 400]);
    }
  });

  test('two keys of one name may live at once; a third waits until one is revoked or over', async () => {
    const first = await make({ name: 'rotated' });
    await make({ name: 'rotated', expiresInDays: 1 });
    const third = () => at().call('POST', '/api/v1/keys', { body: { name: 'rotated', scopes: ['work'] } });
    const refused = await third();
    expect([refused.status, refused.json.error]).toEqual([409, 'too_many_keys']);
    expect((await at().call('DELETE', `/api/v1/keys/${first.key.id}`)).status).toBe(204);
    expect((await third()).status).toBe(201);
    expect((await third()).status).toBe(409);
    at().move(day + 1);
    expect((await third()).status).toBe(201);
  });

  test('a revoked key is refused at once, is listed no more and cannot be revoked again', async () => {
    const { key, secret } = await make({ name: 'short-lived' });
    expect((await use(secret)).status).toBe(200);
    expect((await at().call('DELETE', `/api/v1/keys/${key.id}`)).status).toBe(204);
    expect((await use(secret)).status).toBe(401);
    expect((await listed()).map(({ id }) => id)).not.toContain(key.id);
    expect((await at().call('DELETE', `/api/v1/keys/${key.id}`)).status).toBe(404);
  });

  test('a key ends when it said it would', async () => {
    const { key, secret } = await make({ name: 'ends', expiresInDays: 2 });
    expect(Date.parse(key.expiresAt!)).toBeGreaterThan(Date.parse('2020-01-01'));
    at().move(2 * day - minute);
    expect((await use(secret)).status).toBe(200);
    at().move(2 * minute);
    const reply = await use(secret);
    expect(reply.status).toBe(401);
    expect(reply.json.error.fact).toContain('expired on');
  });

  test('the last use is written down, at most once a minute', async () => {
    const { key, secret } = await make({ name: 'watched' });
    const lastUsed = async () => (await listed()).find(({ id }) => id === key.id)!.lastUsedAt;
    expect(await lastUsed()).toBeNull();
    await use(secret);
    const first = await lastUsed();
    expect(first).not.toBeNull();
    await use(secret);
    expect(await lastUsed()).toBe(first);
    at().move(minute + 1);
    await use(secret);
    expect(await lastUsed()).not.toBe(first);
  });

  test('the scope admin is for the owner of a computer to give, not for one of many to take', async () => {
    const body = { name: 'admin', scopes: ['admin'] };
    const reply = await at().call('POST', '/api/v1/keys', { body });
    expect(reply.status).toBe(mode === 'embedded' ? 201 : 403);
  });

  test('bad names, scopes and ends are refused by name', async () => {
    for (const [body, says] of [
      [{ name: '', scopes: ['work'] }, 'body.name'],
      [{ name: 'x', scopes: [] }, 'body.scopes'],
      [{ name: 'x', scopes: ['everything'] }, 'body.scopes.0'],
      [{ name: 'x', scopes: ['work'], expiresInDays: 0 }, 'body.expiresInDays'],
      [{ name: 'x', scopes: ['work'], secret: 'mine' }, '"secret"'],
    ] as const) {
      const reply = await at().call('POST', '/api/v1/keys', { body });
      expect([says, reply.status]).toEqual([says, 400]);
      expect(String(reply.json.message)).toContain(says);
    }
  });
});

test('keys of another person are not there', async () => {
  const { call, stranger } = places.headless!;
  const made = await call('POST', '/api/v1/keys', { body: { name: 'mine', scopes: ['work'] } });
  const { key } = made.json as unknown as Made;
  expect((await stranger!('DELETE', `/api/v1/keys/${key.id}`)).status).toBe(404);
  expect((await stranger!('GET', '/api/v1/keys')).text).toBe('{"keys":[]}');
});

test('a stream that a key opened ends when the key is revoked', async () => {
  const pair = await startPair({
    routes: [
      {
        route: factoryEventStream,
        handler: (_context, sink) => sink?.open(),
      },
    ],
  });
  const made = await pair.callWeb('POST', '/api/v1/keys', { body: { name: 'reader', scopes: ['agents:read'] } });
  const { key, secret } = made.json as unknown as Made;
  const ended = new Promise<void>((resolve, reject) => {
    get(
      {
        host: '127.0.0.1',
        port: pair.webPort,
        path: '/api/factory/events',
        headers: { authorization: `Bearer ${secret}` },
      },
      (response) => {
        response.once('data', () => {
          pair.callWeb('DELETE', `/api/v1/keys/${key.id}`).catch(reject);
        });
        response.on('error', () => resolve());
        response.on('close', () => resolve());
      },
    ).on('error', reject);
  });
  await ended;
});

test('a stream that a key opened ends when the key does', async () => {
  const clock = movableClock();
  const pair = await startPair({
    clock,
    routes: [{ route: factoryEventStream, handler: (_context, sink) => sink?.open() }],
  });
  const body = { name: 'short', scopes: ['agents:read'], expiresInDays: 1 };
  const { secret } = (await pair.callWeb('POST', '/api/v1/keys', { body })).json as unknown as Made;
  clock.move(day - 3000);
  const stream = await fetch(`http://127.0.0.1:${pair.webPort}/api/factory/events`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  expect(stream.status).toBe(200);
  await expect(stream.text()).rejects.toThrow();
});

test('a key may name its tools, of which the list speaks; a name that covers others by chance is refused', async () => {
  const { call, withKey } = places.embedded!;
  const tools = { names: ['time.*', 'request_approval'], search: true };
  const body = { name: 'narrow', scopes: ['bots:act'], tools, resource: '/mcp/server' };
  const { key, secret } = (await call('POST', '/api/v1/keys', { body })).json as unknown as Made;
  const { keys } = (await call('GET', '/api/v1/keys')).json as unknown as { keys: { id: string }[] };
  expect(keys.find(({ id }) => id === key.id)).toMatchObject({ tools, resource: '/mcp/server' });
  expect((await withKey('GET', '/api/v1/tools', { token: secret })).status).toBe(401);
  for (const names of [['a*b'], [''], []]) {
    const wrong = await call('POST', '/api/v1/keys', { body: { ...body, tools: { names } } });
    expect([names, wrong.status]).toEqual([names, 400]);
  }
});
