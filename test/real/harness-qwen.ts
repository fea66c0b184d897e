/** Qwen Code's scenes: each takes up the bot and the conversation where the one before left them. */
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ModelReply, text, tools } from '../support/model-server/script.ts';
import { createBench, type Play } from './harness-play.ts';

const reply = (words: string, work: string): ModelReply => {
  if (words.includes('RUNSHELL')) {
    const input = { command: 'touch made && ls', description: 'Make a file', is_background: false };
    return tools({ name: 'run_shell_command', input });
  }
  if (words.includes('WRITE')) {
    return tools({ name: 'write_file', input: { file_path: join(work, 'second'), content: 'words\n' } });
  }
  if (words.includes('SLOW')) return text('slow '.repeat(200), { pieces: 200, pauseMs: 100 });
  if (words.includes('ERR429')) return { kind: 'error', status: 429, message: 'Too many requests, slow down' };
  return text('A plain answer.', { pieces: 10, pauseMs: 30 });
};

async function play(): Promise<boolean> {
  const bench = await createBench('qwen', {
    script:
      ({ work }) =>
      ({ lastUser, toolResults }) => {
        // What it asks of the model for itself: suggestions, titles, memories.
        if (toolResults.length > 0 && !lastUser.includes('From owner')) return text('The tool ran.');
        return reply(lastUser.includes('Reply with ONLY') ? '' : lastUser, work);
      },
    env: (model) => ({ OPENAI_API_KEY: 'scripted', OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_MODEL: 'fake-1' }),
  });
  const { scene, state, open, until, people, work } = bench;
  let bot = await bench.up(bench.spec('web', { culture: 'Be kind to newcomers.' }));

  await scene('found: installed, version, covered by the rules, signed in', async () => {
    const found = (await bench.harnesses.found()).find(({ name }) => name === 'qwen');
    assert.deepEqual([found?.installed, found?.version, found?.covered, found?.signedIn], [true, '0.24.4', true, true]);
    return found?.detail;
  });
  await scene('started: idle', async () => {
    await state(bot, 'idle', 60_000);
    await open(bot);
    assert.ok(bot.explain().bottom.join('\n').includes('Ask permissions'), 'it is not in the mode that asks');
    return bench.history();
  });
  await scene('a message is verified by its file of events; the turn is working, then idle', async () => {
    const from = performance.now();
    const result = await bench.sent(bot, 'say hello');
    const took = Math.round(performance.now() - from);
    assert.deepEqual(
      [result.state, 'evidence' in result && result.evidence],
      ['verified', 'hook'],
      JSON.stringify(result),
    );
    await open(bot);
    const asked = bench.model.requests.find(
      ({ lastUser }) => lastUser.includes('say hello') && lastUser.includes('From owner'),
    );
    assert.ok(asked);
    assert.ok(asked.system.includes('Be kind to newcomers.'), 'the culture did not come in');
    return `${took} ms to the witness; ${bench.history()}`;
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
      const kept = bot.explain().bottom.some((row) => row.includes('my own words'));
      await bot.input({ keys: ['C-u'] });
      assert.ok(kept, 'the draft is gone');
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
      assert.equal((await bot.deliver(bench.message('into the dialog'))).state, 'held');
      await until('the dialog', () => bot.explain().bottom.join('\n').includes('Yes, allow once'), bot);
      assert.equal(people.held.at(-1)?.ask.summary, 'touch made && ls');
      people.answer(String(bot.explain().approvals[0]), decision, decision === 'reject' ? 'not on a Sunday' : null);
      await open(bot);
      assert.equal(existsSync(join(work, 'made')), decision === 'approve');
      return bench.history();
    });
  }
  await scene('a change of a file is asked, whole', async () => {
    assert.equal((await bench.sent(bot, 'WRITE it')).state, 'verified');
    await until('the question', () => bot.explain().approvals.length === 1, bot);
    const asked = people.held.at(-1)?.ask;
    people.answer(String(bot.explain().approvals[0]), 'approve');
    await open(bot);
    assert.ok(existsSync(join(work, 'second')));
    return `${asked?.title}: ${asked?.summary.replaceAll('\n', ' ⏎ ').slice(0, 300)}`;
  });
  for (const key of ['Enter', 'Escape'] as const) {
    await scene(`a question answered in the pane with ${key}: the approval is withdrawn there`, async () => {
      rmSync(join(work, 'made'), { force: true });
      assert.equal((await bench.sent(bot, 'RUNSHELL again')).state, 'verified');
      await until('the question', () => bot.explain().approvals.length === 1, bot);
      await until('the dialog', () => bot.explain().bottom.join('\n').includes('Yes, allow once'), bot);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await bot.input({ keys: [key] });
      await until('its end', () => people.held.at(-1)?.ended !== null, bot);
      assert.deepEqual(people.held.at(-1)?.ended, { kind: 'withdrawn', surface: 'pane' });
      await open(bot);
      assert.equal(existsSync(join(work, 'made')), key === 'Enter');
      return bench.history();
    });
  }
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
  await scene('a damaged line in its file of events is passed over', async () => {
    const channel = bench.memory.get('web')?.channel as { events: string };
    appendFileSync(channel.events, '{"type":"user","mess\n');
    const result = await bench.sent(bot, 'still there');
    assert.equal(result.state, 'verified', JSON.stringify(result));
    await open(bot);
    return undefined;
  });
  await scene('an interrupt in the pane (Esc) is idle', async () => {
    assert.equal((await bench.sent(bot, 'SLOW one')).state, 'verified');
    await until('text', () => bot.explain().bottom.join('\n').includes('slow slow'), bot);
    await bot.input({ keys: ['Escape'] });
    await state(bot, 'idle');
    return bench.history();
  });
  await scene('its transcript says tokens', async () => {
    const usage = await bench.harnesses.usage(bench.spec('web'), null, true);
    assert.ok((usage?.lines.length ?? 0) > 3, JSON.stringify(usage));
    return `${usage?.lines.length} answers; ${JSON.stringify(usage?.lines[0])}`;
  });
  await scene('killed, and resumed with its conversation', async () => {
    await bench.killPane(bot.paneId);
    await until('gone', () => ['offline', 'failed'].includes(bot.state().state), bot);
    bot = await bench.up(bench.spec('web', { resume: true }));
    await state(bot, 'idle', 60_000);
    const result = await bench.sent(bot, 'and further');
    assert.equal(result.state, 'verified', JSON.stringify(result));
    await open(bot);
    assert.ok((bench.model.requests.findLast(({ lastUser }) => lastUser.includes('and further'))?.depth ?? 0) > 6);
    return bench.history();
  });
  await scene(
    'a provider that refuses: it retries for long and says nothing of it; an interrupt ends that',
    async () => {
      assert.equal((await bench.sent(bot, 'ERR429 please')).state, 'verified');
      await state(bot, 'working');
      await new Promise((resolve) => setTimeout(resolve, 3000));
      assert.equal(bot.state().state, 'working');
      await bot.input({ keys: ['Escape'] });
      await state(bot, 'idle');
      return bench.history();
    },
  );
  await scene('exec: ask, accept_edits, plan, and a deadline', async () => {
    const run = (words: string, mode: 'plan' | 'ask' | 'accept_edits', timeoutMs = 60_000) =>
      bench.harnesses.exec(bench.spec('exec'), bench.doors('exec'), words, { mode, timeoutMs });
    const plain = await run('say hello', 'ask');
    assert.deepEqual([plain.state, plain.text], ['done', 'A plain answer.'], JSON.stringify(plain));
    rmSync(join(work, 'made'), { force: true });
    rmSync(join(work, 'second'), { force: true });
    const refused = await run('RUNSHELL', 'ask');
    assert.deepEqual([refused.state, existsSync(join(work, 'made'))], ['done', false], JSON.stringify(refused));
    const planned = await run('WRITE', 'plan');
    assert.equal(existsSync(join(work, 'second')), false, JSON.stringify(planned));
    const edited = await run('WRITE', 'accept_edits');
    assert.equal(existsSync(join(work, 'second')), true, JSON.stringify(edited));
    bench.model.script(() => new Promise(() => {}));
    const late = await run('hello', 'ask', 8000);
    assert.equal(late.state, 'timeout');
    return `plain ${JSON.stringify({ ...plain, sessionId: undefined })}; refused ${refused.refused} ${refused.detail}; ${late.detail}`;
  });
  return bench.close();
}

export const qwenPlay: Play = {
  harness: 'qwen',
  package: '@qwen-code/qwen-code',
  version: '0.24.4',
  megabytes: 152,
  play,
};
