import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { downloadElectron } from '../../src/cli/verbs/desktop.ts';

afterEach(() => vi.unstubAllEnvs());

/** As the package lies in node_modules: its version, the sums of its archives, and the real @electron/get beside it. */
function electronPackage(archive: Buffer): string {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-electron-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const sha256 = createHash('sha256').update(archive).digest('hex');
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'electron', version: '99.0.0' }));
  writeFileSync(join(folder, 'checksums.json'), JSON.stringify({ 'electron-v99.0.0-linux-x64.zip': sha256 }));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return folder;
}

async function mirrorOf(archive: Buffer): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-length': archive.length });
    response.end(archive);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const env = (folder: string) => ({
  ...{ ELECTRON_INSTALL_PLATFORM: 'linux', ELECTRON_INSTALL_ARCH: 'x64' },
  electron_config_cache: join(folder, 'cache'),
});

test('the download of Electron says how many bytes are there and how many are left, and is kept where its installer looks', async () => {
  const archive = Buffer.alloc(3_000_000, 'zip');
  const folder = electronPackage(archive);
  vi.stubEnv('ELECTRON_MIRROR', await mirrorOf(archive));
  const seen: [number, number, string?][] = [];
  const file = await downloadElectron(folder, env(folder), (...at) => seen.push(at));
  expect(readFileSync(file).equals(archive)).toBe(true);
  expect(file.startsWith(join(folder, 'cache'))).toBe(true);
  expect(seen.length).toBeGreaterThan(1);
  expect(seen.map(([done]) => done)).toEqual(seen.map(([done]) => done).toSorted((a, b) => a - b));
  expect(seen.at(-1)).toEqual([3_000_000, 3_000_000, '2.9 MB of 2.9 MB']);
});

test('an archive that is not the one of this version is refused', async () => {
  const folder = electronPackage(Buffer.from('the right one'));
  vi.stubEnv('ELECTRON_MIRROR', await mirrorOf(Buffer.from('another one')));
  await expect(downloadElectron(folder, env(folder), () => {})).rejects.toThrow(/mismatch|checksum/i);
});
