import { expect, test } from 'vitest';
import { subscriptionId } from '../../../../src/runtime-server/connectors/subscriptions/subscribing.ts';

const url = 'https://tracker.example/mcp';
const json = (text: string) => JSON.parse(text) as Record<string, unknown>;

/** Made once with sha256sum over the canonical text: `["user_local","https://tracker.example/mcp","issue.opened",{…}]`. */
const vectors: [string, string][] = [
  ['{}', 'sub_73d50fd476177faccf4dab2b'],
  ['{"project":"gantry"}', 'sub_964d63ad4084cb8a59a25db4'],
  ['{"b":[1,{"y":null,"x":"ü"}],"a":1.5}', 'sub_c15162d83a35474d69885905'],
];

test.each(vectors)('the arguments %s make the id %s', (given, id) => {
  expect(subscriptionId('user_local', url, 'issue.opened', json(given))).toBe(id);
});

test('neither the order of keys nor the way that a number is written makes another id', () => {
  const id = (text: string) => subscriptionId('user_local', url, 'issue.opened', json(text));
  expect(id('{"a":{"x":1,"y":2},"b":100}')).toBe(id('{"b":1.0e2,"a":{"y":2.0,"x":1}}'));
  expect(id('{"a":-0}')).toBe(id('{"a":0}'));
  expect(id('{"a":[1,2]}')).not.toBe(id('{"a":[2,1]}'));
  expect(id('{"a":"1"}')).not.toBe(id('{"a":1}'));
  expect(id('{"a":null}')).not.toBe(id('{}'));
});

test('another owner, address or event is another subscription', () => {
  const of = (user: string, at: string, name: string) => subscriptionId(user, at, name, {});
  const ids = [
    of('u', url, 'e'),
    of('v', url, 'e'),
    of('u', `${url}/`, 'e'),
    of('u', url, 'f'),
    of('u', `${url}e`, ''),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^sub_[0-9a-f]{24}$/);
});
