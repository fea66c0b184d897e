/** opencode's scenes: each takes up the bot and the conversation where the one before left them. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ModelReply, text, tools } from '../support/model-server/script.ts';
import { createCommon } from './harness-common.ts';
import { busy, playKit } from './harness-kit.ts';
import { createBench, type Play } from './harness-play.ts';

const reply = (words: string, work: string): ModelReply => {
  if (words.includes('RUNSHELL'))
    return tools({ name: 'bash', input: { command: 'touch made && ls', description: 'Make a file' } });
  if (words.includes('WRITE'))
    return tools({ name: 'write', input: { filePath: join(work, 'second'), content: 'words\n' } });
  if (words.includes('SLOW')) return text('slow '.repeat(200), { pieces: 200, pauseMs: 100 });
  if (words.includes('BUSY')) return busy;
  if (words.includes('ERR429'))
    return { kind: 'error', status: 429, message: 'Too many requests, slow down', retryAfter: 1 };
  return text('A plain answer.', { pieces: 10, pauseMs: 30 });
};

async function play({ kitOnly }: { readonly kitOnly: boolean }): Promise<boolean> {
  const bench = await createBench('opencode', {
    script:
      ({ work }) =>
      ({ lastUser, toolResults }) =>
        toolResults.length > 0 && !lastUser.includes('From owner') ? text('The tool ran.') : reply(lastUser, work),
    env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: '1' }),
  });
  const { scene, state, open, until, home } = bench;
  // As a person has it: a provider and a model, and nothing said about permissions.
  const config = join(home, '.config', 'opencode');
  mkdirSync(config, { recursive: true });
  const models = { 'fake-1': { limit: { context: 100_000, output: 8000 } } };
  const options = { baseURL: `${bench.model.url}/v1`, apiKey: 'scripted' };
  writeFileSync(
    join(config, 'opencode.json'),
    JSON.stringify({
      model: 'fake/fake-1',
      small_model: 'fake/fake-1',
      provider: { fake: { npm: '@ai-sdk/openai-compatible', options, models } },
    }),
  );

  let bot = await bench.up(bench.spec('web', { culture: 'Be kind to newcomers.' }));
  const common = createCommon(bench, () => bot);
  if (!kitOnly) await common.found('opencode', '1.18.33');
  await scene('started: idle, its server answers', async () => {
    await state(bot, 'idle', 60_000);
    await open(bot);
    return bench.history();
  });
  await playKit(bench, { spec: bench.spec('kit') });
  if (kitOnly) return bench.close();
  await common.witnessed('its server giving it back', 'transcript', async () => {
    // It asks its model for a title as well, with other words in front.
    const asked = bench.model.requests.filter(({ lastUser }) => /From owner.*say hello/s.test(lastUser));
    assert.ok(
      asked.some(({ system }) => system.includes('Be kind to newcomers.')),
      'the culture did not come in',
    );
    await until('the answer on its screen', () => common.bottom().includes('A plain answer.'), bot);
    return 'its answer on its screen';
  });
  await common.answered('Permission required');
  await common.fileAsked('with its diff');
  await common.answeredInPane('Permission required', ['Enter']);
  await common.outlives(() => {
    bot = bench.again(bench.spec('web'), bot.paneId);
  });
  await common.interrupted('Esc twice', 'slow slow', 2);
  await scene('a provider that refuses: working while it retries, then idle with the reason', async () => {
    await common.verified('ERR429 please');
    await until('a retry', () => bot.state().reason?.includes('its provider refuses') ?? false, bot);
    await until('its end', () => bot.state().reason?.includes('the last turn failed') ?? false, bot, 60_000);
    return bench.history();
  });
  await common.exec(bench.spec('exec'), { lateMs: 6000, refused: { ask: 1, plan: 1, edit: 0 } });
  await scene('nothing but its own state was written into the home', async () => {
    return readdirSync(home).join(', ');
  });
  return bench.close();
}

export const opencodePlay: Play = {
  harness: 'opencode',
  package: 'opencode-ai',
  version: '1.18.33',
  megabytes: 354,
  afterInstall: 'postinstall.mjs',
  play,
};
