/**
 * `http.get` and `http.post` under the guard: every form of an address that is not on the public internet is refused without
 * asking a person, unless a rule names its host; redirects are checked like the first request.
 */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import type { Lookup } from '../../../src/kit/egress/lookup.ts';
import { decide } from '../../../src/runtime-server/policy/decide.ts';
import { readPolicy } from '../../../src/runtime-server/policy/file.ts';
import { createToolServer, type ToolServer } from '../../../src/runtime-server/tool-server/index.ts';

let port: number;
let reached: { url: string; method: string; headers: IncomingMessage['headers']; body: string }[] = [];
let answer: RequestListener = (_request, response) => response.end('inside');
let rules = '';
/** What each name leads to; each entry is one lookup, the last one stays. */
let names: Record<string, string[][]> = {};
const looked: string[] = [];
let tools: ToolServer;

const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  reached.push({ url: request.url ?? '', method: request.method ?? '', headers: request.headers, body });
  answer(request, response);
});

const lookup: Lookup = (name, _options, done) => {
  looked.push(name);
  const turns = names[name.replace(/\.$/, '')];
  if (turns === undefined) {
    done(Object.assign(new Error(`no such name ${name}`), { code: 'ENOTFOUND' }), []);
    return;
  }
  const found = (turns.length > 1 ? turns.shift() : turns[0]) ?? [];
  done(
    null,
    found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  );
};

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
  tools = createToolServer({
    policy: {
      decide(action, mode) {
        const read = readPolicy(rules === '' ? 'rules: []' : rules);
        if (!read.ok) throw new Error(JSON.stringify(read.problems));
        return decide({ rules: read.rules, broken: null }, action, mode);
      },
    },
    approvals: { ask: () => expect.unreachable(), withdraw: () => expect.unreachable() },
    clock: systemClock,
    timers: systemTimers,
    env: {},
    freshName: () => 'x',
    hidden: [],
    log: { error: () => {} },
    converter: null,
    lookup,
  });
});
afterAll(async () => {
  await tools.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  [reached, rules, names] = [[], '', {}];
  looked.length = 0;
  answer = (_request, response) => response.end('inside');
});

interface Got {
  readonly status: number;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly encoding: string;
  readonly truncated: boolean;
}

function call(name: string, input: object) {
  return tools.registry().call(name, input, {
    bot: null,
    client: 'user_local/cli',
    actor: 'user_local',
    surface: 'cli',
    mode: null,
    root: '/',
    checkout: '/',
    workspace: '/',
    env: {},
    signal: new AbortController().signal,
    patienceMs: 1000,
  });
}
const get = (url: string, more: object = {}) => call('http.get', { url, ...more });
const got = async (url: string, more: object = {}) => {
  const outcome = await get(url, more);
  expect([outcome.isError, outcome.text]).toEqual([false, outcome.text]);
  return outcome.structured as Got;
};
const allowed = (host: string) => {
  rules = `rules:\n  - when: {tool: http, host: "${host}"}\n    then: allow\n`;
};

/** As they are written; the server above listens behind every one that means 127.0.0.1. */
const forms: readonly [what: string, host: string][] = [
  ['loopback', '127.0.0.1'],
  ['another loopback', '127.9.9.9'],
  ['decimal', '2130706433'],
  ['octal', '0177.0.0.1'],
  ['hex', '0x7f000001'],
  ['hex by parts', '0x7f.1'],
  ['short', '127.1'],
  ['zero', '0'],
  ['full-width digits', '１２７.0.0.1'],
  ['full-width dots', '127。0。0。1'],
  ['circled digits', '①②⑦.⓪.⓪.①'],
  ['unspecified', '0.0.0.0'],
  ['unspecified v6', '[::]'],
  ['loopback v6', '[::1]'],
  ['mapped, dotted', '[::ffff:127.0.0.1]'],
  ['mapped, hex', '[::ffff:7f00:1]'],
  ['compatible', '[::127.0.0.1]'],
  ['NAT64', '[64:ff9b::7f00:1]'],
  ['6to4', '[2002:7f00:1::]'],
  ['Teredo', '[2001:0:7f00:1::]'],
  ['private', '10.1.2.3'],
  ['private, 172', '172.16.0.1'],
  ['private, 192', '192.168.1.1'],
  ['shared', '100.64.0.1'],
  ['metadata', '169.254.169.254'],
  ['metadata v6', '[fd00:ec2::254]'],
  ['link-local v6', '[fe80::1]'],
  ['unique local', '[fc00::1]'],
  ['a name', 'localhost'],
  ['a name with a dot', 'localhost.'],
  ['a name below it', 'app.localhost'],
];

describe('nobody is asked at', () => {
  test.each(forms)('%s: %s', async (_what, host) => {
    names = { localhost: [['127.0.0.1']], 'app.localhost': [['127.0.0.1']] };
    for (const name of ['http.get', 'http.post']) {
      const outcome = await call(name, { url: `http://${host}:${port}/secret` });
      expect([outcome.isError, outcome.acted]).toEqual([true, false]);
      expect(outcome.text).toContain('is not a public address');
    }
    expect(reached).toEqual([]);
  });

  test.each([
    ['private', [['10.0.0.1']]],
    ['loopback', [['127.0.0.1']]],
    ['one public, one private', [['93.184.216.34', '127.0.0.1']]],
    ['mapped', [['::ffff:127.0.0.1']]],
    ['nothing', [[]]],
    ['first public, then private: it is rebound', [['93.184.216.34'], ['127.0.0.1']]],
  ])('a name that leads to %s', async (_what, turns) => {
    names = { 'evil.example': turns.map((turn) => [...turn]) };
    const outcome = await get(`http://evil.example:${port}/`);
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toMatch(/not a public address/);
    expect(reached).toEqual([]);
  });

  test('the engine’s own doors', async () => {
    const outcome = await get('http://127.0.0.1:3011/api/factory/health');
    expect(outcome).toMatchObject({ isError: true, acted: false });
    expect(outcome.text).toContain('Not allowed: 127.0.0.1:3011 is not a public address');
  });
});

test('an address with a credential, and one that is not of the web, is refused before anybody is asked', async () => {
  for (const url of [
    'http://user:pass@example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'gopher://x/',
    'nothing',
  ]) {
    const outcome = await get(url);
    expect([url, outcome.isError, outcome.verdict]).toEqual([url, true, null]);
  }
  expect(looked).toEqual([]);
});

test('a rule that names the host opens it, one about everything does not, and one about another port neither', async () => {
  allowed('*');
  expect((await get(`http://127.0.0.1:${port}/`)).isError).toBe(true);
  allowed('127.0.0.1:1');
  expect((await get(`http://127.0.0.1:${port}/`)).isError).toBe(true);
  allowed(`127.0.0.1:${port}`);
  expect(await got(`http://127.0.0.1:${port}/a?b`)).toMatchObject({ status: 200, body: 'inside', encoding: 'utf8' });
  names = { 'wiki.corp': [['127.0.0.1']] };
  expect((await get(`http://wiki.corp:${port}/`)).text).toContain('wiki.corp');
  allowed('*.corp');
  expect((await got(`http://wiki.corp:${port}/`)).body).toBe('inside');
  expect(reached).toHaveLength(2);
});

test('no name is looked up before anybody has said yes: that alone tells its owner something', async () => {
  rules = 'rules:\n  - when: {tool: http}\n    then: deny\n';
  expect((await get('http://c2VjcmV0.evil.example/')).isError).toBe(true);
  expect(looked).toEqual([]);
});

describe('a redirect', () => {
  const start = () => `http://start.corp:${port}`;
  const to = (location: string, status = 302) => {
    answer = (request, response) => {
      if (request.url === '/end') response.end('the end');
      else response.writeHead(status, { location }).end();
    };
  };
  beforeEach(() => {
    names = { 'start.corp': [['127.0.0.1']], 'other.corp': [['127.0.0.1']] };
    allowed('start.corp');
  });

  test('on the same host is followed, whichever way it is written', async () => {
    for (const location of ['/end', `//start.corp:${port}/end`, `${start()}/end`]) {
      to(location);
      expect(await got(`${start()}/begin`)).toMatchObject({ status: 200, url: `${start()}/end`, body: 'the end' });
    }
  });

  test.each([
    'http://127.0.0.1/',
    'http://localhost/',
    'http://[::1]/',
    'http://169.254.169.254/latest',
    'http://0x7f.1/',
  ])('to %s is refused', async (location) => {
    to(location);
    const outcome = await get(`${start()}/begin`);
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toContain('is not a public address');
    expect(reached).toHaveLength(1);
  });

  test.each(['file:///etc/passwd', 'ftp://start.corp/', 'javascript:alert(1)', 'http://['])(
    'to %s is refused',
    async (location) => {
      to(location);
      expect((await get(`${start()}/begin`)).text).toContain('is not a web address');
    },
  );

  test('to a name that leads inside is refused', async () => {
    to(`http://other.corp:${port}/end`);
    expect((await get(`${start()}/begin`)).text).toContain('other.corp');
    expect(reached.map(({ url }) => url)).toEqual(['/begin']);
  });

  test('elsewhere drops what may be a credential; on its own origin it keeps it', async () => {
    rules = 'rules:\n  - when: {tool: http, host: "*.corp"}\n    then: allow\n';
    const headers = { authorization: 'Bearer x', cookie: 'a=b', 'X-Api-Key': 'k', accept: 'text/plain' };
    to(`http://other.corp:${port}/end`);
    await got(`${start()}/begin`, { headers });
    expect(reached[0]?.headers).toMatchObject({ authorization: 'Bearer x', cookie: 'a=b', 'x-api-key': 'k' });
    expect(reached[1]?.headers).toMatchObject({ accept: 'text/plain', host: `other.corp:${port}` });
    for (const name of ['authorization', 'cookie', 'x-api-key']) expect(reached[1]?.headers).not.toHaveProperty(name);
    reached = [];
    to('/end');
    await got(`${start()}/begin`, { headers });
    expect(reached[1]?.headers).toMatchObject({ authorization: 'Bearer x', 'x-api-key': 'k' });
  });

  test('to a host that would be asked about is the answer itself', async () => {
    rules =
      'rules:\n  - when: {tool: http, host: start.corp}\n    then: allow\n  - when: {tool: http, host: other.corp}\n    then: ask\n';
    to(`http://other.corp:${port}/end`);
    const found = await got(`${start()}/begin`);
    expect(found).toMatchObject({ status: 302, url: `${start()}/begin` });
    expect(found.headers.location).toBe(`http://other.corp:${port}/end`);
    expect(reached).toHaveLength(1);
  });

  test('follows three times and no more', async () => {
    let left = 3;
    answer = (_request, response) => {
      left -= 1;
      if (left < 0) response.end('the end');
      else response.writeHead(307, { location: `/${left}` }).end();
    };
    expect((await got(`${start()}/begin`)).body).toBe('the end');
    left = 4;
    expect((await get(`${start()}/begin`)).text).toContain('redirects more than 3 times');
  });

  test('takes of the one time that the whole call has', async () => {
    let left = 3;
    answer = (_request, response) => {
      left -= 1;
      const end =
        left < 0 ? () => response.end('the end') : () => response.writeHead(307, { location: `/${left}` }).end();
      setTimeout(end, 400);
    };
    const outcome = await get(`${start()}/begin`, { timeoutMs: 1000 });
    expect(outcome.isError).toBe(true);
    expect(outcome.text).toMatch(/did not answer (?:in time|within)/);
  });

  test('of a POST becomes a GET without its body, unless it says that it stays one', async () => {
    rules = 'rules:\n  - when: {tool: http, host: start.corp}\n    then: allow\n';
    const post = { url: `${start()}/begin`, body: 'given', headers: { 'content-type': 'text/plain' } };
    for (const [status, method, body] of [
      [303, 'GET', ''],
      [302, 'GET', ''],
      [307, 'POST', 'given'],
    ] as const) {
      reached = [];
      to('/end', status);
      expect((await call('http.post', post)).isError).toBe(false);
      expect(reached[1]).toMatchObject({ method, body });
    }
  });
});

describe('an answer', () => {
  const here = () => `http://here.corp:${port}/`;
  beforeEach(() => {
    names = { 'here.corp': [['127.0.0.1']] };
    allowed('here.corp');
  });

  test('that is long is cut, one that is late fails, and one that is no text comes as base64', async () => {
    answer = (_request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('ä'.repeat(5000));
    expect(await got(here(), { maxBytes: 101 })).toMatchObject({
      truncated: true,
      encoding: 'utf8',
      body: 'ä'.repeat(50),
    });
    answer = () => {};
    expect((await get(here(), { timeoutMs: 200 })).text).toMatch(/did not answer within (?:1\d\d|200) ms/);
    answer = (_request, response) => response.end(Buffer.from([0xff, 0xfe, 0, 1]));
    expect(await got(here())).toMatchObject({ encoding: 'base64', body: '//4AAQ==' });
    answer = (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/plain; charset=iso-8859-1' }).end(Buffer.from([0xe4]));
    expect((await got(here())).body).toBe('ä');
  });

  test('with an error status is an answer', async () => {
    answer = (_request, response) => response.writeHead(404).end('no');
    expect(await got(here())).toMatchObject({ status: 404, body: 'no' });
  });

  test('headers that belong to the connection are not the caller’s to set', async () => {
    for (const name of ['Host', 'content-length', 'Transfer-Encoding', 'connection', 'Proxy-Authorization']) {
      expect((await get(here(), { headers: { [name]: 'x' } })).text).toContain('The connection sets the header');
    }
    expect((await get(here(), { headers: { 'x-a': 'b\r\nx-c: d' } })).text).toContain('does not take this');
    expect(reached).toEqual([]);
  });
});
