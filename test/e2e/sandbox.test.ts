/** A bot in a sandbox: its start says so, and its inspector and the command line show what it runs in and its limits. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBubblewrap } from '../../src/kit/sandbox/bubblewrap.ts';
import { type Browser, go, openBrowser, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, wide } from './support/looks.ts';

const found = await findBubblewrap({
  path: process.env.PATH ?? '',
  sandbox: { mounts: [{ at: '/', shows: 'read' }], network: 'host', terminal: 'none', ends: 'with-parent', cwd: '/' },
});

describe.skipIf(typeof found === 'string')('where bubblewrap works', () => {
  let gantry: Gantry;
  let browser: Browser;
  let session: Visit;

  beforeAll(async () => {
    [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty' }), openBrowser()]);
    const folder = join(gantry.workspace, '.gantry', 'teams', 'dev');
    mkdirSync(folder, { recursive: true });
    const bot = '  - { bot: web, harness: shell, sandbox: files, caps: { memory: 2GiB, processes: 512 } }\n';
    writeFileSync(join(folder, 'team.yaml'), `bots:\n${bot}`);
    await gantry.agree();
    session = await visit(browser, gantry.url, { plain: true });
  });
  afterAll(async () => {
    await browser?.close();
    await gantry?.remove();
  });

  test('the start names the sandbox, and the command line shows it with its limits', async () => {
    expect((await gantry.cli('teams', 'up', 'dev', '--dry-run')).out).toContain('in the sandbox "files"');
    expect(await gantry.cli('teams', 'up', 'dev')).toMatchObject({ code: 0 });
    const { out } = await gantry.cli('agents', 'show', 'web@dev');
    expect(out).toMatch(/Sandbox\s+files/);
    expect(out).toMatch(/Limits\s+2048 MiB of memory.*512 processes/s);
  });

  test.each([wide, narrow])('the inspector shows both in a $name window', async (size) => {
    const isNarrow = size === narrow;
    const seen = isNarrow
      ? await visit(browser, `${gantry.origin}/`, { ...size, like: session.context, plain: true })
      : session;
    const { page } = seen;
    await go(page, '/floor');
    await page.locator('[data-bot="web@dev"]').click();
    if (isNarrow) await page.getByRole('button', { name: 'Show the inspector' }).click();
    await page.getByRole('tab', { name: 'web', exact: true }).last().click();
    await page.getByText('Of your files it sees only its folder').waitFor();
    await page.getByText('2048 MiB of memory').waitFor();
    await looked(page, 'sandbox-inspector', { light: true });
    if (isNarrow) await seen.close();
  });
});
