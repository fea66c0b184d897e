/**
 * Documents to Markdown through the real program: every format returns its content, a PDF of 300 pages finishes in time, and the caller's event loop
 * is never held up. The PDF figure compares with the library's bare text extraction.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { utils, write } from '@e965/xlsx';
import { programCommand } from '../../../src/kit/process/programs.ts';
import { createConverter } from '../../../src/runtime-server/tool-server/documents/converter.ts';
import { createDocumentTools, type DocumentFetch } from '../../../src/runtime-server/tool-server/documents/index.ts';
import type { Tool, ToolCaller } from '../../../src/runtime-server/tool-server/tool.ts';
import { relationships, spaces, xmlHead, zipOf } from '../../programs/converter/formats/documents.ts';
import { said, samples } from '../../programs/converter/formats/samples.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { makeReport } from '../../support/documents/pdf.ts';

export const figures: readonly Figure[] = [
  { name: 'tool-server.convert', run: everyFormat },
  { name: 'tool-server.convert.pdf300', run: longPdf },
  { name: 'tool-server.convert.loop-block', run: loopBlock },
];

const barePdf = fileURLToPath(new URL('../../support/victims/bare-pdfjs.ts', import.meta.url));
const after = (ms: number, effect: () => void) => {
  const timer = setTimeout(effect, ms);
  return () => clearTimeout(timer);
};
const never = new AbortController().signal;
const at = () => `one process a conversion at most, load ${rounded(loadavg()[0] ?? 0)}`;

async function withConverter<Result>(
  work: (converter: ReturnType<typeof createConverter>) => Promise<Result>,
): Promise<Result> {
  const converter = createConverter({ command: programCommand('converter'), after });
  try {
    return await work(converter);
  } finally {
    await converter.close();
  }
}

/** Large ones of the formats that people send most, to see what time they take. */
function largeDocuments(): Record<string, Uint8Array> {
  const words = 'the quick brown fox measures what it says and says what it measures '.repeat(8);
  const book = utils.book_new();
  const rows = Array.from({ length: 5000 }, (_, row) => Array.from({ length: 10 }, (_, column) => `${row}.${column}`));
  utils.book_append_sheet(book, utils.aoa_to_sheet([['words here'], ...rows]), 'Sheet');
  const paragraphs = Array.from({ length: 2000 }, () => `<w:p><w:r><w:t>words here ${words}</w:t></w:r></w:p>`).join(
    '',
  );
  return {
    'docx, 2000 paragraphs': zipOf({
      '_rels/.rels': relationships(['rId1', 'officeDocument', 'word/document.xml']),
      'word/document.xml': `${xmlHead}<w:document ${spaces}><w:body>${paragraphs}</w:body></w:document>`,
    }),
    'xlsx, 5000 rows': new Uint8Array(write(book, { type: 'buffer', bookType: 'xlsx' })),
    'html, 600 paragraphs': Buffer.from(
      `<html><body><main>${`<h2>words here</h2><p>${words} <a href="https://example.com">link</a></p>`.repeat(600)}</main></body></html>`,
    ),
    'csv, 5 MB': Buffer.from(`words here,b\n${`1,${words}\n`.repeat(9000)}`),
    'json, 5 MB': Buffer.from(
      JSON.stringify({ a: 'words here', rows: Array.from({ length: 9000 }, (_, id) => ({ id, words })) }),
    ),
    'zip, 200 texts': zipOf(
      Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`${index}.txt`, `words here ${words}`])),
    ),
  };
}

/** Of all formats: how many documents did not give what stands in them. */
function everyFormat({ log }: FigureOptions): Promise<Measured> {
  return withConverter(async (converter) => {
    const table: Record<string, { ms: number; bytes: number; characters: number } | string> = {};
    let missing = 0;
    for (const [name, bytes] of Object.entries({ ...samples, ...largeDocuments() })) {
      const start = performance.now();
      try {
        const source = { size: bytes.length, chunks: [bytes] };
        const { markdown } = await converter.convert(
          source,
          { filename: name.replace(/,.*/, ''), mimeType: '', family: null },
          never,
        );
        table[name] = { ms: rounded(performance.now() - start, 0), bytes: bytes.length, characters: markdown.length };
        if (said.test(markdown)) continue;
        table[name] = 'the words are not there';
      } catch (error) {
        table[name] = (error as Error).message;
      }
      missing += 1;
      log(`${name}: ${String(table[name])}`);
    }
    return { value: missing, unit: 'documents', n: Object.keys(table).length, at: at(), detail: table };
  });
}

function longPdf({ quick, log }: FigureOptions): Promise<Measured> {
  const pages = 300;
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-'));
  const bytes = makeReport(pages);
  const file = join(folder, 'report.pdf');
  writeFileSync(file, bytes);
  return withConverter(async (converter) => {
    const own: number[] = [];
    const peer: number[] = [];
    for (let round = 0; round < (quick ? 1 : 5); round += 1) {
      const start = performance.now();
      const found = await converter.convert(
        { size: bytes.length, chunks: [bytes] },
        { filename: 'report.pdf', mimeType: '', family: 'pdf' },
        never,
      );
      own.push((performance.now() - start) / 1000);
      if (!found.markdown.includes(`Chapter ${pages}:`)) throw new Error('The last page is missing.');
      const begin = performance.now();
      execFileSync(process.execPath, [barePdf, file], { stdio: ['ignore', 'pipe', 'ignore'] });
      peer.push((performance.now() - begin) / 1000);
      log(`${rounded(own.at(-1) as number)} s; bare ${rounded(peer.at(-1) as number)} s`);
    }
    const value = median(own);
    return {
      value,
      unit: 's',
      n: own.length,
      at: at(),
      peer: { name: 'pdfjs-dist 6.5, bare text', value: rounded(median(peer)) },
      detail: { pages, bytes: bytes.length },
    };
  }).finally(() => rmSync(folder, { recursive: true }));
}

/**
 * The longest time that a turn of the loop took, where the tools run: a file of 50 MB, 8 MB of base64, a PDF, long Markdown. The
 * lesser of time and processor time of a turn: that others had the processor is not what is measured.
 */
function loopBlock({ quick, log }: FigureOptions): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-'));
  writeFileSync(join(folder, 'large.txt'), Buffer.alloc(50 * 1024 * 1024, 'words and words\n'));
  writeFileSync(join(folder, 'report.pdf'), makeReport(100));
  const body = Buffer.alloc(50 * 1024 * 1024, 'words and words\n');
  const fetch: DocumentFetch = {
    host: () => ({ host: 'example.com', privateHost: false }),
    get: async (url) => ({ status: 200, url, contentType: 'text/plain', body }),
  };
  const data = Buffer.alloc(6 * 1024 * 1024, 'words and words\n').toString('base64');
  const inputs: Record<string, Record<string, unknown>> = {
    'file of 50 MB': { path: 'large.txt', limit: 1_000_000 },
    'address of 50 MB': { url: 'https://example.com/a.txt' },
    '8 MB of base64': { data },
    'PDF of 100 pages': { path: 'report.pdf', limit: 1_000_000 },
  };
  return withConverter(async (converter) => {
    const [tool] = createDocumentTools({ converter, fetch, hidden: [], freshName: () => 'x', after }) as [Tool];
    const caller = { root: folder, client: 'bench' } as ToolCaller;
    const worst: Record<string, number> = {};
    // The first round pays for code that is compiled then.
    for (let round = 0; round < (quick ? 2 : 6); round += 1) {
      for (const [name, input] of Object.entries(inputs)) {
        const watch = watchLoop();
        const plan = await tool.plan(tool.input.parse(input), caller);
        const output = await plan.run(never, () => ({ verdict: 'allow', rule: '' }));
        tool.say?.(output);
        const blocked = watch.end();
        worst[name] = Math.max(worst[name] ?? 0, rounded(blocked, 1));
        log(`${name}: ${rounded(blocked, 1)} ms`);
      }
    }
    return {
      value: Math.max(...Object.values(worst)),
      unit: 'ms',
      n: Object.keys(inputs).length,
      at: at(),
      detail: worst,
    };
  }).finally(() => rmSync(folder, { recursive: true }));
}

function watchLoop(): { end(): number } {
  const everyMs = 1;
  let longest = 0;
  let last = performance.now();
  let used = process.threadCpuUsage();
  const look = (): void => {
    const now = performance.now();
    const { user, system } = process.threadCpuUsage(used);
    longest = Math.max(longest, Math.min(now - last, (user + system) / 1000));
    last = now;
    used = process.threadCpuUsage();
  };
  const timer = setInterval(look, everyMs);
  return {
    end() {
      look();
      clearInterval(timer);
      return longest;
    },
  };
}
