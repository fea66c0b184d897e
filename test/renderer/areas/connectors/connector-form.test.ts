import { expect, test } from 'vitest';
import { type Connector, CreateConnector } from '../../../../src/contracts/connectors/connector.ts';
import { bodyOf, changeOf, draftOf, problemsOf } from '../../../../src/renderer/areas/connectors/connector-form.ts';

const at = '2026-11-22T06:00:00.000Z';
const tracker: Connector = {
  id: 'srv_1',
  name: 'tracker',
  url: 'https://tracker.example.com/mcp',
  auth: { type: 'api_key', key: '•••', header: 'X-Key' },
  enabled: true,
  status: 'connected',
  error: null,
  authorizeUrl: null,
  toolCount: 0,
  subscriptionCount: 0,
  createdAt: at,
  updatedAt: at,
};
const typed = { ...draftOf(null), name: 'tracker', url: 'https://tracker.example.com/mcp' };

test('each way to be known is sent with its own settings, and with no other’s', () => {
  const all = { ...typed, key: 'abc', header: 'X-Key', clientId: 'me', clientSecret: 's', scopes: 'a  b,c' };
  expect(bodyOf({ ...all, auth: 'none' }).auth).toEqual({ type: 'none' });
  expect(bodyOf({ ...all, auth: 'api_key' }).auth).toEqual({ type: 'api_key', key: 'abc', header: 'X-Key' });
  expect(bodyOf({ ...all, auth: 'oauth' }).auth).toEqual({
    type: 'oauth',
    clientId: 'me',
    clientSecret: 's',
    scopes: ['a', 'b', 'c'],
  });
  expect(bodyOf(typed).auth).toEqual({ type: 'oauth' });
  for (const auth of ['none', 'api_key', 'oauth'] as const) {
    expect(CreateConnector.safeParse(bodyOf({ ...all, auth })).success).toBe(true);
  }
});

test('only what differs is sent of a change', () => {
  const draft = draftOf(tracker);
  expect(changeOf(draft, tracker)).toEqual({});
  expect(changeOf({ ...draft, name: ' issues ' }, tracker)).toEqual({ name: 'issues' });
  expect(changeOf({ ...draft, auth: 'none' }, tracker)).toEqual({ auth: { type: 'none' } });
  // The key that nobody typed anew stays what it is.
  expect(changeOf({ ...draft, header: '' }, tracker)).toEqual({ auth: { type: 'api_key', key: '•••' } });
});

test('a secret is typed again for another address, and nothing is wrong with the same one', () => {
  const draft = draftOf(tracker);
  expect(problemsOf(draft, tracker)).toEqual({});
  expect(problemsOf({ ...draft, url: 'https://other.example.com/mcp' }, tracker)).toEqual({
    key: 'Enter it again: the address has changed.',
  });
  expect(problemsOf({ ...draft, url: 'https://other.example.com/mcp', key: 'new' }, tracker)).toEqual({});
  const oauth: Connector = { ...tracker, auth: { type: 'oauth', clientId: 'me', clientSecret: '•••' } };
  expect(problemsOf({ ...draftOf(oauth), url: 'https://other.example.com/mcp' }, oauth)).toHaveProperty('clientSecret');
});

test('what is missing or cannot be is said at its field', () => {
  expect(problemsOf({ ...draftOf(null), auth: 'api_key' }, null)).toEqual({
    name: 'Required.',
    url: 'Required.',
    key: 'Required.',
  });
  expect(problemsOf({ ...typed, name: 'Big Name' }, null)).toHaveProperty('name');
  expect(problemsOf({ ...typed, name: 'file' }, null).name).toMatch(/reserved/);
  expect(problemsOf({ ...typed, url: 'ftp://tracker' }, null)).toHaveProperty('url');
  expect(problemsOf({ ...typed, auth: 'api_key', key: 'a', header: 'no header' }, null)).toHaveProperty('header');
  expect(problemsOf({ ...typed, url: `https://x.example.com/${'a'.repeat(3000)}` }, null)).toHaveProperty('url');
  expect(problemsOf({ ...typed, scopes: 'x '.repeat(60) }, null)).toHaveProperty('scopes');
});
