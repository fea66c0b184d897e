import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { contentSecurityPolicy } from '../../src/cloud-api/pages/index.ts';
import { startPair } from '../host/support.ts';
import { onEnd } from '../kit/http/support.ts';

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
