/** The list and the page of hosted computers, with one and with very many of them: what the cloud answers is written down here. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HostedComputer } from '../../src/contracts/hosted-computers/computer.ts';
import { type Browser, openBrowser, type Page, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, wide } from './support/looks.ts';

const at = '2026-11-30T06:00:00.000Z';
const word = 'a-very-long-name-of-a-computer-that-nobody-would-choose-but-a-program-does'.repeat(2).slice(0, 120);
const statuses = ['running', 'stopped', 'error', 'starting'] as const;
const one = (number: number, more: Partial<HostedComputer> = {}): HostedComputer => ({
  id: `cmp_${String(number).padStart(12, '0')}`,
  object: 'computer',
  name: number % 3 === 0 ? word : `worker ${number}`,
  status: statuses[number % 4]!,
  sleeping: number % 8 === 0,
  sleep_keeps: 'memory',
  toolset: 'shell',
  egress: 'public',
  image: null,
  memory_mib: null,
  processes: null,
  lifetime_seconds: null,
  account_id: null,
  key_id: null,
  created_at: at,
  started_at: at,
  metadata: {},
  ...more,
});
const image = `registry.example:5000/${'team/'.repeat(12)}computer@sha256:${'0123456789abcdef'.repeat(4)}`;
const special = { image, memory_mib: 1_048_576, processes: 1_000_000, lifetime_seconds: 90_061, account_id: word };

let gantry: Gantry;
let browser: Browser;
let first: Visit;
beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty' }), openBrowser()]);
  await gantry.agree();
  first = await visit(browser, gantry.url);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  await gantry.cli('admin', 'projects', 'create', 'shop', '--user', 'user_local', '--hosted-driver', 'on');
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

async function answering(page: Page, all: readonly HostedComputer[]): Promise<void> {
  await page.route(/^http:\/\/[^/]+\/v1\/computers(?:[/?]|$)/, (route) => {
    const [, id, rest] = /\/v1\/computers(?:\/([^/?]+))?(?:\/([^?]+))?/.exec(route.request().url()) ?? [];
    const body =
      id === undefined
        ? { computers: all, next_cursor: null }
        : ({
            events: { events: [], next_cursor: null },
            meters: { lines: [] },
            approvals: { approvals: [] },
          }[rest ?? ''] ?? all.find((each) => each.id === id));
    return rest === 'events/stream'
      ? route.fulfill({ contentType: 'text/event-stream' })
      : route.fulfill({ json: body });
  });
}

describe.each([wide, narrow])('at $width pixels', (size) => {
  test.each([
    ['one', [one(4)]],
    ['very many', Array.from({ length: 200 }, (_, number) => one(number, number === 0 ? special : {}))],
  ])('%s fits, and axe finds nothing', async (name, all) => {
    const own = await visit(browser, `${gantry.origin}/`, { ...size, like: first.context });
    await answering(own.page, all);
    const shown = all[0]!;
    await own.page.goto(`${gantry.origin}/computers`);
    await own.page.locator(`[data-hosted="${shown.id}"]`).waitFor();
    await looked(own.page, `hosted-list-${name === 'one' ? 'one' : 'many'}-${size.name}`);
    await own.page.goto(`${gantry.origin}/computers?hosted=${shown.id}`);
    await own.page.getByText('This computer').waitFor();
    await looked(own.page, `hosted-${name === 'one' ? 'one' : 'many'}-${size.name}`);
    expect(await own.page.getByText(shown.image ?? 'Shell, without a screen').count()).toBe(1);
    await own.close();
  });
});
