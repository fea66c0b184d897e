/** What bots report while their engine is away, with the real command line in the place of a bot's program and a real engine. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { NodeCard, NodePage } from '../../../src/contracts/factory/node.ts';
import type { RunStarted } from '../../../src/contracts/factory/workflow.ts';
import { type Ran, run } from '../../cli/support.ts';
import { type Engine, startEngine, waitFor } from '../engine.ts';

const team = `bots:
  - bot: coder
    role: coder
    harness: shell
  - bot: other
    role: other
    harness: shell
`;
const fix = { id: 'fix', title: 'Fix it', executor: 'role:coder', description: 'Fix what is broken.' };

interface Bot {
  readonly engine: Engine;
  readonly agentId: string;
  readonly dagId: string;
  readonly folder: string;
  readonly spool: string;
  /** As a program in its pane runs it. */
  gantry(...words: readonly string[]): Promise<Ran>;
  node(step?: string): Promise<NodePage>;
  reports(): string[];
}

/** A bot at work on a step. */
async function botAtWork(steps: readonly Record<string, unknown>[] = [fix]): Promise<Bot> {
  const engine = await startEngine();
  engine.team('dev', team);
  engine.write('.gantry/templates/fix.json', JSON.stringify({ steps }));
  await engine.call('POST', '/teams/dev/up', {});
  await engine.until('coder@dev', 'idle');
  const { body } = await engine.call<RunStarted>('POST', '/runs', { template: 'fix', projectId: 'p' });
  const { dagId } = body;
  const node = async (step = 'fix') => (await engine.call<NodePage>('GET', `/nodes/${dagId}/${step}`)).body;
  await waitFor(node, ({ card }) => card.status === 'working');
  const { id: agentId } = await engine.agent('coder@dev');
  const folder = join(engine.home, 'run', 'bots', agentId);
  const spool = join(folder, 'spool');
  const env = {
    PATH: process.env.PATH ?? '',
    GANTRY_HOME: engine.home,
    GANTRY_URL_FILE: join(engine.home, 'run', 'url'),
    GANTRY_TOKEN_FILE: join(folder, 'token'),
    GANTRY_SPOOL: spool,
  };
  return {
    engine,
    agentId,
    dagId,
    folder,
    spool,
    gantry: (...words) => run(env, words),
    node,
    reports: () => readdirSync(spool).filter((name) => /^\d{12}\.json$/.test(name)),
  };
}

const ledgerOf = async ({ engine }: Bot, type: string) =>
  engine.ledger.query({ types: [type], order: 'ascending', limit: 100 });

test('what a bot reports while the engine is away is kept, and taken once at its next start', async () => {
  const bot = await botAtWork();
  await bot.engine.stop();
  const progress = await bot.gantry('workspace', 'progress', bot.dagId, 'fix', 'half', 'way', '--json');
  expect(progress).toMatchObject({ code: 0, err: '' });
  expect(progress.json()).toEqual({ kept: true, id: expect.stringMatching(/^rep_/) });
  const done = await bot.gantry('workspace', 'done', bot.dagId, 'fix', '--note', 'fixed');
  expect(done).toMatchObject({ code: 0, out: 'kept; it will be delivered\n' });
  expect(bot.reports()).toHaveLength(2);

  await bot.engine.restart();
  const page = await bot.node();
  expect(page.progressMd).toContain('half way');
  expect(page.card.status).toBe('done');
  expect(bot.reports()).toEqual([]);
  expect(await ledgerOf(bot, 'node.progress')).toHaveLength(1);

  await bot.engine.restart();
  expect(await ledgerOf(bot, 'node.progress')).toHaveLength(1);
});

test('a living engine answers a report at once, and nothing of it stays in the spool', async () => {
  const bot = await botAtWork();
  const progress = await bot.gantry('workspace', 'progress', bot.dagId, 'fix', 'half way', '--json');
  expect(progress.code).toBe(0);
  expect(progress.json()).toMatchObject({ stepId: 'fix', status: 'working' } satisfies Partial<NodeCard>);
  const refused = await bot.gantry('workspace', 'progress', bot.dagId, 'nothing', 'half way', '--json');
  expect(refused.code).toBe(2);
  expect(readdirSync(bot.spool).filter((name) => name !== 'work.json')).toEqual([]);
  expect(readFileSync(join(bot.folder, 'token'), 'utf8')).toMatch(/^gbot_/);
});
