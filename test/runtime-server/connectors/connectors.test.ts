/** Connectors as a person has them: what is added, shown, changed and removed, and how one signs in and out. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { onEnd } from '../../kit/http/support.ts';
import { serveHttp } from '../../support/attached/http.ts';
import { type IssueTracker, startIssueTracker } from '../../support/issue-tracker/tracker.ts';
import { openConnectors } from './support.ts';

let tracker: IssueTracker;
beforeAll(async () => {
  tracker = await startIssueTracker({ apiKeys: { 'key-of-ann': 'ann' } });
});
afterAll(() => tracker.close());
afterEach(() => tracker.faults.behave());

describe('a connector', () => {
  test('is added with a key, which is sent and never shown; both mounts say the same', async () => {
    const one = await openConnectors();
    const made = await one.connect('tracker', tracker.url, { type: 'api_key', key: 'key-of-ann' });
    expect(made).toMatchObject({
      name: 'tracker',
      url: tracker.url,
      auth: { type: 'api_key', key: '•••' },
      subscriptionCount: 0,
    });
    await one.until(made.id, 'connected');
    one.counts.set(made.id, 3);
    const shown = await one.read(made.id);
    expect(shown).toMatchObject({ toolCount: 4, subscriptionCount: 3, error: null, authorizeUrl: null });
    expect((await one.call('GET', `/mcp/connectors/${made.id}`)).json).toEqual(shown);
    const list = await one.call('GET', '/mcp/connectors');
    expect(list.json).toEqual({ connectors: [shown] });
    expect(list.text).not.toContain('key-of-ann');
    expect((await one.call('GET', `${one.base}/${made.id}/oauth`)).json).toEqual({
      status: 'not_asked',
      authorizeUrl: null,
      issuer: null,
      scopes: [],
      expiresAt: null,
    });
  });

  test('sends its key in the header that is named, and one that names its scheme as it is', async () => {
    const server = await serveHttp();
    onEnd(() => server.close());
    const one = await openConnectors();
    const sent = async (name: string, auth: object) => {
      const { id, auth: shown } = await one.connect(name, server.url, auth);
      await one.until(id, 'connected');
      const last = server.requests.at(-1)?.headers;
      return [last?.authorization ?? null, last?.['x-api-key'] ?? null, shown];
    };
    expect(await sent('plain', { type: 'api_key', key: 'abc' })).toEqual([
      'Bearer abc',
      null,
      { type: 'api_key', key: '•••' },
    ]);
    expect(await sent('basic', { type: 'api_key', key: 'Basic YTpi' })).toEqual([
      'Basic YTpi',
      null,
      { type: 'api_key', key: '•••' },
    ]);
    expect(await sent('own', { type: 'api_key', key: 'abc', header: 'X-Api-Key' })).toEqual([
      null,
      'abc',
      { type: 'api_key', key: '•••', header: 'X-Api-Key' },
    ]);
  });

  test('is changed by what is named alone, keeps its key under the same address, and loses it under another', async () => {
    const one = await openConnectors();
    const { id } = await one.connect('tracker', tracker.url, { type: 'api_key', key: 'key-of-ann' });
    const change = (body: object) => one.call('PATCH', `${one.base}/${id}`, { body });
    expect((await change({ name: 'issues' })).json).toMatchObject({ name: 'issues', auth: { type: 'api_key' } });
    expect((await change({ auth: { type: 'api_key', key: '•••' } })).status).toBe(200);
    await one.until(id, 'connected');
    const away = await change({ url: 'http://127.0.0.1:9/mcp' });
    expect([away.status, away.json]).toMatchObject([400, { error: 'bad_request' }]);
    expect((await change({ auth: { type: 'none' } })).json).toMatchObject({ auth: { type: 'none' } });
    await one.until(id, 'needs_reauth');
    expect((await change({ url: 'http://127.0.0.1:9/mcp' })).json).toMatchObject({ url: 'http://127.0.0.1:9/mcp' });
  });

  test('that there is not, that is a program, or that was removed is 404 connector_not_found on every route', async () => {
    const one = await openConnectors();
    const program = await one.attachProgram();
    const removed = await one.connect('gone', tracker.url);
    expect((await one.call('DELETE', `${one.base}/${removed.id}`)).status).toBe(204);
    for (const id of ['server_nobody', program, removed.id, 'constructor']) {
      for (const [method, rest, body] of [
        ['GET', ''],
        ['PATCH', '', {}],
        ['DELETE', ''],
        ['GET', '/oauth'],
        ['POST', '/oauth'],
        ['DELETE', '/oauth'],
      ] as const) {
        const { status, json } = await one.call(method, `${one.base}/${id}${rest}`, body === undefined ? {} : { body });
        expect([id, method, rest, status, json.error]).toEqual([id, method, rest, 404, 'connector_not_found']);
      }
    }
    expect((await one.call('GET', one.base)).json).toEqual({ connectors: [] });
  });

  test('that cannot be is refused with what is wrong, and nothing is kept of it', async () => {
    const one = await openConnectors();
    await one.connect('tracker', tracker.url);
    const key = { type: 'api_key', key: 'k' };
    const refused: [string, object, number, string][] = [
      ['a name twice', { name: 'tracker', url: tracker.url }, 409, 'name_taken'],
      ['no address', { name: 'a', url: 'not an address' }, 400, 'bad_request'],
      ['a file', { name: 'a', url: 'file:///etc/passwd' }, 400, 'bad_request'],
      ['a credential in the address', { name: 'a', url: 'https://me:secret@example.com/mcp' }, 400, 'bad_request'],
      ['an unknown field', { name: 'a', url: tracker.url, colour: 'red' }, 400, 'bad_request'],
      ['an unknown kind', { name: 'a', url: tracker.url, auth: { type: 'magic' } }, 400, 'bad_request'],
      [
        'a key that no header can carry',
        { name: 'a', url: tracker.url, auth: { ...key, key: 'a\nb' } },
        400,
        'bad_request',
      ],
      ['a header that is none', { name: 'a', url: tracker.url, auth: { ...key, header: 'a b' } }, 400, 'bad_request'],
      ['the name of native tools', { name: 'shell', url: tracker.url }, 400, 'bad_request'],
      ['a secret that nobody has', { name: 'a', url: tracker.url, auth: { ...key, key: '•••' } }, 400, 'bad_request'],
    ];
    for (const [name, body, status, error] of refused) {
      const answer = await one.call('POST', one.base, { body });
      expect([name, answer.status, answer.json.error]).toEqual([name, status, error]);
      expect(answer.text).not.toContain('secret@');
    }
    expect(((await one.call('GET', one.base)).json as unknown as { connectors: unknown[] }).connectors).toHaveLength(1);
  });
});

describe('the sign-in of a connector', () => {
  test('is begun by a server that asks for one, ends where the person says yes, and is told as it stands', async () => {
    const one = await openConnectors();
    const { id } = await one.connect('tracker', tracker.url);
    await one.until(id, 'needs_reauth');
    const asked = await one.read(id);
    const standing = async () => (await one.call('GET', `${one.base}/${id}/oauth`)).json;
    expect(await standing()).toMatchObject({ status: 'needs_reauth', authorizeUrl: asked.authorizeUrl, issuer: null });
    expect(asked.authorizeUrl).toContain(tracker.origin);
    await one.signIn(asked.authorizeUrl ?? '');
    await one.until(id, 'connected');
    expect(await standing()).toEqual({
      status: 'signed_in',
      authorizeUrl: null,
      issuer: tracker.origin,
      scopes: ['issues:read', 'issues:write'],
      expiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(one.told).toEqual([`lost ${id}`, `back ${id}`]);
  });

  test('can be begun anew while there is one, which holds until the new one is finished', async () => {
    const one = await openConnectors();
    const { id } = await one.connect('tracker', tracker.url, { type: 'oauth' });
    await one.until(id, 'needs_reauth');
    await one.signIn((await one.read(id)).authorizeUrl ?? '');
    await one.until(id, 'connected');
    const begun = await one.call('POST', `${one.base}/${id}/oauth`);
    expect([begun.status, begun.json]).toMatchObject([
      200,
      { status: 'needs_reauth', authorizeUrl: expect.any(String) },
    ]);
    expect((await one.read(id)).status).toBe('connected');
    const grants = tracker.oauth.grants().length;
    await one.signIn((begun.json as unknown as { authorizeUrl: string }).authorizeUrl, 'bob');
    expect(tracker.oauth.grants().slice(grants)).toMatchObject([{ user: 'bob' }]);
    await one.until(id, 'connected');
  });

  test('is refused for one with a key, and for a server where nobody can sign in', async () => {
    const one = await openConnectors();
    const keyed = await one.connect('keyed', tracker.url, { type: 'api_key', key: 'key-of-ann' });
    const answer = await one.call('POST', `${one.base}/${keyed.id}/oauth`);
    expect([answer.status, answer.json.error]).toEqual([409, 'sign_in_refused']);
    const server = await serveHttp();
    onEnd(() => server.close());
    const open = await one.connect('open', server.url);
    const none = await one.call('POST', `${one.base}/${open.id}/oauth`);
    expect([none.status, none.json.error]).toEqual([409, 'sign_in_refused']);
  });

  test('revoked here is given back at the provider, told as lost, and not called back before a person signs in', async () => {
    const one = await openConnectors();
    const { id } = await one.connect('tracker', tracker.url);
    await one.until(id, 'needs_reauth');
    await one.signIn((await one.read(id)).authorizeUrl ?? '');
    await one.until(id, 'connected');
    const before = tracker.requests.filter((line) => line === 'POST /oauth/revoke').length;
    expect((await one.call('DELETE', `${one.base}/${id}/oauth`)).status).toBe(204);
    expect(tracker.requests.filter((line) => line === 'POST /oauth/revoke').length - before).toBe(2);
    expect(tracker.oauth.grants().at(-1)).toMatchObject({ revoked: true });
    await one.until(id, 'needs_reauth');
    expect((await one.call('GET', `${one.base}/${id}/oauth`)).json).toMatchObject({
      status: 'needs_reauth',
      issuer: null,
    });
    expect(one.told).toEqual([`lost ${id}`, `back ${id}`, `lost ${id}`]);
    await one.signIn((await one.read(id)).authorizeUrl ?? '');
    await one.until(id, 'connected');
    expect(one.told.at(-1)).toBe(`back ${id}`);
    // Removed, it is given back as well.
    await one.call('DELETE', `${one.base}/${id}`);
    expect(tracker.oauth.grants().at(-1)).toMatchObject({ revoked: true });
    expect(one.told.at(-1)).toBe(`gone ${id} ${tracker.url}`);
    expect(one.warned).toEqual([]);
  });

  test('that its provider will not take back is forgotten here all the same, and the log says so', async () => {
    const one = await openConnectors();
    const { id } = await one.connect('tracker', tracker.url);
    await one.until(id, 'needs_reauth');
    await one.signIn((await one.read(id)).authorizeUrl ?? '');
    await one.until(id, 'connected');
    tracker.faults.answerWith('unavailable', { method: 'oauth/revoke', times: 2 });
    expect((await one.call('DELETE', `${one.base}/${id}/oauth`)).status).toBe(204);
    tracker.faults.behave();
    await one.until(id, 'needs_reauth');
    expect(one.warned).toEqual([expect.stringContaining('answered the revocation with 503')]);
  });

  test('revoked there is told as lost; the provider being away for a while is not', async () => {
    const one = await openConnectors();
    const { id } = await one.connect('tracker', tracker.url);
    await one.until(id, 'needs_reauth');
    await one.signIn((await one.read(id)).authorizeUrl ?? '');
    await one.until(id, 'connected');
    const list = () => one.servers.events(id, one.signal());
    expect(await list()).toHaveLength(3);

    // The token is over, and the provider is down: nothing is lost, it is tried again.
    one.later(60_000);
    tracker.faults.answerWith('unavailable', { method: 'oauth/token', times: 1000 });
    tracker.oauth.expireAccess();
    await expect(list()).rejects.toMatchObject({ reason: 'connector_unreachable' });
    expect(await one.read(id)).toMatchObject({
      status: 'error',
      error: expect.stringContaining('cannot be renewed now'),
      authorizeUrl: null,
    });
    expect(one.told).toEqual([`lost ${id}`, `back ${id}`]);
    tracker.faults.behave();
    await one.until(id, 'connected');
    expect(await list()).toHaveLength(3);

    tracker.revokeGrants();
    await expect(list()).rejects.toMatchObject({ reason: 'needs_reauth' });
    expect(one.told).toEqual([`lost ${id}`, `back ${id}`, `lost ${id}`]);
    expect((await one.read(id)).authorizeUrl).toContain('/oauth/authorize');
  }, 30_000);

  test('is kept where the key that was to take its place is refused', async () => {
    const one = await openConnectors();
    await one.connect('other', tracker.url);
    const { id } = await one.connect('tracker', tracker.url);
    await one.until(id, 'needs_reauth');
    await one.signIn((await one.read(id)).authorizeUrl ?? '');
    await one.until(id, 'connected');
    const auth = { type: 'api_key', key: 'key-of-ann' };
    expect((await one.call('PATCH', `${one.base}/${id}`, { body: { name: 'other', auth } })).status).toBe(409);
    expect((await one.call('GET', `${one.base}/${id}/oauth`)).json).toMatchObject({ status: 'signed_in' });
  });

  test('is forgotten when a key takes its place: the key alone is sent', async () => {
    const one = await openConnectors();
    const { id } = await one.connect('tracker', tracker.url);
    await one.until(id, 'needs_reauth');
    await one.signIn((await one.read(id)).authorizeUrl ?? '');
    await one.until(id, 'connected');
    await one.call('PATCH', `${one.base}/${id}`, { body: { auth: { type: 'api_key', key: 'wrong' } } });
    await one.until(id, 'needs_reauth');
    await one.call('PATCH', `${one.base}/${id}`, { body: { auth: { type: 'api_key', key: 'key-of-ann' } } });
    await one.until(id, 'connected');
    expect((await one.call('GET', `${one.base}/${id}/oauth`)).json).toMatchObject({ status: 'not_asked' });
  });
});

test('disabled, moved or removed, a connector is told as gone with the address that it had; a program never is', async () => {
  const one = await openConnectors();
  const { id } = await one.connect('tracker', tracker.url, { type: 'api_key', key: 'key-of-ann' });
  await one.until(id, 'connected');
  const change = (body: object) => one.call('PATCH', `${one.base}/${id}`, { body });
  await change({ enabled: false });
  expect(one.servers.find(id)).toEqual({ id, name: 'tracker', url: tracker.url, enabled: false });
  await change({ name: 'issues' });
  await change({ enabled: true });
  await one.until(id, 'connected');
  await change({ url: `${tracker.url}?other=1`, auth: { type: 'none' } });
  await one.call('DELETE', `${one.base}/${id}`);
  expect(one.servers.find(id)).toBeNull();
  const gone = one.told.filter((line) => line.startsWith('gone'));
  expect(gone).toEqual([`gone ${id} ${tracker.url}`, `gone ${id} ${tracker.url}`, `gone ${id} ${tracker.url}?other=1`]);
  const program = await one.attachProgram();
  await one.http('DELETE', `/mcp/servers/${program}`);
  expect(one.told.filter((line) => line.includes(program))).toEqual([]);
  expect(one.servers.find(program)).toBeNull();
});
