/** An event that a sender brings again is known by the sender's own mark, and what it posts is read as what it is. */
import { describe, expect, test } from 'vitest';
import { readPosted } from '../../src/cloud-api/triggers/posted.ts';

const read = (headers: Record<string, string>, body: string) => readPosted(headers, Buffer.from(body));
const form = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };

describe('marks', () => {
  test.each([
    ['Standard Webhooks', { 'webhook-id': 'msg_1' }, '{}', 'msg_1'],
    ['a sender with Idempotency-Key', { 'idempotency-key': 'k1' }, '{}', 'k1'],
    ['GitHub', { 'x-github-delivery': '72d3162e' }, '{}', 'github 72d3162e'],
    ['Stripe', { 'stripe-signature': 't=1,v1=ab' }, '{"id":"evt_1","object":"event"}', 'stripe evt_1'],
    ['Slack', { 'x-slack-signature': 'v0=ab', 'x-slack-retry-num': '1' }, '{"event_id":"Ev1"}', 'slack Ev1'],
  ] as const)('%s', (_, headers, body, mark) => {
    expect(read(headers, body).mark).toBe(mark);
  });

  test('of GitLab go with the words: one event may cause another under its mark', () => {
    const headers = { 'x-gitlab-event-uuid': 'u1' };
    const first = read(headers, '{"object_kind":"push"}').mark;
    expect(read(headers, '{"object_kind":"push"}').mark).toBe(first);
    expect(read(headers, '{"object_kind":"pipeline"}').mark).not.toBe(first);
  });

  test('of fields that only look alike are none: without its sender’s signature an id is data', () => {
    expect(read({}, '{"id":"evt_1","event_id":"Ev1"}').mark).toBeNull();
    expect(read({ 'stripe-signature': 't=1' }, '{"id":7}').mark).toBeNull();
    expect(read({ 'x-github-delivery': '' }, 'null').mark).toBeNull();
  });
});

test('Slack’s question whether the address is there is answered, and only Slack’s', () => {
  const body = '{"type":"url_verification","challenge":"c1"}';
  expect(read({ 'x-slack-signature': 'v0=ab' }, body).challenge).toBe('c1');
  expect(read({}, body).challenge).toBeNull();
  expect(read({ 'x-slack-signature': 'v0=ab' }, '{"type":"event_callback","challenge":"c1"}').challenge).toBeNull();
});

describe('what is posted', () => {
  test.each([
    [{}, '{"a":1}', { a: 1 }],
    [{}, '[1]', [1]],
    [{}, 'null', null],
    [{}, 'false', false],
    [{}, 'plain', { text: 'plain' }],
    [form, 'a=1&b=x+y&a=2', { a: ['1', '2'], b: 'x y' }],
    [form, 'payload=%7B%22zen%22%3A%22Design%22%7D', { zen: 'Design' }],
    [form, 'payload=not+json', { payload: 'not json' }],
    [form, 'payload=%7B%7D&token=t', { payload: '{}', token: 't' }],
    [form, '', {}],
    [form, '__proto__=1', JSON.parse('{"__proto__":"1"}')],
  ] as const)('%j %s', (headers, body, data) => {
    expect(read(headers, body).data).toEqual(data);
  });
});
