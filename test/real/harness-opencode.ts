/** opencode's scenes: each takes up the bot and the conversation where the one before left them. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ModelReply, text, tools } from '../support/model-server/script.ts';
import { createBench, type Play } from './harness-play.ts';

const reply = (words: string, work: string): ModelReply => {
  if (words.includes('RUNSHELL'))
    return tools({ name: 'bash', input: { command: 'touch made && ls', description: 'Make a file' } });
  if (words.includes('WRITE'))
    return tools({ name: 'write', input: { filePath: join(work, 'second'), content: 'words\n' } });
  if (words.includes('SLOW')) return text('slow '.repeat(200), { pieces: 200, pauseMs: 100 });
  if (words.includes('ERR429'))
    return { kind: 'error', status: 429, message: 'Too many requests, slow down', retryAfter: 1 };
  return text('A plain answer.', { pieces: 10, pauseMs: 30 });
};

async function play(): Promise<boolean> {
  const bench = await createBench('opencode', {
    script:
      ({ work }) =>
      ({ lastUser, toolResults }) =>
        toolResults.length > 0 && !lastUser.includes('From owner') ? text('The tool ran.') : reply(lastUser, work),
    env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: '1' }),
  });
  const { scene, state, open, until, people, work, home } = bench;
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
  await scene('found: installed, version, covered by the rules', async () => {
    const found = (await bench.harnesses.found()).find(({ name }) => name === 'opencode');
    assert.deepEqual([found?.installed, found?.version, found?.covered], [true, '1.18.33', true]);
    return found?.detail;
  });
  await scene('started: idle, its server answers', async () => {
    await state(bot, 'idle', 60_000);
    await open(bot);
    return bench.history();
  });
  await scene('a message is verified by its server giving it back; the turn is working, then idle', async () => {
    const from = performance.now();
    const result = await bench.sent(bot, 'say hello');
    const took = Math.round(performance.now() - from);
    assert.deepEqual(
      [result.state, 'evidence' in result && result.evidence],
      ['verified', 'transcript'],
      JSON.stringify(result),
    );
    await open(bot);
    // It asks its model for a title as well, with other words in front.
    const asked = bench.model.requests.filter(({ lastUser }) => /From owner.*say hello/s.test(lastUser));
    assert.ok(
      asked.some(({ system }) => system.includes('Be kind to newcomers.')),
      'the culture did not come in',
    );
    await until('the answer on its screen', () => bot.explain().bottom.join('\n').includes('A plain answer.'), bot);
    return `${took} ms to the witness (${result.state === 'verified' ? result.detail : ''}); ${bench.history()}`;
  });
  await scene(
    'a message with !, / and tabs at its beginning is text; a draft in the composer is left alone',
    async () => {
      await bot.input({ text: 'my own words' });
      const words = `!touch forged\n/status\n${Array.from({ length: 9 }, (_, row) => `\trow ${row}`).join('\n')}`;
      const result = await bench.sent(bot, words);
      assert.equal(result.state, 'verified', JSON.stringify(result));
      await open(bot);
      assert.equal(existsSync(join(work, 'forged')), false);
      assert.ok(
        bot.explain().bottom.some((row) => row.includes('my own words')),
        'the draft is gone',
      );
      await bot.input({ keys: ['C-u'] });
      return bench.history();
    },
  );
  await scene('30,000 characters arrive whole', async () => {
    const words = Array.from({ length: 600 }, (_, row) => `row ${row} ${'x'.repeat(40)}`).join('\n');
    const result = await bench.sent(bot, words);
    assert.equal(result.state, 'verified', JSON.stringify(result));
    await open(bot);
    assert.ok(bench.model.requests.some(({ lastUser }) => lastUser.includes('row 599')));
    return undefined;
  });
  for (const decision of ['approve', 'reject'] as const) {
    await scene(`a permission question is answered as an approval: ${decision}`, async () => {
      rmSync(join(work, 'made'), { force: true });
      assert.equal((await bench.sent(bot, 'RUNSHELL please')).state, 'verified');
      await until('the question', () => bot.explain().approvals.length === 1, bot);
      await state(bot, 'needs_you');
      assert.equal(bot.state().reason, 'asks to run: touch made && ls');
      assert.equal((await bot.deliver(bench.message('into the dialog'))).state, 'held');
      await until('the dialog', () => bot.explain().bottom.join('\n').includes('Permission required'), bot);
      assert.equal(people.held.at(-1)?.ask.summary, 'touch made && ls');
      people.answer(String(bot.explain().approvals[0]), decision, decision === 'reject' ? 'not on a Sunday' : null);
      await open(bot);
      assert.equal(existsSync(join(work, 'made')), decision === 'approve');
      const told =
        bench.model.requests
          .at(-1)
          ?.toolResults.map(({ text }) => text)
          .join(' ') ?? '';
      return `the model was told: ${told.slice(0, 160).replaceAll('\n', ' ')}; ${bench.history()}`;
    });
  }
  await scene('a change of a file is asked with its diff', async () => {
    assert.equal((await bench.sent(bot, 'WRITE it')).state, 'verified');
    await until('the question', () => bot.explain().approvals.length === 1, bot);
    const asked = people.held.at(-1)?.ask;
    people.answer(String(bot.explain().approvals[0]), 'approve');
    await open(bot);
    assert.ok(existsSync(join(work, 'second')));
    return `${asked?.title}: ${asked?.summary.replaceAll('\n', ' ⏎ ').slice(0, 300)}`;
  });
  await scene('a question answered in the pane: the approval is withdrawn there', async () => {
    rmSync(join(work, 'made'), { force: true });
    assert.equal((await bench.sent(bot, 'RUNSHELL again')).state, 'verified');
    await until('the question', () => bot.explain().approvals.length === 1, bot);
    await until('the dialog', () => bot.explain().bottom.join('\n').includes('Permission required'), bot);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await bot.input({ keys: ['Enter'] });
    await until('its end', () => people.held.at(-1)?.ended !== null, bot);
    assert.deepEqual(people.held.at(-1)?.ended, { kind: 'withdrawn', surface: 'pane' });
    await open(bot);
    assert.ok(existsSync(join(work, 'made')));
    return bench.history();
  });
  await scene(
    'a question outlives the runtime that asked: taken up again, it joins its approval and is answered',
    async () => {
      rmSync(join(work, 'made'), { force: true });
      assert.equal((await bench.sent(bot, 'RUNSHELL once more')).state, 'verified');
      await until('the question', () => bot.explain().approvals.length === 1, bot);
      const before = people.held.length;
      bot = bench.again(bench.spec('web'), bot.paneId);
      await until('the question again', () => bot.explain().approvals.length === 1, bot);
      assert.equal(people.held.length, before);
      people.answer(String(bot.explain().approvals[0]), 'approve');
      await open(bot);
      assert.ok(existsSync(join(work, 'made')));
      return bench.history();
    },
  );
  await scene('an interrupt in the pane (Esc twice) is idle', async () => {
    assert.equal((await bench.sent(bot, 'SLOW one')).state, 'verified');
    await until('text', () => bot.explain().bottom.join('\n').includes('slow slow'), bot);
    await bot.input({ keys: ['Escape'] });
    await new Promise((resolve) => setTimeout(resolve, 300));
    await bot.input({ keys: ['Escape'] });
    await state(bot, 'idle');
    return bench.history();
  });
  await scene('a provider that refuses: working while it retries, then idle with the reason', async () => {
    assert.equal((await bench.sent(bot, 'ERR429 please')).state, 'verified');
    await until('a retry', () => bot.state().reason?.includes('its provider refuses') ?? false, bot);
    await until('its end', () => bot.state().reason?.includes('the last turn failed') ?? false, bot, 60_000);
    return bench.history();
  });
  await scene('its database says tokens', async () => {
    const usage = await bench.harnesses.usage(bench.spec('web'), null, true);
    assert.ok((usage?.lines.length ?? 0) > 3, JSON.stringify(usage));
    return `${usage?.lines.length} answers; ${JSON.stringify(usage?.lines[0])}`;
  });
  await scene('killed, and resumed with its conversation', async () => {
    await bench.killPane(bot.paneId);
    await until('gone', () => ['offline', 'failed'].includes(bot.state().state), bot);
    bot = await bench.up(bench.spec('web', { resume: true }));
    await open(bot);
    await until('the conversation', () => bot.explain().bottom.join('\n').includes('ERR429'), bot);
    const result = await bench.sent(bot, 'and further');
    assert.equal(result.state, 'verified', JSON.stringify(result));
    await open(bot);
    assert.ok((bench.model.requests.findLast(({ lastUser }) => lastUser.includes('and further'))?.depth ?? 0) > 6);
    return bench.history();
  });
  await scene('exec: ask, accept_edits, plan, and a deadline', async () => {
    const run = (words: string, mode: 'plan' | 'ask' | 'accept_edits', timeoutMs = 60_000) =>
      bench.harnesses.exec(bench.spec('exec'), bench.doors('exec'), words, { mode, timeoutMs });
    const plain = await run('say hello', 'ask');
    assert.deepEqual([plain.state, plain.text], ['done', 'A plain answer.'], JSON.stringify(plain));
    rmSync(join(work, 'made'), { force: true });
    rmSync(join(work, 'second'), { force: true });
    const refused = await run('RUNSHELL', 'ask');
    assert.deepEqual(
      [refused.state, refused.refused, existsSync(join(work, 'made'))],
      ['done', 1, false],
      JSON.stringify(refused),
    );
    const planned = await run('WRITE', 'plan');
    assert.deepEqual([planned.refused, existsSync(join(work, 'second'))], [1, false], JSON.stringify(planned));
    const edited = await run('WRITE', 'accept_edits');
    assert.deepEqual([edited.refused, existsSync(join(work, 'second'))], [0, true], JSON.stringify(edited));
    bench.model.script(() => new Promise(() => {}));
    const late = await run('hello', 'ask', 6000);
    assert.equal(late.state, 'timeout');
    return `${JSON.stringify({ ...plain, sessionId: undefined })}; ${late.detail}`;
  });
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
