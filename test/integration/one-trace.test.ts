/**
 * One trace, as a collector of OTLP gets it, from a signed webhook to the merged change: over the cloud's half, its outbox, the link, the ticket, the
 * plan that a bot drafts for it and its run, the step, the model's turns, a tool call with its approval, and the branch that its person merges.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Subscription } from '../../src/contracts/connectors/subscription.ts';
import type { Agent } from '../../src/contracts/factory/agent.ts';
import { attributeKeys } from '../../src/kit/telemetry/telemetry.ts';
import { traceWorker } from '../../src/programs/worker/tracing.ts';
import { startWorker } from '../../src/programs/worker/worker.ts';
import { type Installation, startInstallation } from '../host/paired-support.ts';
import { scratchHome } from '../host/support.ts';
import { caller, keepUntilEnd, onEnd } from '../kit/http/support.ts';
import { type IssueTracker, startIssueTracker } from '../support/issue-tracker/tracker.ts';
import { inOrder, text, tools } from '../support/model-server/script.ts';
import { startModelServer } from '../support/model-server/server.ts';
import { attribute, type CollectedSpan, type Collector, startCollector } from '../support/otlp-collector.ts';

const stop = keepUntilEnd();
const waiting = { timeout: 30_000, interval: 50 };
/** Nothing of it may be in a span: what an outsider wrote, what the model said, the person's key, a phone number. */
const canaries = ['canary-title', 'canary-words', 'sk-test-canary', '15550100'];
const team = `bots:
  - { bot: clerk, harness: shell }
  - { bot: coder, binding: hosted, model: anthropic/claude-x, worktree: true }
`;
const template = { steps: [{ id: 'fix', executor: 'bot:coder', description: 'Fix canary-words.' }] };

let collector: Collector;
let tracker: IssueTracker;
let installation: Installation;
let workspace: string;
beforeAll(async () => {
  collector = await startCollector();
  const model = await startModelServer();
  onEnd(() => model.close());
  model.script(
    inOrder(
      tools({ name: 'file_write', input: { path: 'fixed.txt', content: 'canary-words +15550100\n' } }),
      tools({ name: 'node_done', input: { output: 'canary-words' } }),
      text('canary-words'),
    ),
  );
  tracker = await startIssueTracker({ apiKeys: { 'key-of-ada': 'ada' } });
  onEnd(() => tracker.close());
  const home = scratchHome();
  workspace = join(home, 'ws');
  const git = (...args: readonly string[]) => execFileSync('git', ['-C', workspace, ...args]);
  mkdirSync(join(workspace, '.gantry', 'teams', 'ops'), { recursive: true });
  writeFileSync(join(workspace, '.gantry', 'teams', 'ops', 'team.yaml'), team);
  git('init', '-q', '-b', 'main');
  for (const [name, value] of Object.entries({ name: 'Ada', email: 'ada@example.test' }))
    git('config', `user.${name}`, value);
  git('add', '-A');
  git('commit', '-q', '-m', 'Begin');
  const env = {
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'sk-test-canary-0123456789',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  };
  installation = await startInstallation({ home, env });
  const up = await installation.web('POST', '/api/factory/teams/ops/up', { body: {} });
  expect(up.status, up.text).toBe(200);
}, 60_000);
afterAll(stop);

async function bot(slug: string): Promise<Agent> {
  const { agents } = (await installation.web('GET', '/api/factory/agents')).json as never as { agents: Agent[] };
  return agents.find((agent) => agent.slug === slug) as Agent;
}

/** The names on the way from a span up to the one that began its trace. */
function wayUp(span: CollectedSpan): string[] {
  const above = collector.spans.find(({ spanId }) => spanId === span.parentSpanId);
  return [span.name, ...(above === undefined ? [] : wayUp(above))];
}

const named = (name: string, operation?: string) =>
  collector.spans.find(
    (span) => span.name === name && (operation === undefined || attribute(span, 'gantry.op') === operation),
  ) as CollectedSpan;

/** An issue is opened, its ticket reaches the bot that takes care of them. Resolves once that bot knows of it. */
async function issueReachesClerk(clerk: Agent): Promise<void> {
  const made = await installation.engine('POST', '/api/v1/mcp/connectors', {
    body: { name: 'tracker', url: tracker.url, auth: { type: 'api_key', key: 'key-of-ada' } },
  });
  expect(made.status, made.text).toBe(201);
  const subscribed = await installation.engine('POST', `/api/v1/mcp/connectors/${made.json.id}/events`, {
    body: { name: 'issue.opened', arguments: { project: 'p' }, botId: clerk.id },
  });
  const { subscription } = subscribed.json as never as { subscription: Subscription };
  expect(subscription).toMatchObject({ status: 'active' });
  tracker.issues.open({ project: 'p', title: 'canary-title' });
  const states = async () => {
    const { deliveries } = (await installation.web('GET', '/api/factory/deliveries')).json as never as {
      deliveries: { state: string }[];
    };
    return deliveries.map(({ state }) => state);
  };
  await expect.poll(states, waiting).toEqual([expect.stringMatching(/^(best_effort|verified|unconfirmed)$/)]);
}

async function approveOnce(): Promise<void> {
  const pending = async () =>
    (
      (await installation.web('GET', '/api/factory/approvals?state=pending')).json as never as {
        approvals: { id: string }[];
      }
    ).approvals;
  await expect.poll(async () => (await pending()).length, waiting).toBe(1);
  const [{ id }] = (await pending()) as [{ id: string }];
  const answered = await installation.web('POST', `/api/factory/approvals/${id}/resolve`, {
    body: { decision: 'approve' },
  });
  expect(answered.status, answered.text).toBe(200);
}

test('one trace leads from a signed webhook to the merged change, and has nothing of what was said', async () => {
  const clerk = await bot('clerk');
  await issueReachesClerk(clerk);
  const token = readFileSync(join(installation.home, 'run', 'bots', clerk.id, 'token'), 'utf8').trim();
  const asClerk = caller(Number(new URL(installation.gantry.engineUrl).port), token);
  const drafted = await asClerk('POST', '/api/factory/plans', { body: { title: 'canary-words', template } });
  expect(drafted.status, drafted.text).toBe(201);
  const started = await installation.web('POST', `/api/factory/plans/${drafted.json.id}/run`, {
    body: { projectId: 'p' },
  });
  expect(started.status, started.text).toBe(200);
  const { dagId } = started.json as never as { dagId: string };
  await approveOnce();
  const status = async () => {
    const page = await installation.web('GET', `/api/factory/nodes/${dagId}/fix`);
    return (page.json as never as { card: { status: string } }).card.status;
  };
  await expect.poll(status, waiting).toBe('done');
  const coder = await bot('coder');
  const merged = await installation.web('POST', `/api/factory/agents/${coder.id}/merge`, {
    body: { commit: 'Fix it' },
  });
  expect(merged.status, merged.text).toBe(200);
  expect(readFileSync(join(workspace, 'fixed.txt'), 'utf8')).toContain('canary-words');

  const wanted = ['ticket', 'plan', 'run', 'step', 'invoke_agent', 'approval', 'merge'];
  await expect
    .poll(() => wanted.filter((name) => collector.spans.some((span) => span.name === name)), waiting)
    .toEqual(wanted);
  const toWebhook = ['POST /api/v1/mcp/event-deliveries', 'POST /mcp/events/callback/:key'];
  const toRun = ['run', 'plan', 'POST /api/factory/plans', ...toWebhook];
  const toStep = ['step', ...toRun];
  expect(wayUp(named('ticket'))).toEqual(['ticket', ...toWebhook]);
  expect(wayUp(named('step'))).toEqual(toStep);
  expect(wayUp(named('chat claude-x'))).toEqual(['chat claude-x', 'invoke_agent', ...toStep]);
  expect(wayUp(named('approval'))).toEqual(['approval', 'execute_tool file.write', 'invoke_agent', ...toStep]);
  expect(wayUp(named('merge'))).toEqual(['merge', ...toStep]);
  const { traceId } = named('ticket');
  for (const name of wanted) expect([name, named(name).traceId]).toEqual([name, traceId]);
  // The requests by which a person approves and merges are traces of their own; what they cause is linked to them.
  expect(named('merge').links?.map((link) => link.traceId)).toEqual([
    collector.spans.find(
      (span) => attribute(span, 'gantry.op') === 'mergeWorktree' && attribute(span, 'gantry.principal') === 'owner',
    )?.traceId,
  ]);

  expect(attribute(named('chat claude-x'), 'gen_ai.provider.name')).toBe('anthropic');
  expect(Number(attribute(named('chat claude-x'), 'gen_ai.usage.output_tokens'))).toBeGreaterThan(0);
  expect(attribute(named('approval'), 'gantry.outcome')).toBe('approve');
  expect(attribute(named('step'), 'gantry.outcome')).toBe('done');
  const keys = new Set(collector.spans.flatMap(({ attributes }) => attributes.map(({ key }) => key)));
  expect([...keys].filter((key) => !(attributeKeys as readonly string[]).includes(key))).toEqual([]);
  const all = JSON.stringify(collector.spans);
  for (const secret of [...canaries, token, dagId, clerk.id]) expect(all).not.toContain(secret);
}, 120_000);

test('what a worker does for a task is part of the trace that added it', async () => {
  const added = await installation.web('POST', '/beta/work', { body: { payload: { n: 1 } } });
  expect(added.status, added.text).toBe(201);
  const tracing = await traceWorker({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }, '1');
  const worker = startWorker({
    url: installation.gantry.origin,
    key: readFileSync(installation.places.token, 'utf8').trim(),
    workerId: 'w',
    untilEmpty: true,
    run: tracing.run(async () => ({ ok: true })),
    fetch: tracing.fetch,
    random: Math.random,
  });
  expect(await worker.ended).toMatchObject({ succeeded: 1 });
  await tracing.close();
  await expect.poll(() => named('task') !== undefined && named('POST /beta/work') !== undefined, waiting).toBe(true);
  expect(wayUp(named('task'))).toEqual(['task', 'POST /beta/work']);
});
