import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { contentSecurityPolicy } from '../../src/cloud-api/pages/index.ts';
import { startPair } from '../host/support.ts';
import { onEnd } from '../kit/http/support.ts';

/** As the build leaves them: compressed forms beside what shrinks. */
function compressed(): { folder: string; script: Buffer; br: Buffer; gzip: Buffer } {
  const folder = built();
  const script = Buffer.from(`export const words = '${'gantry '.repeat(400)}';`);
  const [br, gzip] = [brotliCompressSync(script), gzipSync(script)];
  writeFileSync(join(folder, 'assets', 'page-abc.js'), script);
  writeFileSync(join(folder, 'assets', 'page-abc.js.br'), br);
  writeFileSync(join(folder, 'assets', 'page-abc.js.gz'), gzip);
  writeFileSync(join(folder, 'index.html.br'), brotliCompressSync(Buffer.from('<!doctype html><title>Gantry</title>')));
  return { folder, script, br, gzip };
}

function built(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-pages-'));
  onEnd(async () => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Gantry</title>');
  writeFileSync(join(folder, 'assets', 'index-abc.js'), 'export {};');
  writeFileSync(join(folder, '.secret'), 'x');
  return folder;
}

test('every page path answers the one page with its policy, and files with theirs', async () => {
  const { callWeb } = await startPair({ cloud: { rendererFolder: built() } });
  for (const path of ['/', '/bots', '/bots/agent_1?tab=pane', '/?allternit_thread=t&bot=b']) {
    const reply = await callWeb('GET', path, { token: null });
    expect([path, reply.status, reply.headers['content-type']]).toEqual([path, 200, 'text/html; charset=utf-8']);
    expect(reply.headers['content-security-policy']).toBe(contentSecurityPolicy);
    expect(reply.headers['x-content-type-options']).toBe('nosniff');
    expect(reply.headers['x-frame-options']).toBe('DENY');
    expect(reply.headers['cache-control']).toBe('no-cache');
    expect(reply.headers['x-powered-by']).toBeUndefined();
  }
  const asset = await callWeb('GET', '/assets/index-abc.js', { token: null });
  expect(asset.headers['cache-control']).toContain('immutable');
  expect(asset.headers['content-type']).toContain('javascript');
  expect((await callWeb('HEAD', '/', { token: null })).status).toBe(200);
});

test('the policy is the one the pages are written for', () => {
  expect(contentSecurityPolicy).toBe(
    "default-src 'self'; script-src 'self'; connect-src 'self'; font-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
  );
});

test('missing files, hidden files, ways out of the folder and writes are not found, never a page', async () => {
  const { callWeb } = await startPair({ cloud: { rendererFolder: built() } });
  for (const path of [
    '/assets/gone.js',
    '/.secret',
    '/../package.json',
    '/..%2f..%2fpackage.json',
    '/assets/..%5cx.js',
  ]) {
    const reply = await callWeb('GET', path, { token: null });
    expect([path, reply.status]).toEqual([path, 404]);
    expect(reply.headers['content-type']).toContain('application/json');
  }
  expect((await callWeb('POST', '/bots', { token: null, body: {} })).status).toBe(404);
  expect((await callWeb('GET', '/%E0%A4%A', { token: null })).status).toBe(400);
});

test('pages are guarded as everything else: wrong Host and foreign sites are refused', async () => {
  const { callWeb } = await startPair({ cloud: { rendererFolder: built() } });
  expect((await callWeb('GET', '/', { token: null, headers: { host: 'evil.example' } })).status).toBe(421);
  expect((await callWeb('GET', '/', { token: null, headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
});

test('without a built web interface the page says how to build it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-empty-'));
  onEnd(async () => rmSync(folder, { recursive: true, force: true }));
  const { callWeb } = await startPair({ cloud: { rendererFolder: folder } });
  const reply = await callWeb('GET', '/', { token: null });
  expect(reply.status).toBe(503);
  expect(reply.text).toContain('npm run build');
});

describe('what the build compressed is sent as the client takes it', () => {
  const address = '/assets/page-abc.js';
  async function start() {
    const files = compressed();
    const { web } = await startPair({ cloud: { rendererFolder: files.folder } });
    /** As it comes over the wire: fetch would unpack it. */
    const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      new Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
        request(new URL(path, web.origin), { method, headers }, (answer) => {
          const parts: Buffer[] = [];
          answer.on('data', (part: Buffer) => parts.push(part));
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(parts) }),
          );
        })
          .on('error', reject)
          .end();
      });
    return { ...files, ask };
  }

  test('the smallest form that the client takes as gladly as any other', async () => {
    const { ask, script, br, gzip } = await start();
    for (const [accepted, coding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip, deflate', 'gzip'],
      ['br;q=0.2, gzip;q=0.8', 'gzip'],
      ['br;q=0, gzip;q=0', undefined],
      ['identity, br;q=0.5', undefined],
      ['*', 'br'],
      ['*;q=0', undefined],
      ['br;q=0, *', 'gzip'],
      ['', undefined],
    ] as const) {
      const answer = await ask(address, { 'accept-encoding': accepted });
      expect([accepted, answer.status, answer.headers['content-encoding']]).toEqual([accepted, 200, coding]);
      expect(answer.body.equals(coding === 'br' ? br : coding === 'gzip' ? gzip : script)).toBe(true);
      expect(answer.headers['content-length']).toBe(String(answer.body.length));
      expect(answer.headers['content-type']).toBe('text/javascript; charset=utf-8');
      expect(answer.headers.vary).toBe('Accept-Encoding');
      expect(answer.headers['cache-control']).toContain('immutable');
    }
  });

  test('each form has a tag of its own, is known again by it, and HEAD says what GET would send', async () => {
    const { ask, br } = await start();
    const tags = new Set<string>();
    for (const accepted of ['br', 'gzip', 'identity']) {
      const { headers } = await ask(address, { 'accept-encoding': accepted });
      tags.add(String(headers.etag));
      const again = await ask(address, { 'accept-encoding': accepted, 'if-none-match': String(headers.etag) });
      expect([accepted, again.status, again.headers.vary]).toEqual([accepted, 304, 'Accept-Encoding']);
      expect(again.headers['content-encoding']).toBeUndefined();
      const other = await ask(address, {
        'accept-encoding': accepted === 'br' ? 'gzip' : 'br',
        'if-none-match': String(headers.etag),
      });
      expect([accepted, other.status]).toEqual([accepted, 200]);
    }
    expect(tags.size).toBe(3);
    const head = await ask(address, { 'accept-encoding': 'br' }, 'HEAD');
    expect(head.body.length).toBe(0);
    expect([head.headers['content-encoding'], head.headers['content-length']]).toEqual(['br', String(br.length)]);
  });

  test('a range is one of the form that is sent, and one beyond its end is refused', async () => {
    const { ask, br, script } = await start();
    const packed = await ask(address, { 'accept-encoding': 'br', range: 'bytes=2-5' });
    expect([packed.status, packed.headers['content-range']]).toEqual([206, `bytes 2-5/${br.length}`]);
    expect(packed.headers['content-encoding']).toBe('br');
    expect(packed.body.equals(br.subarray(2, 6))).toBe(true);
    const plain = await ask(address, { range: 'bytes=2-5' });
    expect(plain.body.equals(script.subarray(2, 6))).toBe(true);
    expect(plain.headers['content-encoding']).toBeUndefined();
    const beyond = await ask(address, { 'accept-encoding': 'br', range: `bytes=${script.length}-` });
    expect([beyond.status, beyond.headers['content-range']]).toEqual([416, `bytes */${br.length}`]);
  });

  test('the one page is sent compressed for every address that is a page; what was not compressed is sent as it is', async () => {
    const { ask } = await start();
    for (const path of ['/', '/floor?bot=a', '/index.html']) {
      const page = await ask(path, { 'accept-encoding': 'br' });
      expect([path, page.headers['content-encoding'], page.headers['cache-control']]).toEqual([path, 'br', 'no-cache']);
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(brotliDecompressSync(page.body).toString()).toContain('<title>Gantry</title>');
    }
    const bare = await ask('/assets/index-abc.js', { 'accept-encoding': 'br' });
    expect([bare.headers['content-encoding'], bare.headers.vary]).toEqual([undefined, undefined]);
  });
});
