/** The list and the page of hosted computers, with one and with very many of them: what the cloud answers is written down here. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ComputerPool, HostedComputer } from '../../src/contracts/hosted-computers/computer.ts';
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

const able: ComputerPool['hosts'][number] = {
  name: null,
  refused: null,
  memory_mib: 2048,
  processes: 1024,
  egress_proven_at: at,
  computers: 4,
  most: 20,
};
const made: ComputerPool = {
  driver: 'namespace',
  refused: null,
  wall: 'namespace',
  egress: 'enforced',
  sleep_keeps: 'memory',
  idle_seconds: 300,
  running: 20,
  awake: 3,
  warm: { desktop: 1, shell: 2 },
  images: [],
  lifetime_seconds: null,
  hosts: [able],
};
const attic = { ...able, name: 'attic', memory_mib: 8192, egress_proven_at: null, computers: 0 };
const cellar = { ...able, name: 'cellar', computers: 20 };
/** Twenty joined hosts: one is away, one has no limits, one has a long name. */
const twenty = Array.from({ length: 20 }, (_, number) => ({
  ...able,
  name: number === 7 ? word : `host ${number}`,
  refused: number === 3 ? 'The computer host host 3 is not linked.' : null,
  memory_mib: number === 5 ? null : 1_048_576,
  computers: number * 9,
  most: 180,
}));
const veryMuch: ComputerPool = {
  ...made,
  egress: 'declared',
  sleep_keeps: 'files',
  idle_seconds: 86_400,
  running: 10_000,
  awake: 9_999,
  images: Array.from({ length: 12 }, (_, number) => `registry.example:5000/${'team/'.repeat(6)}${number}`),
  lifetime_seconds: 90_061,
  hosts: [able, ...twenty],
};

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

describe.each([wide, narrow])('where computers are made, at $width pixels', (size) => {
  const opened = async (pool: ComputerPool | null) => {
    const own = await visit(browser, `${gantry.origin}/`, { ...size, like: first.context });
    if (pool !== null) await own.page.route('**/v1/computer_pool', (route) => route.fulfill({ json: pool }));
    await own.page.goto(`${gantry.origin}/computers`);
    await own.page.getByRole('button', { name: 'Where computers are made' }).click();
    await own.page.getByRole('region', { name: 'Capacity' }).waitFor();
    return own;
  };

  // Where somebody runs the computer host on this machine, computers can be made here.
  test.skipIf(existsSync('/var/lib/gantry-computers/host.sock'))(
    'where none can be made it says why, and nothing of what is not known',
    async () => {
      const own = await opened(null);
      await own.page.getByText(/^No computer can be made now\. No computer-host runs here \(.+\)\. Ask your/).waitFor();
      expect(await own.page.getByText('Last proven').count()).toBe(0);
      await looked(own.page, 'computers-pool-none');
      await own.close();
    },
  );

  test('one machine has its isolation, limits and room', async () => {
    const own = await opened(made);
    const said = await own.page.locator('main dl').allInnerTexts();
    for (const words of [
      'Namespaces of its own',
      'from inside a computer',
      '2,048 MiB',
      '3 of 20',
      '4 of 20 computers',
    ]) {
      expect(said.join('\n')).toContain(words);
    }
    expect(await own.page.getByRole('region', { name: 'Computer hosts' }).count()).toBe(0);
    await looked(own.page, 'computers-pool-one');
    await own.page.keyboard.press('Escape');
    await expect.poll(() => own.page.url()).toBe(`${gantry.origin}/computers`);
    await own.close();
  });

  test('one node of a cluster is named, because the cluster has others', async () => {
    const own = await opened({
      ...made,
      driver: 'kubernetes',
      images: null,
      hosts: [{ ...able, name: 'node1', most: null }],
    });
    const rows = own.page.getByRole('region', { name: 'Nodes' }).getByRole('listitem');
    expect(await rows.allTextContents()).toEqual([expect.stringMatching(/^node14 computersTraffic proven:/)]);
    await own.page.getByText('Any that its node has or can pull').waitFor();
    await looked(own.page, 'computers-pool-node');
    await own.close();
  });

  test('several machines are listed with their room, and twenty of them fit', async () => {
    const own = await opened({ ...made, hosts: [able, attic, cellar] });
    const rows = own.page.getByRole('region', { name: 'Computer hosts' }).getByRole('listitem');
    expect(await rows.nth(1).textContent()).toMatch(/^attic0 of 20 computersTraffic proven: Not yet/);
    await looked(own.page, 'computers-pool');
    await own.close();
    const more = await opened(veryMuch);
    const all = more.page.getByRole('region', { name: 'Computer hosts' }).getByRole('listitem');
    expect(await all.count()).toBe(21);
    expect(await all.nth(4).textContent()).toContain('Makes none. The computer host host 3 is not linked.');
    await looked(more.page, 'computers-pool-many');
    await more.close();
  });

  test('a new computer may ask for what can be held here, within its bounds, and for nothing else', async () => {
    const own = await opened({ ...made, images: ['acme/'], hosts: [{ ...able, processes: null }] });
    const asked: unknown[] = [];
    await own.page.route('**/v1/computers', (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      asked.push(route.request().postDataJSON());
      return route.fulfill({ status: 201, json: one(4) });
    });
    await own.page.goto(`${gantry.origin}/computers`);
    await own.page.getByRole('button', { name: 'Create a hosted computer' }).click();
    const dialog = own.page.getByRole('dialog', { name: 'Create a hosted computer' });
    await dialog.getByText('More image, limits, lifetime').click();
    expect(await dialog.getByRole('textbox', { name: /^Processes/ }).count()).toBe(0);
    await dialog.getByRole('textbox', { name: /^Image/ }).fill('acme/computer:2');
    const memory = dialog.getByRole('textbox', { name: /^Memory/ });
    await memory.fill('4096');
    await dialog.getByText('Enter a whole number from 128 to 2,048.').waitFor();
    expect(await dialog.getByRole('button', { name: 'Create' }).isDisabled()).toBe(true);
    await looked(own.page, 'computers-create-more');
    await memory.fill('512');
    await dialog.getByRole('textbox', { name: /^Lifetime/ }).fill('3600');
    await own.page.keyboard.press('Control+Enter');
    await dialog.waitFor({ state: 'detached' });
    const limits = { image: 'acme/computer:2', memory_mib: 512, lifetime_seconds: 3600 };
    expect(asked).toEqual([{ toolset: 'desktop', egress: 'public', ...limits }]);
    await own.close();
  });
});
