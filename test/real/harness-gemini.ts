/** Gemini CLI's scenes: each takes up the bot and the conversation where the one before left them. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processes } from '../support/bench/processes.ts';
import { type ModelReply, text, tools } from '../support/model-server/script.ts';
import { createCommon } from './harness-common.ts';
import { busy, playKit } from './harness-kit.ts';
import { createBench, type Play } from './harness-play.ts';
import { readDialog } from './scenes.ts';

/** Words that differ: what repeats itself it takes for a loop, and stops. */
const counting = Array.from({ length: 300 }, (_, at) => `slow${at * 7} `).join('');

const reply = (words: string, work: string): ModelReply => {
  if (words.includes('RUNSHELL')) {
    return tools({ name: 'run_shell_command', input: { command: 'touch made && ls', description: 'Make a file' } });
  }
  if (words.includes('WRITE')) {
    return tools({ name: 'write_file', input: { file_path: join(work, 'second'), content: 'words\n' } });
  }
  if (words.includes('SLOW')) return text(counting, { pieces: 200, pauseMs: 100 });
  if (words.includes('BUSY')) return busy;
  if (words.includes('ERR400')) return { kind: 'error', status: 400, message: 'That is too much' };
  return text('A plain answer.', { pieces: 10, pauseMs: 30 });
};

const settings = {
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  security: { auth: { selectedType: 'gemini-api-key' } },
  ide: { enabled: false },
};

async function play({ kitOnly }: { readonly kitOnly: boolean }): Promise<boolean> {
  const bench = await createBench('gemini', {
    script:
      ({ work }) =>
      ({ lastUser, toolResults }) =>
        toolResults.length > 0 && !lastUser.includes('From owner') ? text('The tool ran.') : reply(lastUser, work),
    env: (model) => ({ GEMINI_API_KEY: 'scripted', GOOGLE_GEMINI_BASE_URL: model.url }),
  });
  const { scene, state, open, until, home, model } = bench;
  const folder = join(home, '.gemini');
  mkdirSync(folder);
  writeFileSync(join(folder, 'settings.json'), JSON.stringify(settings));
  const given = readFileSync(join(folder, 'settings.json'), 'utf8');
  const spec = (extra = {}) => bench.spec('web', { model: 'gemini-2.5-flash', ...extra });
  let bot = await bench.up(spec());
  const common = createCommon(bench, () => bot);
  const { bottom, made, second } = common;

  if (!kitOnly) await common.found('gemini', '0.61.0', true);
  await scene('first start: the trust screen is needs_you with its words, and messages are held as setup', async () => {
    await until('the question', () => bot.state().reason?.includes('trusted') ?? false, bot);
    assert.deepEqual({ ...bot.gate(), why: '' }, { open: false, why: '', setup: true });
    assert.equal((await bot.deliver(bench.message('too early'))).state, 'held');
    await readDialog();
    await bot.input({ keys: ['Enter'] });
    await open(bot);
    return bench.history();
  });
  await playKit(bench, { spec: { ...spec(), agentId: 'kit', slug: 'kit' } });
  if (kitOnly) return bench.close();
  await common.witnessed('its transcript', 'transcript', async () => {
    const asked = () => model.requests.some(({ lastUser }) => /From owner[\s\S]*say hello/.test(lastUser));
    await until('the model asked', asked, bot);
    return 'its model was asked';
  });
  await scene('its shell mode holds messages', async () => {
    await bot.input({ text: '!' });
    await until('its shell mode', () => /^ ! /m.test(bottom()), bot);
    // Nothing may happen: the gate stays closed.
    await delay(2000);
    assert.equal(bot.gate().open, false);
    await bot.input({ text: '!' });
    await open(bot);
    return bench.history();
  });
  for (const key of ['Enter', 'Escape'] as const) {
    await scene(`a permission question is needs_you with its words; ${key} answers it in the pane`, async () => {
      rmSync(made, { force: true });
      await common.verified('RUNSHELL please');
      await until('the question', () => bot.state().reason === 'asks: Shell touch made && ls', bot);
      assert.equal((await bot.deliver(bench.message('into the dialog'))).state, 'held');
      await readDialog();
      await bot.input({ keys: [key] });
      await open(bot);
      assert.equal(existsSync(made), key === 'Enter');
      return bench.history();
    });
  }
  await scene('a change of a file is asked; the bot is taken up again meanwhile', async () => {
    await common.verified('WRITE it');
    await state(bot, 'needs_you');
    bot = bench.again(spec(), bot.paneId);
    await until('the question', () => bot.state().reason?.startsWith('asks: WriteFile') ?? false, bot);
    const { reason } = bot.state();
    await readDialog();
    await bot.input({ keys: ['Enter'] });
    await open(bot);
    assert.ok(existsSync(second));
    return String(reason);
  });
  await common.interrupted('Esc', 'slow70');
  await common.refusesWith('Gemini');
  await scene('killed, no program of it is left; resumed with its conversation', async () => {
    await bench.killPane(bot.paneId);
    await until('gone', () => ['offline', 'failed'].includes(bot.state().state), bot);
    const left = () => processes().filter(({ command }) => /bin\/gemini\b|gemini-cli/.test(command));
    await until('its last program gone', () => left().length === 0, bot, 10_000);
    bot = await bench.up(spec({ resume: true }));
    await open(bot);
    const result = await common.verified('and further');
    await open(bot);
    const asked = () => model.requests.findLast(({ lastUser }) => lastUser.includes('and further'));
    await until('the model asked', () => (asked()?.depth ?? 0) > 6, bot);
    return `${JSON.stringify(result)}; ${bench.history()}`;
  });
  await scene('nothing of ours stands in the person’s home', async () => {
    assert.equal(readFileSync(join(folder, 'settings.json'), 'utf8'), given);
    return undefined;
  });
  await scene('leaving with Ctrl-C twice is offline', async () => {
    await bot.input({ keys: ['C-c'] });
    // The second press counts only as one of its own, and within the program's second.
    await delay(150);
    await bot.input({ keys: ['C-c'] });
    await until('its end', () => ['offline', 'failed'].includes(bot.state().state), bot);
    return bench.history();
  });
  await common.exec(spec(), { lateMs: 12_000, refused: { ask: 1, plan: 1 }, resumes: true });
  return bench.close();
}

export const geminiPlay: Play = {
  harness: 'gemini',
  package: '@google/gemini-cli',
  version: '0.61.0',
  megabytes: 100,
  play,
};
