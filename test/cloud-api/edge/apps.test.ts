/** Apps at the edge as they are kept, on both engines: by whom, since when, with what. */
import { describe, expect, test } from 'vitest';
import { type AppKey, clientIdOf, createApps } from '../../../src/cloud-api/edge/apps.ts';
import { edgeAppMigrations } from '../../../src/cloud-api/edge/apps-migrations.ts';
import type { Scope } from '../../../src/contracts/common/route.ts';
import type { Principal } from '../../../src/kit/http/types.ts';
import { engines } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';

const withKey = (keyId: string, userId = 'ada', scopes: Scope[] = ['agents:read']): Principal => {
  return { kind: 'key', userId, scopes: new Set(scopes), via: 'key', keyId };
};
const withToken = (client: string, scopes: Scope[]): Principal => {
  return { kind: 'user', userId: 'ada', scopes: new Set(scopes), via: 'oidc', client };
};

test('an app is named by its key or its client id; no client of a provider passes for a key, and no person for an app', () => {
  expect(clientIdOf(withKey('key_1'))).toBe('key:key_1');
  expect(clientIdOf(withToken('oidc:https%3A%2F%2Fapp.example%2Fid.json', []))).toBe('https://app.example/id.json');
  expect(clientIdOf(withToken('oidc:key%3Akey_1', []))).toBe('oidc:key:key_1');
  expect(clientIdOf(withToken('oidc:%E0%A4%A', []))).toBe('%E0%A4%A');
  const person: Principal = { kind: 'user', userId: 'ada', scopes: new Set(), via: 'cookie' };
  expect([clientIdOf(person), clientIdOf({ ...person, kind: 'owner', via: 'file-token' })]).toEqual([null, null]);
  expect(clientIdOf({ ...person, via: 'home:cli', client: 'cli' })).toBeNull();
});

describe.each(engines)('apps on $name', ({ place }) => {
  test('each is kept once, from its first use, with the scopes that it has by now, for its person alone', async () => {
    const clock = createTestClock();
    const store = await (await place()).open(edgeAppMigrations, clock);
    const keys = new Map<string, AppKey>([['key_1', { name: 'Dashboard', scopes: ['agents:read'], lives: true }]]);
    const open = () => createApps({ store, clock, keyOf: async (id) => keys.get(id) ?? null });
    const apps = open();
    const first = new Date(clock.now()).toISOString();
    await Promise.all([apps.admit(withKey('key_1')), open().admit(withKey('key_1'))]);
    await clock.advance(1000);
    await apps.admit(withToken('oidc:tool', ['bots:act']));
    await apps.admit(withToken('oidc:tool', ['bots:act', 'agents:read']));
    // Another process, which has not seen it.
    await open().admit(withKey('key_1'));
    await apps.admit(withKey('key_2', 'bob'));
    expect(await apps.list('ada')).toEqual([
      {
        clientId: 'tool',
        clientName: 'tool',
        approvedAt: new Date(clock.now()).toISOString(),
        scopes: ['agents:read', 'bots:act'],
        lives: true,
      },
      { clientId: 'key:key_1', clientName: 'Dashboard', approvedAt: first, scopes: ['agents:read'], lives: true },
    ]);
    keys.set('key_1', { ...keys.get('key_1')!, lives: false });
    expect((await apps.list('ada')).map(({ lives }) => lives)).toEqual([true, false]);
    expect((await apps.list('bob')).map(({ clientId }) => clientId)).toEqual(['key:key_2']);
  });

  test('one whose row cannot be written is not let in unseen', async () => {
    const clock = createTestClock();
    const store = await (await place()).open(edgeAppMigrations, clock);
    const apps = createApps({ store, clock, keyOf: async () => null });
    await store.close();
    await expect(apps.admit(withKey('key_1'))).rejects.toThrow();
  });
});
