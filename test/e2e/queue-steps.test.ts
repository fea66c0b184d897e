/** Steps for workers on the real product: what their pages and those of their tasks show while they wait, run and end, and how one leads to the other. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { commandRunner } from '../../src/programs/worker/command.ts';
import { createTaskFiles } from '../../src/programs/worker/files.ts';
import { findSandbox } from '../../src/programs/worker/sandbox.ts';
import { type Browser, go, openBrowser, type Page, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, wide } from './support/looks.ts';
import { type Queue, queueOf } from './support/queue.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;
let queue: Queue;

const steps = [
  {
    id: 'build',
    title: 'Build the page on the big machine',
    executor: 'queue',
    labels: { gpu: 'a100' },
    command:
      'sed -i s/one/two/ page.txt && echo built > new.txt && until test -e "$GO"; do sleep 0.1; done; echo "Built 2 files"',
    verify: { command: 'grep -q two page.txt && test -s new.txt' },
  },
  {
    id: 'clash',
    title: 'Change the same line',
    executor: 'queue',
    blocked_by: ['build'],
    labels: { gpu: 'h100' },
    command: 'echo three > page.txt',
  },
];

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty' }), openBrowser()]);
  queue = queueOf(gantry);
  first = await visit(browser, gantry.url);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-C', gantry.workspace, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args]);
  git('init', '--quiet', '--initial-branch=main');
  writeFileSync(join(gantry.workspace, 'page.txt'), 'one\n');
  git('add', 'page.txt');
  git('commit', '--quiet', '-m', 'Begin');
  mkdirSync(join(gantry.workspace, '.gantry', 'templates'), { recursive: true });
  const go = join(gantry.home, 'go');
  const text = JSON.stringify({ steps }).replaceAll('$GO', go);
  writeFileSync(join(gantry.workspace, '.gantry', 'templates', 'build.json'), text);
  await gantry.agree();
});
afterAll(async () => {
  await queue?.close();
  await browser?.close();
  await gantry?.remove();
});

/** `gantry worker` with this label, as far as tasks can tell; without a sandbox, so that a file of the test can hold its command. */
async function work(workerId: string, gpu: string) {
  const sandbox = await findSandbox({ wanted: false, network: false, path: process.env.PATH ?? '' });
  const files = createTaskFiles({ url: gantry.origin, key: queue.key, random: Math.random });
  return queue.start(
    workerId,
    1,
    commandRunner(sandbox, () => {}, null, files),
    { labels: { gpu }, images: [] },
  );
}

const step = (page: Page) => page.getByRole('region', { name: 'Step', exact: true });
const task = (page: Page) => page.getByRole('region', { name: 'Task', exact: true });

/** Beside its list in a wide window, over it in a narrow one. */
async function lookedAt(page: Page, name: string): Promise<void> {
  for (const size of [narrow, wide]) {
    await page.setViewportSize(size);
    await looked(page, name);
  }
}

test('a step for a worker says what it waits for, who runs it and what came back, and leads to its task and back', async () => {
  const started = await gantry.cli('workflows', 'run', 'build', '--project', 'shop', '--json');
  const { dagId, nodes } = JSON.parse(started.out) as { dagId: string; nodes: { stepId: string; nodeId: string }[] };
  const { page } = first;
  const open = (stepId: string) => {
    const node = nodes.find((one) => one.stepId === stepId)?.nodeId;
    return go(page, `/work?dag=${dagId}&node=${node}&view=graph`);
  };

  await open('build');
  const unmet = 'waits for a worker: no connected worker has the label gpu=a100 (task task_';
  await step(page).getByText(unmet).waitFor();
  await step(page).getByText('Queued', { exact: true }).first().waitFor();
  await lookedAt(page, 'queue-step-waits');
  await step(page)
    .getByRole('link', { name: /^task_/ })
    .click();
  await task(page).getByText('No connected worker has the label gpu=a100.').waitFor();
  await lookedAt(page, 'queue-step-task');
  await task(page).getByRole('link', { name: 'Build the page on the big machine' }).click();
  await step(page).getByText(unmet).waitFor();

  await work('tower', 'a100');
  await step(page).getByText('is running: worker tower runs task').waitFor();
  await lookedAt(page, 'queue-step-works');
  writeFileSync(join(gantry.home, 'go'), '');
  await expect.poll(() => step(page).getByText('build-1.diff').count()).toBeGreaterThan(0);
  await lookedAt(page, 'queue-step-done');
  await step(page)
    .getByRole('link', { name: /^task_/ })
    .click();
  await task(page).getByText('Built 2 files', { exact: true }).waitFor();
  await lookedAt(page, 'queue-step-task-done');

  await open('clash');
  await step(page).getByText('waits for a worker: no connected worker has the label gpu=h100').waitFor();
  writeFileSync(join(gantry.workspace, 'page.txt'), 'four\n');
  await work('shed', 'h100');
  await step(page).getByText('They do not apply to').first().waitFor();
  await lookedAt(page, 'queue-step-refused');
  expect(first.errors).toEqual([]);
}, 300_000);
