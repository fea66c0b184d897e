/** The scenes of one real agent over ACP, named by the first argument: its program is on PATH. Ends with 1 when one fails. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runtimeMigrations } from '../../src/host/runtime-migrations.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { systemTimers } from '../../src/kit/clock/timers.ts';
import { createIds } from '../../src/kit/ids/ids.ts';
import { createLedger } from '../../src/kit/ledger/create-ledger.ts';
import { programCommand } from '../../src/kit/process/programs.ts';
import { openStore } from '../../src/kit/store/open-store.ts';
import { createAcpBots } from '../../src/runtime-server/acp-bots/index.ts';
import { acpCommand, knownAgentOf } from '../../src/runtime-server/harness/acp/known-agents.ts';
import type { BotSpec, Outgoing } from '../../src/runtime-server/harness/harness.ts';
import { createHarnesses } from '../../src/runtime-server/harness/index.ts';
import { processes } from '../runtime-server/harness/bench-of-one.ts';
import { askAlways, createPeople } from '../runtime-server/harness/people.ts';
import { startModelServer } from '../support/model-server/server.ts';
import { everythingAgreed } from '../support/trust.ts';
import { plays } from './acp-plays.ts';

const play = plays.find(({ agent }) => agent === process.argv[2]);
if (play === undefined) throw new Error(`There are no scenes for "${process.argv[2]}".`);
const { agent } = play;

const root = realpathSync(mkdtempSync(join(tmpdir(), `gantry-acp-${agent}-`)));
const [home, work] = [join(root, 'home'), join(root, 'project')];
for (const folder of [home, work]) mkdirSync(folder);
const model = await startModelServer(play.script({ home, work }));
play.setUp?.({ home, work, model });
const env = { PATH: process.env.PATH ?? '', HOME: home, LANG: 'C.UTF-8', ...play.env(model) };
const people = createPeople();
const log = { warn: (words: string, facts?: unknown) => console.warn(words, facts) };
const clock = systemClock;
const store = await openStore({ file: join(root, 'runtime.db'), migrations: runtimeMigrations, clock });
const ids = createIds(clock);
const ledger = await createLedger({ store, clock, ids });
const harnesses = createHarnesses({
  trust: everythingAgreed,
  panes: { listen: () => () => {} } as never,
  clock,
  memory: { recall: () => null, remember: () => {} },
  approvals: people,
  policy: askAlways,
  processes,
  home,
  env,
});
const urlFile = join(root, 'url');
writeFileSync(urlFile, '\n');
const spec: BotSpec = {
  agentId: 'agent_web',
  slug: 'web',
  team: 'real',
  harness: 'acp',
  model: null,
  command: acpCommand(agent),
  cwd: work,
  env: {},
  culture: 'Be kind to newcomers.',
};

function open() {
  const bots = createAcpBots({
    ...{ store, ledger, clock, ids, log },
    timers: systemTimers,
    workspace: work,
    approvals: people,
    policy: askAlways,
    async prepare(bot) {
      const folder = join(root, 'bot');
      mkdirSync(folder, { recursive: true });
      const tokenFile = join(folder, 'token');
      const paths = { urlFile, tokenFile, workspace: work, gantry: programCommand('cli'), folder };
      const launch = await harnesses.prepare(bot, paths);
      const signIns = (knownAgentOf(bot.command)?.signIns ?? [])
        .filter(({ variable }) => launch.env[variable] !== undefined)
        .map(({ method }) => method);
      return {
        command: launch.command,
        env: launch.env,
        cwd: work,
        mcpServers: () => [],
        signIns,
        close: async () => {},
      };
    },
    threadOf: () => null,
    reply: async () => {},
  });
  return bots;
}

let bots = open();
await bots.recover();
let bot = bots.attach(spec);
let failed = 0;
let count = 0;

async function until(what: string, condition: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  for (const end = Date.now() + ms; !(await condition()); ) {
    if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms; ${JSON.stringify(bot.state())}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
const idle = () => until('an open gate', () => bot.gate().open);
const said = async () => (await bots.page('agent_web', {})).entries;

async function send(words: string) {
  await idle();
  count += 1;
  const deliveryId = `delivery_${Date.now()}_${count}`;
  const message: Outgoing = { deliveryId, senderLine: 'From owner', text: words, replyLine: null, raw: false };
  return bot.deliver(message);
}

async function scene(name: string, act: () => Promise<string | undefined>): Promise<void> {
  const from = performance.now();
  try {
    const words = await act();
    console.log(`ok   ${agent}: ${name} (${Math.round(performance.now() - from)} ms)${words ? `: ${words}` : ''}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${agent}: ${name}: ${(error as Error).message}`);
    console.log(`     ${JSON.stringify((await said()).slice(-4))}`);
  }
}

const made = join(work, 'made');
/** The question that comes next. */
async function asked(words: string) {
  const before = people.held.length;
  await send(words);
  await until('the question', () => people.held.length > before);
  const question = people.held.at(-1);
  assert.ok(question);
  return question;
}

await scene('started: idle, with a session', async () => {
  await idle();
  const modes = bot.modes();
  return `${bot.explain().ruleset}; modes: ${modes?.available.map(({ id }) => id).join(', ') ?? 'none'}, now ${modes?.current ?? '-'}`;
});
await scene('a message is verified by the agent, and its answer is kept', async () => {
  const result = await send('say hello');
  assert.deepEqual(result, { state: 'verified', evidence: 'acp' });
  await idle();
  const answer = (await said()).findLast(({ kind }) => kind === 'text')?.text ?? '';
  assert.ok(answer.includes('A plain answer.'), answer);
  assert.ok(model.requests.some(({ lastUser }) => lastUser.includes('say hello')));
  return answer;
});
for (const decision of ['approve', 'reject'] as const) {
  await scene(`a command is asked about, whole: ${decision}`, async () => {
    rmSync(made, { force: true });
    const question = await asked('RUNSHELL please');
    assert.ok(question.ask.summary.includes('touch made'), question.ask.summary);
    people.answer(question.id, decision);
    await idle();
    assert.equal(existsSync(made), decision === 'approve');
    const tool = (await said()).findLast(({ kind }) => kind === 'tool')?.tool;
    return `${question.ask.title}; ${tool?.kind} ${tool?.status}`;
  });
}
await scene('a change of a file is asked about with its diff', async () => {
  const question = await asked('WRITE it');
  assert.ok(question.ask.summary.includes('words'), question.ask.summary);
  people.answer(question.id, 'approve');
  await idle();
  assert.ok(existsSync(join(work, 'second')));
  return `${question.ask.title}; diffs: ${(await said()).findLast(({ kind }) => kind === 'tool')?.tool?.diffs?.length ?? 0}`;
});
await scene('a turn is cancelled, and seen to end', async () => {
  await send('SLOW please');
  await until('the answer begun', async () => (await said()).at(-1)?.kind === 'text');
  const from = performance.now();
  const { ended } = await bot.interrupt('enough');
  assert.equal(ended, true);
  await idle();
  return `${Math.round(performance.now() - from)} ms`;
});
await scene('after a restart of Gantry the session continues', async () => {
  const before = (await said()).length;
  await bots.close();
  bots = open();
  await bots.recover();
  bot = bots.attach(spec);
  await idle();
  const notes = (await said()).slice(before).map(({ text }) => text);
  await send('and further');
  await idle();
  const depth = model.requests.findLast(({ lastUser }) => lastUser.includes('and further'))?.depth ?? 0;
  assert.ok(depth > 4, `depth ${depth}; ${notes.join(' ')}`);
  return `depth ${depth}`;
});
await bots.close();
await store.close();
await model.close();
rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
process.exit(failed === 0 ? 0 : 1);
