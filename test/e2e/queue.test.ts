/** The page of the work queue: what waits, who works on it, and what a person does about it; with real workers, on one server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  axe,
  type Browser,
  byLetters,
  focusedName,
  inFocus,
  type Locator,
  openBrowser,
  type Page,
  type Visit,
  visit,
} from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, picture, wide } from './support/looks.ts';
import { type Queue, queueOf } from './support/queue.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;
let queue: Queue;

beforeAll(async () => {
  const env = { GANTRY_TASK_IMAGES: 'ghcr.io/acme/,alpine' };
  [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty', env }), openBrowser()]);
  queue = queueOf(gantry);
  first = await visit(browser, gantry.url);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
});
afterAll(async () => {
  await queue?.close();
  await browser?.close();
  await gantry?.remove();
});

const row = (page: Page, id: string): Locator => page.locator('tr', { has: page.locator(`[data-task="${id}"]`) });
const inspector = (page: Page): Locator => page.getByRole('region', { name: 'Task', exact: true });
const seen = (where: Locator, text: string | RegExp) =>
  where.getByText(text).filter({ visible: true }).first().waitFor();
const openTask = (page: Page) => new URL(page.url()).searchParams.get('task') ?? '';
const command = (page: Page): Locator =>
  page.getByRole('dialog', { name: 'Add task' }).getByRole('textbox', { name: /^Command/ });
const result = (stdout: string) => ({ exit_code: 0, stdout, stderr: '', truncated: false, duration_ms: 1200 });

test('an empty queue says what it is for and which lines begin, and g q leads to it', async () => {
  const { page } = first;
  await byLetters(page, 'g', 'q', 'Queue');
  await page.getByText(/^curl .*\/beta\/work/).waitFor();
  await page.getByText(`npx gantry worker --url ${gantry.origin} --key-file key`).waitFor();
  await expect.poll(() => page.locator('[data-status-filter="queued"]').textContent()).toBe('Queued0');
  expect(await axe(page)).toEqual([]);
  await picture(page, 'queue-empty-dark');
});

test.each([
  ['sessions', 'Sessions', 'Make a sample session', 'Sample session'],
  ['deployments', 'Deployments', 'Make a sample deployment', 'Sample deployment'],
])(
  'without %s the page says what they are for, and makes a sample with a task in one click',
  async (kind, title, label, name) => {
    const { page } = first;
    await page.goto(`${gantry.origin}/queue/${kind}`);
    await page.getByRole('heading', { name: title, level: 1 }).waitFor();
    await page.getByRole('button', { name: label }).waitFor();
    await looked(page, `queue-${kind}-empty`);
    await page.getByRole('button', { name: label }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    const sample = page.locator('tr', { hasText: 'echo Hello from the queue' });
    await seen(sample, 'Queued');
    const id = await sample.locator('[data-task]').getAttribute('data-task');
    await queue.call('POST', `/beta/work/${id}/stop`, {});
    await seen(sample, 'Cancelled');
    await page.goto(`${gantry.origin}/queue`);
    await page.getByRole('heading', { name: 'Queue', level: 1 }).waitFor();
  },
);

test('a task is handed in with keys alone, opens, and is followed to its end without a reload', async () => {
  const { page } = first;
  await page.evaluate(() => Object.assign(window, { sameDocument: true }));
  await page.keyboard.press('n');
  await inFocus(command(page));
  await page.keyboard.type('npm test');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('2');
  expect(await axe(page)).toEqual([]);
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => openTask(page)).toMatch(/^task_/);
  const id = openTask(page);
  await seen(row(page, id), 'Queued');
  await seen(inspector(page), '0 of 2');

  const { worker, job } = queue.work('tower');
  await seen(row(page, id), 'Running');
  await seen(row(page, id), 'tower');
  await seen(row(page, id), /^\d\d s left$/);
  await seen(inspector(page), '1 of 2');
  await seen(page.locator('[data-worker="tower"]'), 'Working');
  (await job(id)).done(result('8 passed'));
  await seen(row(page, id), 'Succeeded');
  await seen(inspector(page), 'exit code 0, 1.2 s');
  await seen(inspector(page), '8 passed');
  await expect.poll(() => page.getByRole('button', { name: /^(Retry|Stop)/ }).count()).toBe(0);
  // Now it waits for the next one.
  await seen(page.locator('[data-worker="tower"]'), 'Polling');
  worker.drain();
  await seen(page.locator('[data-worker="tower"]'), 'Drained');
  expect(await page.evaluate(() => 'sameDocument' in window)).toBe(true);
});

describe.each([wide, narrow])('what few tasks ask for, in a $name window', (size) => {
  const dialog = (page: Page) => page.getByRole('dialog', { name: 'Add task' });
  const field = (page: Page, label: string) => dialog(page).getByRole('textbox', { name: label, exact: true });
  const more = (page: Page) => dialog(page).locator('summary', { hasText: /^More/ });
  const submit = (page: Page) => dialog(page).getByRole('button', { name: 'Add task' }).click();
  const why = 'No connected worker has the labels gpu=a100, zone=eu and runs the image alpine:3.';

  async function opened(): Promise<Visit> {
    const own = await visit(browser, `${gantry.origin}/queue`, { ...size, like: first.context });
    const add = own.page.getByRole('button', { name: /^Add task/ }).first();
    await add.click();
    await command(own.page).fill('make train');
    await expect.poll(() => field(own.page, 'Image').count()).toBe(0);
    await more(own.page).click();
    await field(own.page, 'Image').waitFor();
    return own;
  }
  async function fill(page: Page, texts: Readonly<Record<string, string>>): Promise<void> {
    for (const [label, text] of Object.entries(texts)) await field(page, label).fill(text);
  }

  test('is folded under More; each problem stands at its field, also what the queue refuses, and the task shows all of it', async () => {
    const own = await opened();
    const { page } = own;
    await looked(page, 'queue-more-empty', { light: true });
    await field(page, 'Fairness key').scrollIntoViewIfNeeded();
    await looked(page, 'queue-more-empty-end', { light: true });

    await fill(page, { 'Worker labels': 'GPU=a100', 'Retry after': 'exit_*, timeout', 'Rate key': 'api' });
    // Folded again, it unfolds for what is wrong inside.
    await more(page).click();
    await submit(page);
    await inFocus(field(page, 'Worker labels'));
    await seen(dialog(page), '"GPU" is not a label name.');
    await seen(dialog(page), 'Enter how many tasks with this key may start per minute.');
    await looked(page, 'queue-more-wrong', { light: true });

    await fill(page, {
      ...{ Image: 'debian:12', 'Worker labels': 'gpu=a100, zone=eu', 'First wait (seconds)': '30' },
      ...{ 'Concurrency key': 'training', 'Tasks at once': '2', 'Starts per minute': '30', 'Fairness key': 'team-a' },
    });
    await submit(page);
    await inFocus(field(page, 'Image'));
    await seen(dialog(page), /^The image debian:12 is not allowed here\. Name an image that your administrator allows/);
    expect(await dialog(page).getByRole('alert').count()).toBe(0);
    await looked(page, 'queue-more-refused', { light: true });
    await fill(page, { Image: 'alpine:3' });
    await expect.poll(() => dialog(page).getByText('is not allowed here').count()).toBe(0);
    await submit(page);

    await expect.poll(() => openTask(page)).toMatch(/^task_/);
    for (const words of [why, 'gpu=a100, zone=eu', 'after exit_*, timeout; first after 30 s', 'training', '2 at once'])
      await seen(inspector(page), words);
    for (const words of ['30 per minute', 'team-a', 'alpine:3']) await seen(inspector(page), words);
    await looked(page, 'queue-more-task', { light: true });
    await queue.call('POST', `/beta/work/${openTask(page)}/stop`, {});
    await seen(inspector(page), 'Cancelled');
    // The browser itself notes the refusal.
    expect(own.errors.filter((error) => !/status of 400/.test(error))).toEqual([]);
    await own.close();
  });

  test('fits with as much in each field as it takes', async () => {
    const own = await opened();
    const { page } = own;
    const many = (count: number, one: (n: number) => string) =>
      Array.from({ length: count }, (_, n) => one(n)).join(', ');
    const key = (kind: string) => `${kind}-${'without-an-end-'.repeat(20)}`.slice(0, 200);
    const texts = {
      Image: `ghcr.io/acme/${'very-long-name/'.repeat(40)}`.slice(0, 500),
      'Worker labels': many(16, (n) => `${n}${'n'.repeat(60)}=${'v'.repeat(63)}`),
      'Retry after': many(20, (n) => `e${n}_${'code_'.repeat(12)}`.slice(0, 63)),
      'First wait (seconds)': '86400',
      ...{ 'Concurrency key': key('shared'), 'Tasks at once': '1000' },
      ...{ 'Rate key': key('api'), 'Starts per minute': '60000', 'Fairness key': key('team') },
    };
    await fill(page, texts);
    await looked(page, 'queue-more-full', { light: true });
    await fill(page, { 'Worker labels': `${texts['Worker labels']}, one=more` });
    await submit(page);
    await seen(dialog(page), 'Too many: 17 labels. At most 16.');
    await fill(page, { 'Worker labels': texts['Worker labels'] });
    await submit(page);
    await expect.poll(() => openTask(page)).toMatch(/^task_/);
    await seen(inspector(page), /^No connected worker has the labels 0n{60}=/);
    await looked(page, 'queue-more-full-task', { light: true });
    await queue.call('POST', `/beta/work/${openTask(page)}/stop`, {});
    await seen(inspector(page), 'Cancelled');
    expect(own.errors).toEqual([]);
    await own.close();
  });
});

test('a worker that drains is said to, until what it holds is done', async () => {
  const { page } = first;
  const id = await queue.add('make dist');
  const { worker, job } = queue.work('laptop');
  await seen(row(page, id), 'Running');
  worker.drain();
  await seen(page.locator('[data-worker="laptop"]'), 'Draining');
  await seen(page.locator('[data-worker="laptop"]'), 'holds 1');
  (await job(id)).done(null);
  await seen(page.locator('[data-worker="laptop"]'), 'Drained');
  await worker.ended;
});

test('a task that no worker can run says why in its row and in full, with what it asks for', async () => {
  const { page } = first;
  const { worker, job } = queue.work('gpu-1', 1, { labels: { gpu: 'a100', zone: 'eu' }, images: ['ghcr.io/acme/'] });
  await seen(page.locator('[data-worker="gpu-1"]'), 'gpu=a100, zone=eu · ghcr.io/acme/');
  const id = await queue.add('python train.py', {
    ...{ labels: { gpu: 'h100' }, sandbox_image: 'ghcr.io/acme/train:3', retry: { on: ['exit_*', 'timeout'] } },
    ...{
      concurrency_key: 'training',
      concurrency_limit: 2,
      rate: { key: 'api', per_minute: 30 },
      fairness_key: 'team-a',
    },
  });
  const why = 'No connected worker has the label gpu=h100 and runs the image ghcr.io/acme/train:3.';
  await seen(row(page, id), why);
  await row(page, id).getByRole('button').click();
  for (const words of [why, 'gpu=h100', 'after exit_*, timeout; first after 10 s', 'training', '2 at once', 'team-a'])
    await seen(inspector(page), words);
  await seen(inspector(page), '30 per minute');
  await looked(page, 'queue-waits', { light: true });
  const small = await visit(browser, `${gantry.origin}/queue?task=${id}`, { ...narrow, like: first.context });
  await seen(small.page.getByRole('dialog', { name: 'Task' }), why);
  await looked(small.page, 'queue-waits', { light: true });
  await small.close();
  const met = await queue.add('python eval.py', { labels: { gpu: 'a100' } });
  (await job(met)).done(result('ok'));
  // The pointer is over the rows, which hold their places: the new one waits behind a button.
  const status = async () => (await queue.call<{ task: { status: string } }>('GET', `/beta/work/${met}`)).task.status;
  await expect.poll(status).toBe('succeeded');
  await queue.call('POST', `/beta/work/${id}/stop`, {});
  await seen(row(page, id), 'Cancelled');
  worker.drain();
  await worker.ended;
  await page.keyboard.press('Escape');
  await page.mouse.move(0, 0);
  await seen(row(page, met), 'Succeeded');
});

test('a running task is asked to stop or ended at once; what was given up goes back into the line', async () => {
  const { page } = first;
  const id = await queue.add('sleep 1000');
  const { worker } = queue.work('bench');
  await seen(row(page, id), 'Running');
  await row(page, id).getByRole('button').click();
  await inspector(page).getByRole('button', { name: 'Stop' }).click();
  const dialog = page.getByRole('dialog', { name: 'Stop this task?' });
  await dialog.getByText(/^bench learns of it at its next heartbeat/).waitFor();
  expect(await axe(page)).toEqual([]);
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'detached' });
  await seen(row(page, id), 'Stopping');
  await seen(inspector(page), 'requested; the worker learns of it at its next heartbeat');
  worker.drain();
  // It was asked already: what is left is to end it.
  await inspector(page).getByRole('button', { name: 'Stop' }).click();
  await dialog.getByRole('button', { name: 'Stop now' }).click();
  await seen(row(page, id), 'Cancelled');
  await inspector(page).getByRole('button', { name: 'Retry' }).click();
  await seen(row(page, id), 'Queued');
  await seen(inspector(page), '0 of 5');
  // Nobody holds it: there is one way to end it, and the way back.
  await inspector(page).getByRole('button', { name: 'Stop' }).click();
  await dialog.getByText('No worker holds this task').waitFor();
  await expect.poll(() => dialog.getByRole('radio').count()).toBe(0);
  await page.keyboard.press('Control+Enter');
  await seen(row(page, id), 'Cancelled');
});

test('several tasks are ticked by key and by mouse, stopped together, put back together, and that is taken back', async () => {
  const { page } = first;
  const ids = [await queue.add('sleep 1001'), await queue.add('sleep 1002'), await queue.add('sleep 1003')] as const;
  await page.keyboard.press('Escape');
  for (const id of ids) await seen(row(page, id), 'Queued');
  await row(page, ids[0]).getByRole('button').focus();
  await page.keyboard.press('x');
  for (const id of ids.slice(1)) await row(page, id).getByRole('checkbox').check();
  const bar = page.getByRole('toolbar', { name: 'Selected tasks' });
  await bar.getByText('3 selected').waitFor();
  await bar.getByRole('button', { name: 'Stop 3' }).click();
  const dialog = page.getByRole('dialog', { name: 'Stop 3 tasks now?' });
  await dialog.getByText('sleep 1002').waitFor();
  expect(await axe(page)).toEqual([]);
  await looked(page, 'queue-many');
  await dialog.getByRole('button', { name: 'Stop 3', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  for (const id of ids) await seen(row(page, id), 'Cancelled');
  await expect.poll(() => bar.count()).toBe(0);
  for (const id of ids.slice(0, 2)) await row(page, id).getByRole('checkbox').check();
  await bar.getByRole('button', { name: 'Retry 2' }).click();
  for (const id of ids.slice(0, 2)) await seen(row(page, id), 'Queued');
  await page.getByText('Put back 2 tasks').waitFor();
  await page.keyboard.press('Control+z');
  for (const id of ids) await seen(row(page, id), 'Cancelled');
});

test('what cannot be done any more is refused in words, where it was asked', async () => {
  const { page } = first;
  const id = await queue.add('true');
  await row(page, id).getByRole('button').click();
  // It ends by itself between the question and the answer.
  await page.route('**/beta/work/*/stop', async (route) => {
    await queue.call('POST', `/beta/work/${id}/stop`);
    await route.continue();
  });
  await inspector(page).getByRole('button', { name: 'Stop' }).click();
  const dialog = page.getByRole('dialog', { name: 'Stop this task?' });
  await dialog.getByRole('button', { name: 'Stop now' }).click();
  await dialog.getByText(`Task ${id} has already ended: cancelled.`).waitFor();
  await page.unroute('**/beta/work/*/stop');
  await page.keyboard.press('Escape');
  await page.route('**/beta/work/*/retry', async (route) => {
    await queue.call('POST', `/beta/work/${id}/retry`);
    await route.continue();
  });
  await inspector(page).getByRole('button', { name: 'Retry' }).click();
  await seen(inspector(page), `Task ${id} is queued.`);
  await page.unroute('**/beta/work/*/retry');
  await queue.call('POST', `/beta/work/${id}/stop`);
  // The browser itself notes each refusal.
  expect(first.errors.filter((error) => !/status of 40[49]/.test(error))).toEqual([]);
  first.errors.length = 0;
});

let session: string;
let deployment: string;

test('a task leads to its session and deployment, which show what they are, their tasks, and the way back', async () => {
  const { page } = first;
  session = (await queue.call('POST', '/beta/sessions', { title: 'Nightly build', metadata: { branch: 'main' } })).id;
  deployment = (
    await queue.call('POST', '/beta/deployments', { name: 'shop in production', metadata: { region: 'eu' } })
  ).id;
  const env = { API_TOKEN: 'not-for-everybody', LANG: 'C' };
  const id = await queue.add('./deploy.sh', { session_id: session, deployment_id: deployment, env });
  // The columns have room once nothing is open.
  await page.keyboard.press('Escape');
  await row(page, id).getByRole('link', { name: 'Nightly build' }).click();
  await page.getByRole('heading', { name: 'Nightly build', level: 1 }).waitFor();
  await page.getByText('"branch": "main"').waitFor();
  await expect.poll(() => page.locator('tr [data-task]').count()).toBe(1);
  expect(await axe(page)).toEqual([]);
  await row(page, id).getByRole('button').click();
  await inspector(page).getByRole('link', { name: 'shop in production' }).click();
  await page.getByRole('heading', { name: 'shop in production', level: 1 }).waitFor();
  await row(page, id).getByRole('link', { name: 'Nightly build' }).waitFor();
  // What is handed in here belongs to it.
  await page.keyboard.press('n');
  await inFocus(command(page));
  await page.keyboard.type('./smoke-test.sh');
  await page.keyboard.press('Control+Enter');
  await inspector(page).getByRole('link', { name: 'shop in production' }).waitFor();
  await expect.poll(() => page.locator('tr [data-task]').count()).toBe(2);
  await page.getByRole('link', { name: 'Deployments' }).click();
  await page.getByRole('link', { name: /^shop in production/ }).waitFor();
  await page.getByRole('link', { name: 'Back to the queue' }).click();
  await page.getByRole('heading', { name: 'Queue', level: 1 }).waitFor();

  await row(page, id).getByRole('button').click();
  await seen(inspector(page), 'API_TOKEN');
  expect(await page.content()).not.toContain('not-for-everybody');
  await inspector(page).getByRole('button', { name: 'Show values' }).click();
  await seen(inspector(page), 'not-for-everybody');
  await inspector(page).getByRole('button', { name: 'Hide values' }).click();
  await expect.poll(() => page.content()).not.toContain('not-for-everybody');
});

test('a session that there is not is said once, with the way back and nothing to hand in', async () => {
  const { page } = first;
  await page.goto(`${new URL(page.url()).origin}/queue/sessions/session_nope`);
  await page.getByText('There is no session "session_nope".').waitFor();
  await expect.poll(() => page.getByRole('alert').count()).toBe(1);
  await expect.poll(() => page.getByRole('button', { name: 'Add task' }).count()).toBe(0);
  await page.getByRole('link', { name: 'Back to the queue' }).click();
  await page.getByRole('heading', { name: 'Queue', level: 1 }).waitFor();
});

describe('with a thousand tasks', () => {
  /** Any list that falls back to its skeleton while it is looked at. */
  const flickers = (page: Page) => page.evaluate(() => (window as unknown as { flickers: number }).flickers);

  beforeAll(async () => {
    const long = `python3 train.py --data ${'/mnt/a-long-way-to-go'.repeat(12)}`;
    const commands = ['npm run build -- --filter=web', 'pytest -q tests/checkout', './reindex.sh --shard 12', long];
    for (let group = 0; group < 1000; group += 25) {
      await Promise.all(
        Array.from({ length: 25 }, (_, index) =>
          queue.add(commands[(group + index) % commands.length] ?? '', {
            ...(index % 3 === 0 ? { session_id: session } : {}),
            ...(index % 5 === 0 ? { deployment_id: deployment } : {}),
            ...(index === 24 ? { not_before: new Date(Date.now() + 3_600_000).toISOString() } : {}),
          }),
        ),
      );
    }
  });

  test('the page shows one page of them, and leafs to the oldest and back', async () => {
    const { page } = first;
    await page.goto(`${gantry.origin}/queue`);
    await expect.poll(() => page.locator('[data-status-filter="queued"]').textContent()).toMatch(/^Queued10\d\d$/);
    await expect.poll(() => page.locator('tr [data-task]').count()).toBe(50);
    const newest = await page.locator('tr [data-task]').first().getAttribute('data-task');
    await page.getByRole('button', { name: 'Older' }).click();
    await expect.poll(() => page.locator('tr [data-task]').first().getAttribute('data-task')).not.toBe(newest);
    await expect.poll(() => page.locator('tr [data-task]').count()).toBe(50);
    // The page is in the address: a reload shows it, and so does the way back.
    await page.reload();
    await page.getByRole('button', { name: 'Newest' }).waitFor();
    await page.goBack();
    await expect.poll(() => page.locator('tr [data-task]').first().getAttribute('data-task')).toBe(newest);
  });

  test('filters by status, worker, session and deployment are in the address and can be taken back', async () => {
    const { page } = first;
    const statuses = () =>
      page
        .locator('tr[data-status]')
        .evaluateAll((rows) => [...new Set(rows.map((one) => one.getAttribute('data-status')))]);
    await page.getByRole('button', { name: 'Succeeded' }).click();
    await expect.poll(statuses).toEqual(['succeeded']);
    await expect.poll(() => new URL(page.url()).searchParams.get('status')).toBe('succeeded');
    await page.getByLabel('Filter by worker').fill('laptop');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('tr [data-task]').count()).toBe(1);
    await page.getByLabel('Filter by session').fill(session);
    await page.getByText('No task matches this filter.').waitFor();
    await page.getByRole('button', { name: 'Show all tasks' }).click();
    await expect.poll(() => page.locator('tr [data-task]').count()).toBe(50);
    await page.locator('[data-worker="bench"] button').click();
    const worker = page.getByRole('searchbox', { name: 'Filter by worker' });
    await expect.poll(() => worker.inputValue()).toBe('bench');
    await expect.poll(() => new URL(page.url()).searchParams.get('worker_id')).toBe('bench');
    await worker.fill('');
    await expect.poll(() => new URL(page.url()).searchParams.get('worker_id')).toBeNull();
    await expect.poll(() => page.locator('tr [data-task]').count()).toBe(50);
  });

  test('the words of a page are searched and its tasks grouped, both in the address; a group is ticked at once', async () => {
    const { page } = first;
    await page.goto(`${gantry.origin}/queue`);
    const shown = page.locator('tr [data-task]');
    await expect.poll(() => shown.count()).toBe(50);
    await page.keyboard.press('/');
    await expect.poll(() => focusedName(page)).toBe('Search this page of tasks');
    await page.keyboard.type('REINDEX 12');
    await expect.poll(async () => [...new Set(await shown.allTextContents())]).toEqual(['./reindex.sh --shard 12']);
    await page.keyboard.press('Control+A');
    await page.keyboard.type('nothing says this');
    await page.getByText('No task on this page matches.').waitFor();
    await page.getByRole('button', { name: 'Older' }).waitFor();
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Delete');
    await page.getByRole('combobox', { name: 'Group tasks' }).selectOption('session');
    const group = (name: string) => page.locator('tbody', { has: page.locator('th', { hasText: name }) });
    const ofSession = group('Nightly build').locator('[data-task]');
    await expect.poll(() => ofSession.count()).toBeGreaterThan(10);
    expect((await ofSession.count()) + (await group('No session').locator('[data-task]').count())).toBe(50);
    await page.getByRole('checkbox', { name: 'Select all of Nightly build' }).check();
    await page
      .getByRole('toolbar', { name: 'Selected tasks' })
      .getByText(`${await ofSession.count()} selected`)
      .waitFor();
    await looked(page, 'queue-groups');
    await page.reload();
    await group('Nightly build').waitFor();
    await page.setViewportSize(narrow);
    await looked(page, 'queue-groups');
    await page.setViewportSize(wide);
    await page.getByRole('combobox', { name: 'Group tasks' }).selectOption('none');
    await expect.poll(() => new URL(page.url()).searchParams.get('group')).toBeNull();
  });

  test('arrows move between rows, Enter opens, Escape gives the row back', async () => {
    const { page } = first;
    await page.getByRole('heading', { name: 'Queue', level: 1 }).click();
    await page.keyboard.press('Escape');
    const ids = await page
      .locator('tr [data-task]')
      .evaluateAll((rows) => rows.map((one) => one.getAttribute('data-task')));
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-task'));
    await expect.poll(focused).toBe(ids[0]);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => openTask(page)).toBe(ids[2]);
    await inspector(page).getByRole('button', { name: 'Stop' }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => openTask(page)).toBe('');
    await expect.poll(focused).toBe(ids[2]);
  });

  test('under four workers the rows change where they stand: no skeleton, and nothing moves away from the pointer', async () => {
    const { page } = first;
    await page.goto(`${gantry.origin}/queue`);
    await expect.poll(() => page.locator('tr [data-task]').count()).toBe(50);
    await page.evaluate(() => {
      Object.assign(window, { flickers: 0 });
      new MutationObserver(() => {
        if (document.querySelector('main [data-state]') !== null) Object.assign(window, { flickers: 1 });
      }).observe(document.body, { childList: true, subtree: true });
    });
    const quick = Array.from({ length: 4 }, (_, index) =>
      queue.start(`quick-${index}`, 4, async ({ task }) => {
        if (task.id.endsWith('0')) throw new Error('Exit code 2: the tests of the checkout failed in three places');
        return result('built');
      }),
    );
    const first25 = await page
      .locator('tr [data-task]')
      .evaluateAll((rows) => rows.slice(0, 25).map((one) => one.getAttribute('data-task')));
    await page.locator('tr [data-task]').nth(3).hover();
    const late = await queue.add('echo late');
    await page.getByRole('button', { name: 'Show 1 newer' }).waitFor();
    expect(
      await page
        .locator('tr [data-task]')
        .evaluateAll((rows) => rows.slice(0, 25).map((one) => one.getAttribute('data-task'))),
    ).toEqual(first25);
    await page.getByRole('button', { name: 'Show 1 newer' }).click();
    await row(page, late).waitFor();
    await expect.poll(() => page.locator('[data-status-filter="failed"]').textContent()).toMatch(/^Failed[1-9]/);
    await expect
      .poll(() => page.locator('[data-status-filter="queued"]').textContent(), { timeout: 60_000 })
      .toBe('Queued40');
    expect(await flickers(page)).toBe(0);
    for (const worker of quick) worker.drain();
    await Promise.all(quick.map((worker) => worker.ended));
  });

  /** What waits, what runs, under a long name too, what failed, and a worker that drains. */
  async function somethingOfEverything(): Promise<void> {
    const ids: string[] = [];
    for (let part = 0; part < 12; part += 1)
      ids.push(await queue.add(`./import.sh --part ${part}`, { session_id: session }));
    const tower = queue.work('tower', 2);
    (await tower.job(ids[0] ?? '')).fail('The disk is full: part 0 needs 3 GiB');
    await tower.job(ids[2] ?? '');
    const long = queue.work('build-runner-with-a-very-long-name.eu-central-1.compute.internal', 2);
    await long.job(ids[4] ?? '');
    const laptop = queue.work('laptop');
    await laptop.job(ids[5] ?? '');
    laptop.worker.drain();
  }

  describe.each([wide, narrow])('in a $name window', (size) => {
    test('the page, a task and its session fit, and axe finds nothing', async () => {
      const isNarrow = size === narrow;
      if (!isNarrow) await somethingOfEverything();
      const own = await visit(browser, `${gantry.origin}/queue`, { ...size, like: first.context });
      const { page } = own;
      await page.locator('tr[data-status="running"]').first().waitFor();
      if (!isNarrow) await page.getByRole('link', { name: 'Nightly build' }).first().waitFor();
      await page.locator('[data-worker="tower"]').getByText('Working').waitFor();
      await looked(page, 'queue');

      await page.getByRole('button', { name: /^Failed/ }).click();
      await page.locator('tr[data-status="failed"] [data-task]').first().click();
      await seen(inspector(page), 'Error: worker_error');
      await looked(page, 'queue-task');
      if (isNarrow) {
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      }
      await page.goto(`${gantry.origin}/queue/sessions/${session}`);
      await page.locator('tr [data-task]').first().waitFor();
      await looked(page, 'queue-session');
      expect(own.errors).toEqual([]);
      await own.close();
    });
  });
});

describe.each([wide, narrow])('the history in a $name window', (size) => {
  const chart = (page: Page, name: string) => page.getByRole('region', { name });

  test('draws what waited, what was added and ended, and how old the oldest was, each with a table and a file', async () => {
    for (let part = 0; part < 4; part += 1) await queue.add(`./report.sh ${part}`);
    const own = await visit(browser, `${gantry.origin}/queue`, { ...size, like: first.context });
    const { page } = own;
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByRole('heading', { name: 'Queue history', level: 1 }).waitFor();
    await page.getByLabel('Range').selectOption({ label: 'Last hour' });
    await expect.poll(() => new URL(page.url()).searchParams.get('range')).toBe('hour');
    const added = chart(page, 'Throughput');
    await added.locator('canvas').waitFor();
    await added.getByText('Table', { exact: true }).click();
    const table = added.getByRole('table', { name: 'Throughput' });
    expect(await table.getByRole('columnheader').allTextContents()).toEqual([
      'Time',
      'Added',
      'Succeeded',
      'Failed',
      'Cancelled',
    ]);
    expect(await table.getByRole('row').count()).toBe(61);
    const { moments } = await queue.call<{ moments: { added: number }[] }>(
      'GET',
      '/beta/work/stats/history?range=hour',
    );
    const sum = moments.reduce((all, moment) => all + moment.added, 0);
    expect(sum).toBeGreaterThan(3);
    await expect
      .poll(async () =>
        (await table.locator('tbody td:nth-child(2)').allTextContents()).reduce(
          (all, text) => all + Number(text.replaceAll(',', '')),
          0,
        ),
      )
      .toBe(sum);
    const age = chart(page, 'Age of the oldest waiting task');
    await age.getByText('Table', { exact: true }).click();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      age.getByRole('button', { name: 'Download CSV' }).click(),
    ]);
    expect(file.suggestedFilename()).toBe('Age of the oldest waiting task.csv');
    await looked(page, 'queue-history');
    expect(own.errors).toEqual([]);
    await own.close();
  });

  test.each(['none', 'very many'])('fits with tasks: %s', async (many) => {
    const own = await visit(browser, `${gantry.origin}/queue`, { ...size, like: first.context });
    const { page } = own;
    const step = 3600_000;
    const end = Math.floor(Date.now() / step) * step;
    const moments = Array.from({ length: 168 }, (_, place) => {
      const wave = many === 'none' ? 0 : 1 + Math.sin(place / 9);
      return {
        at: new Date(end - (167 - place) * step).toISOString(),
        depth: Math.round(wave * 650_000),
        oldest_seconds: many === 'none' ? null : Math.round(wave * 90_000),
        added: Math.round(wave * 120_000),
        succeeded: Math.round(wave * 100_000),
        failed: Math.round(wave * 9_000),
        cancelled: Math.round(wave * 900),
      };
    });
    await page.route('**/stats/history?**', (route) => route.fulfill({ json: { step_seconds: 3600, moments } }));
    await page.goto(`${gantry.origin}/queue/history?range=week`);
    await page.locator('canvas').nth(2).waitFor();
    const words = page.getByText('No task waited or ended in this period.');
    await expect.poll(() => words.count()).toBe(many === 'none' ? 1 : 0);
    await looked(page, `queue-history-${many.replace(' ', '-')}`);
    expect(own.errors).toEqual([]);
    await own.close();
  });
});

test('while the queue does not answer, what was known stays, with the reason and the next try; then it goes on', async () => {
  const { page } = first;
  await page.goto(`${gantry.origin}/queue?status=succeeded`);
  await page.locator('tr [data-task]').first().waitFor();
  await page.route('**/beta/work?**', (route) => route.abort());
  await queue.add('true', { not_before: new Date(Date.now() + 3_600_000).toISOString() });
  await page.getByRole('alert').getByText('Nobody answers at Gantry.').waitFor();
  await page.locator('[data-stale="true"] tr [data-task]').first().waitFor();
  await picture(page, 'queue-away-dark');
  await page.getByRole('button', { name: 'Cancelled' }).click();
  await page.getByRole('button', { name: /^Try again/ }).waitFor();
  await page.unroute('**/beta/work?**');
  await page.locator('tr[data-status="cancelled"]').first().waitFor();
  await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  await page.goto(`${gantry.origin}/queue?task=task_unknown`);
  await inspector(page).getByText('There is no task task_unknown.').waitFor();
});
