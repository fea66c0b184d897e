/** The tools `document.*`: sources inside the root, parts, families, and a result that is not sent twice. */
import { mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDocumentTools, type DocumentFetch } from '../../../../src/runtime-server/tool-server/documents/index.ts';
import type { Tool, ToolCaller } from '../../../../src/runtime-server/tool-server/tool.ts';
import { after, failure, startConverter } from '../../../support/documents/converter.ts';
import { makePdf } from '../../../support/documents/pdf.ts';

const real = startConverter();
const folder = mkdtempSync(join(tmpdir(), 'gantry-documents-'));
const outside = mkdtempSync(join(tmpdir(), 'gantry-elsewhere-'));
const asked: string[] = [];
const fetch: DocumentFetch = {
  host: (url) => ({ host: new URL(url).host, privateHost: false }),
  async get(url) {
    asked.push(url);
    return {
      status: url.endsWith('gone') ? 404 : 200,
      url,
      contentType: 'text/html; charset=utf-8',
      body: Buffer.from('<h1>Page</h1><p>words'),
    };
  },
};
let conversions = 0;
const counted: typeof real.converter = {
  ...real.converter,
  convert: (...work) => {
    conversions += 1;
    return real.converter.convert(...work);
  },
};
const tools = createDocumentTools({ converter: counted, fetch, hidden: [], freshName: () => 'x', after });
const caller = { root: folder, client: 'me' } as ToolCaller;

interface Out {
  kind: string;
  family: string;
  notes: string[];
  characters: number;
  next: number | null;
  markdown?: string;
}

async function call(
  name: string,
  input: Record<string, unknown>,
): Promise<{ out: Out; said: string; plan: Awaited<ReturnType<Tool['plan']>> }> {
  const tool = tools.find((one) => one.name === name) as Tool;
  const plan = await tool.plan(tool.input.parse(input), caller);
  const out = await plan.run(new AbortController().signal, () => ({ verdict: 'allow', rule: '' }));
  expect(tool.output.safeParse(out).error).toBeUndefined();
  return { out: out as Out, said: tool.say?.(out) ?? '', plan };
}

beforeAll(() => {
  writeFileSync(join(folder, 'a.csv'), 'a,b\n1,2\n');
  writeFileSync(join(folder, 'long.txt'), Array.from({ length: 9000 }, (_, index) => `line ${index} äöü`).join('\n'));
  writeFileSync(join(folder, 'report.pdf'), makePdf([{ texts: [{ text: 'Words', x: 60, y: 100 }] }]));
  writeFileSync(join(outside, 'secret.txt'), 'secret');
  symlinkSync(join(outside, 'secret.txt'), join(folder, 'link.txt'));
});
afterAll(async () => {
  await real.close();
  rmSync(folder, { recursive: true });
  rmSync(outside, { recursive: true });
});

test('one tool for all formats and one a family', () => {
  expect(tools.map(({ name }) => name)).toEqual(
    ['convert', 'pdf', 'office', 'html', 'data', 'archive', 'mail', 'media'].map((name) => `document.${name}`),
  );
  expect(tools.every((tool) => tool.readOnly)).toBe(true);
});

test('a file of the root: its text, what it is, and its path for the policy', async () => {
  const { out, said, plan } = await call('document.convert', { path: 'a.csv' });
  expect(out).toMatchObject({
    kind: 'csv',
    family: 'data',
    markdown: '| a | b |\n| --- | --- |\n| 1 | 2 |\n',
    next: null,
  });
  expect(said).toContain('| 1 | 2 |\n\n[csv; rows: 1; columns: 2');
  expect(plan).toMatchObject({ path: join(folder, 'a.csv'), risk: 'low' });
});

test('what lies outside of the root is refused, also behind a link and behind one that came later', async () => {
  expect(await failure(call('document.convert', { path: '../x' }))).toMatchObject({ code: 'refused' });
  expect(await failure(call('document.convert', { path: 'link.txt' }))).toMatchObject({ code: 'refused' });
  expect(await failure(call('document.convert', { path: '.' }))).toMatchObject({ code: 'usage' });
  expect(await failure(call('document.convert', { path: 'not-there.pdf' }))).toMatchObject({ code: 'not_found' });

  const swapped = join(folder, 'swapped.txt');
  writeFileSync(swapped, 'mine');
  const tool = tools[0] as Tool;
  const plan = await tool.plan({ path: 'swapped.txt' }, caller);
  unlinkSync(swapped);
  symlinkSync(join(outside, 'secret.txt'), swapped);
  const ran = Promise.resolve(plan.run(new AbortController().signal, () => ({ verdict: 'allow', rule: '' })));
  expect(await failure(ran)).toMatchObject({ code: 'refused' });
});

test('a long document comes in parts that end at lines, converted once, and together are all of it', async () => {
  const before = conversions;
  let [offset, all, parts]: [number | null, string, number] = [0, '', 0];
  while (offset !== null) {
    const { out, said } = await call('document.convert', { path: 'long.txt', offset });
    if (out.next !== null) expect(out.markdown).toBeUndefined();
    all += `${said.slice(0, said.lastIndexOf('\n\n['))}${out.next === null ? '' : '\n'}`;
    expect(said.includes('[continues at offset ')).toBe(out.next !== null);
    offset = out.next;
    parts += 1;
  }
  expect(parts).toBeGreaterThan(3);
  expect(conversions - before).toBe(1);
  expect(all).toBe(Array.from({ length: 9000 }, (_, index) => `line ${index} äöü`).join('\n'));
});

test('data in the call: base64, and nothing that only looks like it', async () => {
  const data = Buffer.from('a,b\n1,2\n').toString('base64');
  expect((await call('document.data', { data, filename: 'x.csv' })).out.kind).toBe('csv');
  expect(await failure(call('document.data', { data: 'this is {not} base64' }))).toMatchObject({
    code: 'usage',
    fact: 'data is not base64.',
  });
});

test('an address: its host for the policy, its type as a hint, its status as a fault', async () => {
  const { out, plan } = await call('document.html', { url: 'https://example.com/page' });
  expect(plan).toMatchObject({ host: 'example.com' });
  expect(out).toMatchObject({ kind: 'html', markdown: expect.stringContaining('# Page') });
  expect(asked).toEqual(['https://example.com/page']);
  expect(await failure(call('document.html', { url: 'https://example.com/gone' }))).toMatchObject({
    code: 'transport',
    fact: expect.stringContaining('404'),
  });
});

test('none and two sources are told, and a family refuses another one', async () => {
  expect(await failure(call('document.convert', {}))).toMatchObject({
    code: 'usage',
    fact: 'No document is given.',
  });
  expect(await failure(call('document.convert', { path: 'a.csv', data: 'AA==' }))).toMatchObject({ code: 'usage' });
  expect(await failure(call('document.office', { path: 'report.pdf' }))).toMatchObject({
    action: expect.stringContaining('document.pdf'),
  });
});
