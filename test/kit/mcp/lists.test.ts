import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mcpMeta } from '../../../src/contracts/tool-server/mcp.ts';
import { byBytes, maxSafeNameLength, safeNames } from '../../../src/kit/mcp/names.ts';
import type { ListedTool, McpServiceOptions } from '../../../src/kit/mcp/service.ts';
import { createProfile, type Order } from '../../support/mcp/profile.ts';
import { schemaProblems } from '../../support/mcp/schema.ts';
import { type ServedProfile, serveMcp } from '../../support/mcp/serve-profile.ts';

const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'] as const;
const modern = '2026-07-28';
const modernMeta = { [mcpMeta.version]: modern, [mcpMeta.clientCapabilities]: {} };

async function ask(served: ServedProfile, method: string, era: 'modern' | 'legacy', params = {}, query = '') {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method,
    params: era === 'modern' ? { ...params, _meta: modernMeta } : params,
  });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${served.url}${query}`, { method: 'POST', headers, body });
  return answer.text();
}

const shuffles: readonly Order[] = [
  (items) => items,
  (items) => items.toReversed(),
  (items) => items.toSorted((a, b) => JSON.stringify(a).length - JSON.stringify(b).length),
];

test('lists are the same bytes whatever order things came in, in either era, after each start', async () => {
  const seen = new Map<string, Set<string>>();
  for (const order of shuffles) {
    const served = await serveMcp(createProfile({ order, revision: Math.random() }));
    for (const era of ['modern', 'legacy'] as const) {
      for (const method of lists) {
        const key = `${era} ${method}`;
        const texts = seen.get(key) ?? new Set();
        seen.set(key, texts.add(await ask(served, method, era)).add(await ask(served, method, era)));
      }
    }
    await served.close();
  }
  expect([...seen].map(([key, texts]) => [key, texts.size])).toEqual([...seen.keys()].map((key) => [key, 1]));
});

const item = (name: string, more: Partial<ListedTool> = {}): ListedTool => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
});

const ended = { content: [], isError: false };
const withTools = (
  items: readonly ListedTool[],
  call: (name: string) => object = () => ended,
): Partial<McpServiceOptions> => ({
  tools: {
    list: () => ({ items, revision: 'r' }),
    call: (name) => call(name) as typeof ended,
  },
});

describe('a list', () => {
  let served: ServedProfile;
  const called: string[] = [];
  beforeAll(async () => {
    const names = ['a.b', 'a_b', 'Zebra', 'ä', 'zebra', '\u{1F600}', '\uFFFD', `long.${'x'.repeat(80)}`];
    const tools = names.map((name) => item(name));
    const output = item('out', { outputSchema: { type: 'array' } });
    const mixed = item('mixed', {});
    const answer = (name: string) => {
      called.push(name);
      return name === 'mixed' ? mixedResult : ended;
    };
    served = await serveMcp(createProfile({ more: withTools([...tools, output, mixed], answer) }));
  });
  afterAll(() => served.close());

  const mixedResult = {
    content: [
      { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'file:///a', name: 'a' },
    ],
    structuredContent: [1, 2],
    isError: false,
  };

  const names = async (query = '', era: 'modern' | 'legacy' = 'modern') =>
    (JSON.parse(await ask(served, 'tools/list', era, {}, query)) as { result: { tools: ListedTool[] } }).result.tools;

  test('is in the order of its names’ bytes, which is neither that of letters nor that of UTF-16', async () => {
    const listed = (await names()).map(({ name }) => name);
    expect(listed).toEqual(listed.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
    expect(listed.indexOf('Zebra')).toBeLessThan(listed.indexOf('a.b'));
    expect(listed.indexOf('\uFFFD')).toBeLessThan(listed.indexOf('\u{1F600}'));
  });

  test('of safe names has names that every host takes, and each calls its own tool, as the dotted one does', async () => {
    const dotted = (await names()).map(({ name }) => name);
    const safe = (await names('?names=safe')).map(({ name }) => name);
    expect(safe.length).toBe(dotted.length);
    for (const name of safe) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    called.length = 0;
    for (const name of [...dotted, ...safe]) await ask(served, 'tools/call', 'modern', { name });
    expect(called.toSorted(byBytes)).toEqual([...dotted, ...dotted].toSorted(byBytes));
    called.length = 0;
    await ask(served, 'tools/call', 'modern', { name: 'a_b' });
    expect(called).toEqual(['a_b']);
  });

  test('and a result hold what their version has, and nothing newer', async () => {
    const out = async (era: 'modern' | 'legacy') => (await names('', era)).find(({ name }) => name === 'out');
    expect(await out('modern')).toHaveProperty('outputSchema');
    expect(await out('legacy')).not.toHaveProperty('outputSchema');
    const result = async (era: 'modern' | 'legacy', version: string) => {
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'mixed', ...(era === 'modern' ? { _meta: modernMeta } : {}) },
      });
      const headers = { 'content-type': 'application/json', 'mcp-protocol-version': version };
      const answer = (await (await fetch(served.url, { method: 'POST', headers, body })).json()) as {
        result: { content: { type: string }[]; structuredContent?: unknown };
      };
      expect(schemaProblems(version, 'tools/call', answer)).toEqual([]);
      return [answer.result.content.map(({ type }) => type).join(' '), answer.result.structuredContent];
    };
    expect(await result('modern', modern)).toEqual(['audio resource_link', [1, 2]]);
    expect(await result('legacy', '2025-06-18')).toEqual(['audio resource_link', undefined]);
    expect(await result('legacy', '2025-03-26')).toEqual(['audio text', undefined]);
    expect(await result('legacy', '2024-11-05')).toEqual(['text text', undefined]);
  });
});

test('safe names are safe, each other’s, and the same whatever order the names came in', () => {
  const name = fc.stringMatching(/^[a-c._-]{1,8}$/).map((text) => (text.length > 6 ? text.repeat(10) : text));
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 30 }), (names) => {
      const safe = safeNames(names);
      expect(new Set(safe.values()).size).toBe(names.length);
      for (const [, spelled] of safe) {
        expect(spelled).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(spelled.length).toBeLessThanOrEqual(maxSafeNameLength);
      }
      expect([...safeNames(names.toReversed())].toSorted()).toEqual([...safe].toSorted());
    }),
  );
});
