/**
 * Every example of docs/api and docs/openapi.json, sent as it stands to a Gantry as `gantry start --demo-phone` runs it: the curl line and the client's call. The
 * ids in the examples stand for things that are made here first. What no such Gantry can do is refused as the page says.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientCallOf, curlOf, exampleOf, refusalOf, refusedOps, tokenOf } from '../../scripts/api-examples.ts';
import { createClient } from '../../src/client/client.ts';
import type { Route } from '../../src/contracts/common/route.ts';
import { serverTables } from '../../src/contracts/servers.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import { startWorld, type World } from './api-world.ts';
import { shellWords } from './shell-words.ts';

type Place = 'cloud' | 'engine' | 'peer' | 'cluster';
interface Case {
  readonly op: string;
  readonly place: Place;
  readonly route: Route;
}

/** Each once, at the first server that has it; what ends things comes last, so that the others still find them. */
const cases: Case[] = serverTables
  .flatMap(({ name: place, routes }) => routes.map((route): Case => ({ op: route.op, place, route })))
  .filter(({ route }, index, all) => all.findIndex((one) => one.route === route) === index);
const sent = [...cases.filter(({ place }) => place === 'cloud' || place === 'engine')].sort(
  (a, b) => lateness(a.route) - lateness(b.route),
);
function lateness({ method, path }: Route): number {
  // What lies deeper ends before what it lies in.
  return method === 'DELETE' ? 100 - path.replace(/^\/api\/v1/, '').split('/').length : 0;
}

function filled(text: string, { ids }: World): string {
  let words = text;
  for (const [example, id] of ids) words = words.replaceAll(example, id);
  return words;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends what a shell would give curl. A stream is read up to its head. */
async function curl(line: string, values: World['values'], isStream: boolean): Promise<Answer> {
  const [program, ...words] = shellWords(line, values);
  expect(program).toBe('curl');
  let [method, url, body] = ['GET', '', null as BodyInit | null];
  const headers: Record<string, string> = {};
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const value = () => words.shift() ?? '';
    if (word === '-X') method = value();
    else if (word === '-H') {
      const [, name = '', text = ''] = /^(.*?): (.*)$/.exec(value()) ?? [];
      headers[name] = text;
    } else if (word === '-d') body = value();
    else if (word === '--data-urlencode') {
      const [name = '', text = ''] = value().split('=', 2);
      body = body instanceof URLSearchParams ? body : new URLSearchParams();
      body.append(name, text);
    } else if (word === '-F') {
      const [name = '', text = ''] = value().split('=', 2);
      body = body instanceof FormData ? body : new FormData();
      if (text.startsWith('@')) body.append(name, new Blob(['It works.']), text.slice(1));
      else body.append(name, text);
    } else if (word !== '-N') url = word;
  }
  return answered(await fetch(url, { method, headers, body, redirect: 'manual' }), isStream);
}

async function answered(response: Response, isStream: boolean): Promise<Answer> {
  if (!isStream || !response.ok) return { status: response.status, text: await response.text() };
  await response.body?.cancel();
  return { status: response.status, text: '' };
}

/** Runs the line of TypeScript; what it answers is what the server said first. */
async function callClient(code: string, { values }: World, { route, place }: Case): Promise<Answer> {
  let first: Answer | undefined;
  const seen = async (input: string, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, { ...init, redirect: 'manual' });
    first ??= {
      status: response.status,
      text: route.kind === 'sse' && response.ok ? '' : await response.clone().text(),
    };
    return response;
  };
  const base = place === 'engine' ? values.GANTRY_ENGINE_URL : values.GANTRY_URL;
  const token = values[tokenOf(route) ?? ''];
  const gantry = createClient([route], { baseUrl: base as string, token, fetch: seen });
  const names = ['gantry', 'fetch', 'console', ...Object.keys(values)];
  const told = { log: () => {} };
  const body = route.kind === 'sse' && !code.startsWith('await') ? `return ${code}` : code;
  const running = new Function(...names, `return (async () => { ${body} })()`)(
    gantry,
    seen,
    told,
    ...Object.values(values),
  );
  const stream = (await (running as Promise<{ close?(): void } | undefined>).catch((error: Error) => {
    if (first === undefined || first.status < 400) throw error;
  })) as { close?(): void } | undefined;
  await expect.poll(() => first).toBeDefined();
  stream?.close?.();
  return first as Answer;
}

describe.each(['curl', 'client'] as const)('%s', (by) => {
  let world: World;
  const stop = keepUntilEnd();
  beforeAll(async () => {
    world = await startWorld();
  }, 60_000);
  afterAll(stop);

  test.each(sent)('$op', async (one) => {
    const { route, place } = one;
    const { status, text } =
      by === 'curl'
        ? await curl(filled(curlOf(route, place), world), world.values, route.kind === 'sse')
        : await callClient(filled(clientCallOf(route, place), world), world, one);
    const refusal = refusalOf(route);
    // Control that something else has lapses within a minute.
    const isFree = refusal?.status === 423 && status === 200;
    if (refusal !== null && !isFree)
      expect([status, text]).toEqual([
        refusal.status,
        expect.not.stringMatching(/Nothing is served at|is not served at/),
      ]);
    else expect(status, text).toBeLessThan(400);
    if (route.kind !== 'raw' && status < 400) expect(Object.keys(route.answers)).toContain(String(status));
  });
});

test('the examples of what computers ask each other, and a cluster its cloud, fit their routes', () => {
  for (const { route } of cases.filter(({ place }) => place === 'peer' || place === 'cluster'))
    expect(() => exampleOf(route)).not.toThrow();
});

test('what is said to be needed is said of operations that are there', () => {
  const ops = new Set(cases.map(({ op }) => op));
  expect(refusedOps.filter((op) => !ops.has(op))).toEqual([]);
});
