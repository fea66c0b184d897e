/** examples/computer-use as its page says: with a key made on the command line, in Node, and in a page that a browser opens. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright';
import { createServer as createVite } from 'vite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gantry, startGantry } from '../e2e/support/gantry.ts';

const example = join(import.meta.dirname, '..', '..', 'examples', 'computer-use');
const executablePath = process.env.GANTRY_CHROMIUM ?? '/usr/bin/chromium';
const why = existsSync(executablePath) ? '' : ` (skipped: there is no ${executablePath})`;
const withBrowser = test.skipIf(why !== '');
let gantry: Gantry;
let site: Server;
let address: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  if (why !== '') return;
  site = createServer((_request, response) => response.end('<title>Harbour</title><h1>Ships of today</h1>'));
  site.listen(0, '127.0.0.1');
  gantry = await startGantry({ workspace: 'empty' });
  address = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
  // A page of this computer is opened only where a rule says so.
  mkdirSync(join(gantry.workspace, '.gantry'), { recursive: true });
  const rule = "rules:\n  - when: { tool: browser, host: '127.0.0.1:*' }\n    then: allow\n";
  writeFileSync(join(gantry.workspace, '.gantry', 'policy.yaml'), rule);
  await gantry.agree();
  const made = await gantry.cli(...'admin keys create --user user_local --name one --scope compute'.split(' '));
  const GANTRY_KEY_FILE = join(gantry.home, 'computer-use.key');
  writeFileSync(GANTRY_KEY_FILE, made.out.split('\n')[0] ?? '');
  env = { ...process.env, GANTRY_URL: gantry.origin, GANTRY_KEY_FILE };
});
afterAll(async () => {
  await gantry?.remove();
  site?.close();
});

withBrowser(`a program prints the events of its run and what the page says${why}`, async () => {
  const words = [join(example, 'read-page.ts'), address];
  const { stdout } = await promisify(execFile)(process.execPath, words, { env });
  expect(stdout).toMatch(/^0 run\.started[\s\S]*run\.ended[\s\S]*^completed/m);
  expect(stdout).toContain('Ships of today');
});

withBrowser(`a page shows the same through its own server, without the key${why}`, async () => {
  Object.assign(process.env, { GANTRY_URL: env.GANTRY_URL, GANTRY_KEY_FILE: env.GANTRY_KEY_FILE });
  const vite = await createVite({
    configFile: join(example, 'vite.config.ts'),
    logLevel: 'error',
    cacheDir: join(gantry.home, 'vite'),
    server: { port: 0 },
  });
  await vite.listen();
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await browser.newPage();
    await page.goto(vite.resolvedUrls?.local[0] ?? '');
    await page.getByRole('textbox', { name: 'Address' }).fill(address);
    await page.getByRole('button', { name: 'Read' }).click();
    await page.getByRole('status').filter({ hasText: 'Ships of today' }).waitFor();
    expect(await page.getByRole('listitem').count()).toBeGreaterThan(3);
  } finally {
    await browser.close();
    await vite.close();
  }
});
