/**
 * The template that ships, on the sample repository, in the product as a person gets it: shell steps, a hosted bot in a worktree of
 * its own against a scripted model server, and one kill −9 while the bot is at work.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { NodePage } from '../../../src/contracts/factory/node.ts';
import type { Flow, RunStarted } from '../../../src/contracts/factory/workflow.ts';
import type { WorktreeDiff } from '../../../src/contracts/factory/worktree-routes.ts';
import { type Product, scratchHome, startProduct } from '../../support/bench/product.ts';
import { text, tools } from '../../support/model-server/script.ts';
import { startModelServer } from '../../support/model-server/server.ts';

const sample = new URL('../../../sample', import.meta.url).pathname;
const check = 'cd wordcount && node --test test/count.test.js';
const noteLine = 'What was wrong and what was changed';
const team = `bots:
  - { bot: fixer, role: coder, binding: hosted, model: anthropic/claude-x, permissions: ACCEPT_EDITS, worktree: true }
`;

async function until<T>(ask: () => Promise<T>, holds: (answer: T) => boolean): Promise<T> {
  const end = performance.now() + 60_000;
  while (true) {
    const answer = await ask();
    if (holds(answer)) return answer;
    if (performance.now() > end) throw new Error(`It did not come so far: ${JSON.stringify(answer).slice(0, 4000)}`);
    await delay(50);
  }
}

test('find, fix, prove: a hosted bot mends the sample on its own branch, through a kill −9, and the person merges its diff', async () => {
  const model = await startModelServer();
  onTestFinished(() => model.close());
  const base = scratchHome({ crew: team });
  onTestFinished(() => base.remove());
  const env = { ...base.env, ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'sk-test-0123456789' };
  const place = { ...base, env };
  const { workspace } = place;
  cpSync(sample, workspace, { recursive: true });
  const source = join(workspace, 'wordcount', 'src', 'count.js');
  const right = readFileSync(source, 'utf8');
  const wrong = right.replace(') + 1)', ') + 2)');
  expect(wrong).not.toBe(right);
  writeFileSync(source, wrong);
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', workspace, ...args], { encoding: 'utf8', stdio: 'pipe' });
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'Person');
  git('config', 'user.email', 'person@example.org');
  git('add', '.');
  git('commit', '-qm', 'The sample, with a mistake');

  // Its first answer is half of the work; while it thinks about the rest, Gantry is killed.
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  model.script(async ({ toolResults }) => {
    if (toolResults.length === 0) return tools({ name: 'file_write', input: { path: 'draft.md', content: 'half\n' } });
    asked();
    await delay(120_000, undefined, { ref: false });
    return text('too late');
  });
  let product: Product = await startProduct(place);
  onTestFinished(() => product.stop());
  const call = <T>(method: string, path: string, body?: unknown) =>
    product.engine.call<T>(method, `/api/factory${path}`, body);
  await call('POST', '/teams/crew/up', {});
  const { dagId, campaignId } = await call<RunStarted>('POST', '/runs', {
    template: 'find-fix-prove',
    projectId: 'shop',
    team: 'crew',
    intent: 'Make the counts right',
    params: { check },
  });
  await isAsked;
  expect(model.requests[0]?.lastUser).toContain('ERR_ASSERTION');
  // A command and a log are shown as they are, not as Markdown.
  expect(model.requests[0]?.lastUser).toContain(`~~~\n${check}\n~~~`);
  await product.kill();

  product = await startProduct(place);
  const flow = () => call<Flow>('GET', `/dags/${dagId}`);
  const stopped = await until(flow, (one) => one.status === 'needs_you');
  expect(stopped.nodes.map((node) => [node.stepId, node.status, node.cause])).toEqual([
    ['find', 'done', 'proven'],
    ['fix', 'needs_you', 'interrupted'],
    ['prove', 'new', 'created'],
  ]);
  const why = await call<{ sentence: string }>('GET', `/why/${dagId}`);
  expect(why.sentence).toMatch(
    /^The run “Make the counts right” needs you because “Fix it” waits for you: Gantry stopped while/,
  );
  const before = model.requests.length;
  // Nothing is done again by itself: a request would be there by now. What the bot had done is still there.
  await delay(300);
  expect(model.requests.length).toBe(before);
  const half = await call<WorktreeDiff>('GET', '/agents/fixer@crew/diff');
  expect(half.files.map((file) => file.path)).toEqual(['draft.md']);

  const calls = [
    { name: 'file_write', input: { path: 'wordcount/src/count.js', content: right } },
    { name: 'file_write', input: { path: 'note.md', content: 'Each word was counted twice.\n' } },
    { name: 'node_proof', input: { line: noteLine, path: 'note.md' } },
    { name: 'node_done', input: { output: 'It counted twice.' } },
  ];
  let next = 0;
  model.script(() => {
    const one = calls[next++];
    return one === undefined ? text('Done.') : tools(one);
  });
  await call('POST', `/nodes/${dagId}/fix/retry`, {});
  const ended = await until(flow, (one) => one.status !== 'running');
  expect(ended.nodes.map((node) => [node.stepId, node.status, node.attempt])).toEqual([
    ['find', 'done', 1],
    ['fix', 'done', 2],
    ['prove', 'done', 1],
  ]);
  expect(ended.status).toBe('done');

  const page = await call<NodePage>('GET', `/nodes/${dagId}/fix`);
  expect(page.files.map((file) => [file.name, file.mime])).toEqual([
    ['note.md', 'text/markdown'],
    ['fix-2.diff', 'text/x-diff'],
  ]);
  const kept = readFileSync(join(workspace, page.files[1]?.path ?? ''), 'utf8');
  expect(kept).toMatch(/^\+.*\) \+ 1\);$/m);
  expect(page.proofs.map((proof) => [proof.line, proof.outcome])).toEqual([
    [noteLine, 'proven'],
    ['The diff of its worktree', 'proven'],
  ]);
  const board = await call<{ summary: { proven: { k: number; n: number } } }>('GET', `/campaigns/${campaignId}/board`);
  expect(board.summary.proven).toEqual({ k: 3, n: 3 });

  // Until the person merges it, the checkout is as it was; the proof was made where the bot works.
  expect(readFileSync(source, 'utf8')).toBe(wrong);
  const diff = await call<WorktreeDiff>('GET', '/agents/fixer@crew/diff');
  expect(diff.branch).toMatch(/^gantry\/crew\/fixer--fix-/);
  expect(diff.files.map((file) => file.path)).toEqual(['draft.md', 'note.md', 'wordcount/src/count.js']);
  const merge = { commit: 'Count each word once' };
  await call('POST', '/agents/fixer@crew/merge', { ...merge, dryRun: true });
  expect(readFileSync(source, 'utf8')).toBe(wrong);
  await call('POST', '/agents/fixer@crew/merge', merge);
  expect(readFileSync(source, 'utf8')).toBe(right);
  const verdict = await call<{ ok: boolean }>('GET', '/ledger/verify');
  expect(verdict.ok).toBe(true);
}, 120_000);
