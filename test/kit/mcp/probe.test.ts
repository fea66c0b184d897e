import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mcpMeta } from '../../../src/contracts/tool-server/mcp.ts';
import { callBodyLimit } from '../../../src/contracts/tool-server/tools.ts';
import { createProfile, profileInfo } from '../../support/mcp/profile.ts';
import { type RawRequest, sendRaw } from '../../support/mcp/raw.ts';
import { schemaProblems } from '../../support/mcp/schema.ts';
import { type ServedProfile, serveMcp } from '../../support/mcp/serve-profile.ts';
import { type Probe, probes } from './probe-table.ts';

let lenient: ServedProfile;
let strict: ServedProfile;
beforeAll(async () => {
  lenient = await serveMcp(createProfile());
  strict = await serveMcp(createProfile(), { strictHeaders: true });
});
afterAll(async () => {
  await lenient.close();
  await strict.close();
});

interface Body {
  readonly id: unknown;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

const send = (probe: RawRequest & { strict?: true }) => sendRaw((probe.strict ? strict : lenient).port, probe);
const methodOf = (probe: Probe) => (JSON.parse(String(probe.body)) as { method: string }).method;

describe('every raw request is answered with its status and code', () => {
  test.each(probes.map((probe) => [probe.name, probe] as const))('%s', async (_, probe) => {
    const answer = await send(probe);
    expect(answer.status).toBe(probe.status);
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    if (probe.status === 202) {
      expect(answer.text).toBe('');
      return;
    }
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    if (probe.status === 405) expect(answer.headers.allow).toBe('POST');
    const body = JSON.parse(answer.text) as Body;
    expect({ code: body.error?.code, id: body.id }).toEqual({
      code: probe.code,
      id: probe.id === undefined ? 1 : probe.id,
    });
    expect(answer.text).not.toMatch(/a secret of the inside|\bat .*\.ts:/);
    if (probe.result !== undefined) expect(body.result).toMatchObject(probe.result);
    if (probe.data !== undefined) expect(body.error?.data).toEqual(probe.data);
    const version = probe.version ?? '2025-11-25';
    const method = body.error === undefined ? methodOf(probe) : '';
    expect(schemaProblems(version, method, body)).toEqual([]);
    if (body.result !== undefined) expectEra(version, method, body.result);
  });

  test('the table is no shorter than the one that the protocol’s servers were compared with', () => {
    expect(probes.length).toBeGreaterThanOrEqual(52);
    expect(new Set(probes.map(({ name }) => name)).size).toBe(probes.length);
  });
});

const kept = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

/** What one era has and the other must not. */
function expectEra(version: string, method: string, result: Readonly<Record<string, unknown>>): void {
  if (version !== '2026-07-28') {
    for (const name of ['resultType', '_meta', 'ttlMs', 'cacheScope']) expect(result).not.toHaveProperty(name);
    return;
  }
  expect(result).toMatchObject({ resultType: 'complete', _meta: { [mcpMeta.serverInfo]: profileInfo } });
  if (kept.has(method)) expect(result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
  else expect(result).not.toHaveProperty('ttlMs');
}

test('a body over the limit is refused, announced or not', async () => {
  const headers = { 'content-type': 'application/json' };
  const announced = await sendRaw(lenient.port, {
    headers: { ...headers, 'content-length': String(callBodyLimit + 1) },
  });
  expect([announced.status, (JSON.parse(announced.text) as Body).error?.code]).toEqual([413, -32602]);
  const chunked = await fetch(lenient.url, {
    method: 'POST',
    headers,
    body: new Blob([Buffer.alloc(callBodyLimit + 1, ' ')]).stream(),
    duplex: 'half',
  } as RequestInit);
  expect([chunked.status, ((await chunked.json()) as Body).error?.code]).toEqual([413, -32602]);
});

test('a call ends when the client goes away', async () => {
  let told: (reason: string) => void = () => {};
  const aborted = new Promise<string>((resolve) => {
    told = resolve;
  });
  let began: () => void = () => {};
  const running = new Promise<void>((resolve) => {
    began = resolve;
  });
  const server = await serveMcp(
    createProfile({
      more: {
        tools: {
          list: () => ({ items: [{ name: 'slow', inputSchema: { type: 'object' } }], revision: 'slow' }),
          call: (_, __, { signal }) =>
            new Promise((resolve) => {
              signal.addEventListener('abort', () => {
                told((signal.reason as Error).name);
                resolve({ content: [], isError: false });
              });
              began();
            }),
        },
      },
    }),
  );
  try {
    const leave = new AbortController();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'slow' } });
    const headers = { 'content-type': 'application/json' };
    const call = fetch(server.url, { method: 'POST', headers, body, signal: leave.signal }).catch(() => 'left');
    await running;
    leave.abort();
    expect(await call).toBe('left');
    expect(await aborted).toBe('AbortError');
  } finally {
    await server.close();
  }
});

test('a failure inside is told by name in the log alone', async () => {
  const before = lenient.lines.length;
  await send(probes.find(({ name }) => name === 'a failure inside') as Probe);
  const [line] = lenient.lines.slice(before);
  expect(line?.message).toBe('request failed');
  expect(String(line?.fields?.error)).toContain('a secret of the inside');
});

test('nothing that came as __proto__ has changed any object', async () => {
  await send(probes.find(({ name }) => name.startsWith('__proto__')) as Probe);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});
