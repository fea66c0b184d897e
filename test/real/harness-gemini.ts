/** Gemini CLI's scenes: each takes up the bot and the conversation where the one before left them. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processes } from '../support/bench/processes.ts';
import { type ModelReply, text, tools } from '../support/model-server/script.ts';
import { createBench, type Play } from './harness-play.ts';

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

async function play(): Promise<boolean> {
  const bench = await createBench('gemini', {
    script:
      ({ work }) =>
      ({ lastUser, toolResults }) =>
        toolResults.length > 0 && !lastUser.includes('From owner') ? text('The tool ran.') : reply(lastUser, work),
    env: (model) => ({ GEMINI_API_KEY: 'scripted', GOOGLE_GEMINI_BASE_URL: model.url }),
  });
  const { scene, state, open, until, work, home, model } = bench;
  const folder = join(home, '.gemini');
  mkdirSync(folder);
  writeFileSync(join(folder, 'settings.json'), JSON.stringify(settings));
  const given = readFileSync(join(folder, 'settings.json'), 'utf8');
  const spec = (extra = {}) => bench.spec('web', { model: 'gemini-2.5-flash', ...extra });
  const bottom = () => bot.explain().bottom.join('\n');
  const made = join(work, 'made');
  let bot = await bench.up(spec());

  await scene('found: installed, version, covered by the rules, signed in', async () => {
    const found = (await bench.harnesses.found()).find(({ name }) => name === 'gemini');
    assert.deepEqual([found?.installed, found?.version, found?.covered, found?.signedIn], [true, '0.61.0', true, true]);
    return found?.detail;
  });
  await scene('first start: the trust screen is needs_you with its words, and messages are held as setup', async () => {
    await until('the question', () => bot.state().reason?.includes('trusted') ?? false, bot);
    assert.deepEqual({ ...bot.gate(), why: '' }, { open: false, why: '', setup: true });
    assert.equal((await bot.deliver(bench.message('too early'))).state, 'held');
    await delay(1000);
    await bot.input({ keys: ['Enter'] });
    await open(bot);
    return bench.history();
  });
  await scene('a message is verified by its transcript; the turn is working, then idle', async () => {
    const from = performance.now();
    const result = await bench.sent(bot, 'say hello');
    const took = Math.round(performance.now() - from);
    assert.deepEqual(
      [result.state, 'evidence' in result && result.evidence],
      ['verified', 'transcript'],
      JSON.stringify(result),
    );
    await open(bot);
    const asked = () => model.requests.some(({ lastUser }) => /From owner[\s\S]*say hello/.test(lastUser));
    await until('the model asked', asked, bot);
    return `${took} ms to the witness; ${bench.history()}`;
  });
  await scene('a message that begins with ! or / and has tabs and many lines is text, not a command', async () => {
    const words = `!touch forged\n/status\n${Array.from({ length: 9 }, (_, row) => `\trow ${row}`).join('\n')}`;
    const result = await bench.sent(bot, words);
    assert.equal(result.state, 'verified', JSON.stringify(result));
    await open(bot);
    assert.equal(existsSync(join(work, 'forged')), false);
    return bench.history();
  });
  await scene('a draft in the composer holds a message and is left alone; its shell mode does, too', async () => {
    await bot.input({ text: 'my own words' });
    await until('a draft', () => JSON.stringify(bot.gate()).includes('draft'), bot);
    assert.deepEqual(await bot.deliver(bench.message('say hello')), { state: 'held', why: 'draft' });
    assert.ok(bottom().includes('my own words'));
    await bot.input({ keys: ['C-u'] });
    await open(bot);
    await bot.input({ text: '!' });
    await until('its shell mode', () => /^ ! /m.test(bottom()), bot);
    await delay(2000);
    assert.equal(bot.gate().open, false);
    await bot.input({ text: '!' });
    await open(bot);
    return bench.history();
  });
  for (const [words, rows, width] of [
    ['60 short lines', 60, 4],
    ['5,000 characters', 100, 40],
    ['30,000 characters', 600, 40],
  ] as const) {
    await scene(`${words} arrive whole`, async () => {
      const lines = Array.from({ length: rows }, (_, row) => `row ${row} ${'x'.repeat(width)}`);
      const from = performance.now();
      const result = await bench.sent(bot, lines.join('\n'));
      const took = Math.round(performance.now() - from);
      assert.equal(result.state, 'verified', JSON.stringify(result));
      await open(bot);
      const whole = () => model.requests.some(({ lastUser }) => lastUser.includes(lines.join('\n')));
      await until('the whole text', whole, bot);
      return `${took} ms; ${JSON.stringify(result)}`;
    });
  }
  for (const key of ['Enter', 'Escape'] as const) {
    await scene(`a permission question is needs_you with its words; ${key} answers it in the pane`, async () => {
      rmSync(made, { force: true });
      assert.equal((await bench.sent(bot, 'RUNSHELL please')).state, 'verified');
      await until('the question', () => bot.state().reason === 'asks: Shell touch made && ls', bot);
      assert.equal((await bot.deliver(bench.message('into the dialog'))).state, 'held');
      await delay(1000);
      await bot.input({ keys: [key] });
      await open(bot);
      assert.equal(existsSync(made), key === 'Enter');
      return bench.history();
    });
  }
  await scene('a change of a file is asked; the bot is taken up again meanwhile', async () => {
    assert.equal((await bench.sent(bot, 'WRITE it')).state, 'verified');
    await state(bot, 'needs_you');
    bot = bench.again(spec(), bot.paneId);
    await until('the question', () => bot.state().reason?.startsWith('asks: WriteFile') ?? false, bot);
    const { reason } = bot.state();
    await delay(1000);
    await bot.input({ keys: ['Enter'] });
    await open(bot);
    assert.ok(existsSync(join(work, 'second')));
    return String(reason);
  });
  await scene('an interrupt in the pane (Esc) is idle', async () => {
    assert.equal((await bench.sent(bot, 'SLOW one')).state, 'verified');
    await until('text', () => bottom().includes('slow70'), bot);
    await bot.input({ keys: ['Escape'] });
    await state(bot, 'idle');
    await open(bot);
    return bench.history();
  });
  await scene('a provider that refuses is idle with what Gemini says', async () => {
    assert.equal((await bench.sent(bot, 'ERR400 please')).state, 'verified');
    await until('the reason', () => bot.state().reason?.includes('the last turn failed') ?? false, bot);
    await open(bot);
    return bench.history();
  });
  await scene('its transcript says tokens', async () => {
    const usage = await bench.harnesses.usage(spec(), null, true);
    assert.ok((usage?.lines.length ?? 0) > 3, JSON.stringify(usage));
    return `${usage?.lines.length} answers; ${JSON.stringify(usage?.lines[0])}`;
  });
  await scene('killed, no program of it is left; resumed with its conversation', async () => {
    await bench.killPane(bot.paneId);
    await until('gone', () => ['offline', 'failed'].includes(bot.state().state), bot);
    const left = () => processes().filter(({ command }) => /bin\/gemini\b|gemini-cli/.test(command));
    await until('its last program gone', () => left().length === 0, bot, 10_000);
    bot = await bench.up(spec({ resume: true }));
    await open(bot);
    const result = await bench.sent(bot, 'and further');
    assert.equal(result.state, 'verified', JSON.stringify(result));
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
    await delay(150);
    await bot.input({ keys: ['C-c'] });
    await until('its end', () => ['offline', 'failed'].includes(bot.state().state), bot);
    return bench.history();
  });
  await scene('exec: ask, accept_edits, plan, resumed, and a deadline', async () => {
    const run = (
      words: string,
      mode: 'plan' | 'ask' | 'accept_edits',
      rest: { timeoutMs?: number; resume?: string } = {},
    ) => bench.harnesses.exec(spec(), bench.doors('exec'), words, { mode, timeoutMs: 60_000, ...rest });
    const second = join(work, 'second');
    const plain = await run('--help say hello', 'ask');
    assert.deepEqual([plain.state, plain.text], ['done', 'A plain answer.'], JSON.stringify(plain));
    rmSync(made, { force: true });
    rmSync(second, { force: true });
    const refused = await run('RUNSHELL', 'ask');
    assert.deepEqual([refused.state, refused.refused, existsSync(made)], ['done', 1, false], JSON.stringify(refused));
    const planned = await run('WRITE', 'plan');
    assert.deepEqual([planned.refused, existsSync(second)], [1, false], JSON.stringify(planned));
    const edited = await run('WRITE', 'accept_edits');
    assert.equal(existsSync(second), true, JSON.stringify(edited));
    const further = await run('and further', 'plan', { resume: String(plain.sessionId) });
    assert.deepEqual([further.state, further.sessionId], ['done', plain.sessionId], JSON.stringify(further));
    const failed = await run('ERR400', 'ask');
    assert.equal(failed.state, 'failed');
    model.script(() => new Promise(() => {}));
    const late = await run('hello', 'ask', { timeoutMs: 12_000 });
    assert.equal(late.state, 'timeout');
    return `plain ${JSON.stringify({ ...plain, sessionId: undefined })}; refused ${refused.refused} ${refused.detail}; plan: ${planned.refused} refused; failed: ${failed.detail}; ${late.detail}`;
  });
  return bench.close();
}

export const geminiPlay: Play = {
  harness: 'gemini',
  package: '@google/gemini-cli',
  version: '0.61.0',
  megabytes: 100,
  play,
};
