/** Copilot's scenes: each takes up the bot and the conversation where the one before left them. Its model is a provider of the person's own, without GitHub. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BotSpec, HarnessBot } from '../../src/runtime-server/harness/harness.ts';
import { processes } from '../support/bench/processes.ts';
import { type ModelReply, text, tools } from '../support/model-server/script.ts';
import type { ModelServer } from '../support/model-server/server.ts';
import { createCommon } from './harness-common.ts';
import { busy, playKit } from './harness-kit.ts';
import { createBench, type Play } from './harness-play.ts';
import { playTeam } from './harness-product.ts';
import { openHookEndpoint } from './hook-endpoint.ts';

const counting = Array.from({ length: 300 }, (_, at) => `slow${at * 7} `).join('');

const reply = (words: string, work: string): ModelReply => {
  if (words.includes('RUNSHELL'))
    return tools({ name: 'bash', input: { command: 'touch made && ls', description: 'Make a file' } });
  if (words.includes('LOOK')) return tools({ name: 'bash', input: { command: 'ls', description: 'Look' } });
  if (words.includes('WRITE'))
    return tools({ name: 'create', input: { path: join(work, 'second'), file_text: 'words\n' } });
  if (words.includes('ELSEWHERE')) return tools({ name: 'view', input: { path: '/etc/hostname' } });
  if (words.includes('SLOW')) return text(counting, { pieces: 200, pauseMs: 100 });
  if (words.includes('BUSY')) return busy;
  if (words.includes('ERR400')) return { kind: 'error', status: 400, message: 'That is too much' };
  return text('A plain answer.', { pieces: 10, pauseMs: 30 });
};

const provider = (model: ModelServer) => ({
  COPILOT_PROVIDER_BASE_URL: `${model.url}/v1`,
  COPILOT_PROVIDER_API_KEY: 'scripted',
  COPILOT_MODEL: 'fake-1',
  COPILOT_OFFLINE: 'true',
});

async function play({ kitOnly }: { readonly kitOnly: boolean }): Promise<boolean> {
  const bench = await createBench('copilot', {
    script:
      ({ work }) =>
      ({ lastUser, toolResults }) =>
        toolResults.length > 0 && !lastUser.includes('From owner') ? text('The tool ran.') : reply(lastUser, work),
    env: provider,
  });
  const { scene, open, until, people, home, model } = bench;
  const endpoint = await openHookEndpoint(bench.paths('web').urlFile);
  const culture = 'Be kind to newcomers.';
  const spec = (extra: Partial<BotSpec> = {}) => bench.spec('web', { culture, ...extra });
  async function up(extra: Partial<BotSpec> = {}): Promise<HarnessBot> {
    const live = await bench.up(spec(extra));
    endpoint.bots.set('web', live);
    return live;
  }
  const dialog = 'Do you want to run this command?';
  let bot = await up();
  const common = createCommon(bench, () => bot);

  if (!kitOnly) await common.found('copilot', '1.0.102', true);
  await scene('first start: its question about the folder is an approval, and a yes is remembered', async () => {
    // It unpacks itself at its first start in a home.
    await until('the question', () => bot.explain().approvals.length === 1, bot, 120_000);
    assert.equal((await bot.deliver(bench.message('too early'))).state, 'held');
    common.decide('approve');
    await open(bot);
    assert.ok(readFileSync(join(home, '.copilot', 'config.json'), 'utf8').includes('trustedFolders'));
    return bench.history();
  });
  await playKit(bench, { spec: bench.spec('kit'), attached: (live) => endpoint.bots.set('kit', live) });
  if (kitOnly) {
    endpoint.close();
    return bench.close();
  }
  await common.witnessed('the submit hook', 'hook', async () => {
    const asked = model.requests.find(
      ({ lastUser }) => lastUser.includes('say hello') && lastUser.includes('From owner'),
    );
    assert.ok(asked, 'its model was not asked');
    const told = model.requests.some(({ body }) => JSON.stringify(body).includes(culture));
    assert.ok(told, 'the culture did not come in');
    return `hooks: ${[...new Set(endpoint.events)].join(', ')}`;
  });
  await common.answered(dialog);
  await scene('a no is told to its model with the note', async () => {
    const told = model.requests.flatMap(({ toolResults }) => toolResults.map((one) => one.text));
    const words = told.find((one) => one.includes('not on a Sunday'));
    assert.ok(words, JSON.stringify(told.slice(-3)));
    return words;
  });
  await scene('what it allows by itself is not asked', async () => {
    const before = people.held.length;
    await common.verified('LOOK around');
    await open(bot);
    assert.equal(people.held.length, before);
    return bench.history();
  });
  await common.fileAsked('with its diff');
  await scene('a file outside of its folder is asked', async () => {
    await common.verified('ELSEWHERE please');
    await common.asked();
    const ask = people.held.at(-1)?.ask;
    common.decide('reject');
    await open(bot);
    return `${ask?.title}: ${ask?.summary.slice(0, 80)}`;
  });
  await common.answeredInPane(dialog, ['Enter', 'Escape']);
  await common.outlives(() => {
    const before = bot;
    bot = bench.again(spec(), bot.paneId);
    endpoint.bots.set('web', bot);
    before.close();
  });
  await common.refusesWith('Copilot');
  await scene('killed, no program of it is left; resumed with its conversation', async () => {
    await bench.killPane(bot.paneId);
    await until('gone', () => ['offline', 'failed'].includes(bot.state().state), bot);
    const left = () => processes().filter(({ command }) => /copilot-linux|\.cache\/copilot/.test(command));
    await until('its last program gone', () => left().length === 0, bot, 10_000);
    bot = await up({ resume: true });
    await open(bot);
    const result = await common.verified('and further');
    await open(bot);
    assert.ok((model.requests.findLast(({ lastUser }) => lastUser.includes('and further'))?.depth ?? 0) > 10);
    return `${JSON.stringify(result)}; ${bench.history()}`;
  });
  await scene('nothing of ours stands in the person’s home', async () => {
    for (const name of ['settings.json', 'hooks', 'AGENTS.md'])
      assert.equal(existsSync(join(home, '.copilot', name)), false, name);
    return undefined;
  });
  await scene('leaving with Ctrl-C twice is offline', async () => {
    await bot.input({ keys: ['C-c'] });
    await until('its warning', () => common.bottom().includes('again to exit'), bot);
    // A key of its own.
    await delay(100);
    await bot.input({ keys: ['C-c'] });
    await until('its end', () => ['offline', 'failed'].includes(bot.state().state), bot);
    return bench.history();
  });
  await scene('as a bot of a team: gantry start, team up, a question approved from the inbox over HTTP, kill -9', () =>
    playTeam('copilot', provider(model), (folder, workspace) => {
      mkdirSync(join(folder, '.copilot'));
      writeFileSync(join(folder, '.copilot', 'config.json'), JSON.stringify({ trustedFolders: [workspace] }));
    }),
  );
  await common.exec(bench.spec('exec'), { lateMs: 15_000, refused: { ask: 1 }, resumes: true });
  endpoint.close();
  return bench.close();
}

export const copilotPlay: Play = {
  harness: 'copilot',
  package: '@github/copilot',
  version: '1.0.102',
  megabytes: 190,
  play,
};
