/** Qwen Code's scenes: each takes up the bot and the conversation where the one before left them. */
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ModelReply, text, tools } from '../support/model-server/script.ts';
import { createCommon } from './harness-common.ts';
import { busy, playKit } from './harness-kit.ts';
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
  if (words.includes('BUSY')) return busy;
  if (words.includes('ERR429')) return { kind: 'error', status: 429, message: 'Too many requests, slow down' };
  return text('A plain answer.', { pieces: 10, pauseMs: 30 });
};

async function play({ kitOnly }: { readonly kitOnly: boolean }): Promise<boolean> {
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
  const { scene, state, open } = bench;
  let bot = await bench.up(bench.spec('web', { culture: 'Be kind to newcomers.' }));
  const common = createCommon(bench, () => bot);

  if (!kitOnly) await common.found('qwen', '0.24.4', true);
  await scene('started: idle', async () => {
    await state(bot, 'idle', 60_000);
    await open(bot);
    assert.ok(common.bottom().includes('Ask permissions'), 'it is not in the mode that asks');
    return bench.history();
  });
  await playKit(bench, { spec: bench.spec('kit') });
  if (kitOnly) return bench.close();
  await common.witnessed('its event file', 'hook', async () => {
    const asked = bench.model.requests.find(
      ({ lastUser }) => lastUser.includes('say hello') && lastUser.includes('From owner'),
    );
    assert.ok(asked?.system.includes('Be kind to newcomers.'), 'the culture did not come in');
    return 'the culture came in';
  });
  await common.answered('Yes, allow once');
  await common.fileAsked('whole');
  await common.answeredInPane('Yes, allow once', ['Enter', 'Escape']);
  await common.outlives(() => {
    bot = bench.again(bench.spec('web'), bot.paneId);
  });
  await scene('a damaged line in its file of events is passed over', async () => {
    const channel = bench.memory.get('web')?.channel as { events: string };
    appendFileSync(channel.events, '{"type":"user","mess\n');
    await common.verified('still there');
    await open(bot);
    return undefined;
  });
  await common.interrupted('Esc', 'slow slow');
  await scene(
    'a provider that refuses: it retries for long and says nothing of it; an interrupt ends that',
    async () => {
      await common.verified('ERR429 please');
      await state(bot, 'working');
      // Nothing may happen: it tries again, and is at work meanwhile.
      await new Promise((resolve) => setTimeout(resolve, 3000));
      assert.equal(bot.state().state, 'working');
      await bot.input({ keys: ['Escape'] });
      await state(bot, 'idle');
      return bench.history();
    },
  );
  await common.exec(bench.spec('exec'), { lateMs: 8000 });
  return bench.close();
}

export const qwenPlay: Play = {
  harness: 'qwen',
  package: '@qwen-code/qwen-code',
  version: '0.24.4',
  megabytes: 152,
  play,
};
