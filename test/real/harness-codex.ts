/** Codex's scenes: each takes up the bot and the conversation where the one before left them. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BotSpec, HarnessBot } from '../../src/runtime-server/harness/harness.ts';
import { processes } from '../support/bench/processes.ts';
import { type ModelReply, type ModelRequest, text, tools } from '../support/model-server/script.ts';
import { createCommon } from './harness-common.ts';
import { busy, playKit } from './harness-kit.ts';
import { createBench, type Play } from './harness-play.ts';
import { playTeam } from './harness-product.ts';
import { openHookEndpoint } from './hook-endpoint.ts';

const outside = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: ../beside.txt\n+words\n*** End Patch\nEOF";
const limit = 'You have hit your usage limit. Try again at 11:59 PM.';

const reply = (words: string): ModelReply => {
  if (words.includes('RUNSHELL')) {
    const input = {
      cmd: 'touch made && ls',
      justification: 'to make a file',
      sandbox_permissions: 'require_escalated',
    };
    return tools({ name: 'exec_command', input });
  }
  if (words.includes('PATCH')) return tools({ name: 'exec_command', input: { cmd: outside } });
  if (words.includes('WRITE')) return tools({ name: 'exec_command', input: { cmd: 'echo words > second' } });
  if (words.includes('SLOW')) return text('slow '.repeat(200), { pieces: 200, pauseMs: 100 });
  if (words.includes('BUSY')) return busy;
  if (words.includes('ERR400')) return { kind: 'error', status: 400, message: 'That is too much' };
  if (words.includes('LIMIT')) return { kind: 'error', status: 400, message: limit };
  return text('A plain answer.', { pieces: 10, pauseMs: 30 });
};
const answer = ({ lastUser, toolResults, body }: ModelRequest): ModelReply => {
  if (JSON.stringify(body).includes('single-line task title')) return text('{"title":"A title"}');
  return toolResults.length > 0 && !lastUser.includes('From owner') ? text('The tool ran.') : reply(lastUser);
};

const config = (url: string) => `model = "fake-1"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "${url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true

[analytics]
enabled = false

[features]
apps = false
plugins = false
remote_plugin = false
`;

async function play({ kitOnly }: { readonly kitOnly: boolean }): Promise<boolean> {
  // Under the folder for temporary files, where this home is, it makes no programs for its sandbox.
  const env = { SCRIPTED_KEY: 'scripted', TMPDIR: '/var/tmp' };
  const bench = await createBench('codex', { script: () => answer, env: () => env });
  const { scene, state, open, until, people, work, home, model } = bench;
  mkdirSync(join(home, '.codex'));
  writeFileSync(join(home, '.codex', 'config.toml'), config(model.url));
  const endpoint = await openHookEndpoint(bench.paths('web').urlFile);
  const culture = 'Be kind to newcomers.';
  const spec = (extra: Partial<BotSpec> = {}) => bench.spec('web', { culture, ...extra });
  async function up(extra: Partial<BotSpec> = {}): Promise<HarnessBot> {
    const live = await bench.up(spec(extra));
    endpoint.bots.set('web', live);
    return live;
  }
  const dialog = () => until('the dialog', () => common.bottom().includes('Would you like to'), bot);
  let bot = await up();
  const common = createCommon(bench, () => bot);
  const { bottom, made } = common;

  if (!kitOnly) await common.found('codex', '0.171.0');
  await scene('started: idle, in the mode that asks, with our hooks trusted and nothing else asked', async () => {
    await open(bot);
    assert.ok(!bottom().includes('Hooks need review'), 'it wants our hooks reviewed');
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
    assert.ok(JSON.stringify(asked?.body).includes(culture), 'the culture did not come in');
    return `hooks: ${endpoint.events.join(', ')}`;
  });
  for (const decision of ['approve', 'reject'] as const) {
    await scene(`a permission question is answered as an approval: ${decision}`, async () => {
      rmSync(made, { force: true });
      await common.verified('RUNSHELL please');
      await common.asked();
      assert.deepEqual([bot.state().state, bot.state().reason], ['needs_you', 'asks to run: touch made && ls']);
      await until('the status', () => bottom().includes('waiting in the Gantry inbox'), bot);
      assert.equal((await bot.deliver(bench.message('into the question'))).state, 'held');
      // Nothing may happen: the message is held while the question is there.
      await delay(1500);
      assert.equal(bot.state().state, 'needs_you');
      assert.match(people.held.at(-1)?.ask.summary ?? '', /^touch made && ls\n/);
      const from = performance.now();
      common.decide(decision, decision === 'reject' ? 'not on a Sunday' : null);
      await open(bot);
      assert.equal(existsSync(made), decision === 'approve');
      const told = model.requests.findLast(({ toolResults }) => toolResults.length > 0)?.toolResults.at(-1)?.text ?? '';
      if (decision === 'reject') assert.match(told, /A person rejected this: not on a Sunday/);
      return `${bench.history()}; idle ${Math.round(performance.now() - from)} ms after the answer; told: ${told.slice(0, 80)}`;
    });
  }
  await scene('a patch beside the project is asked, with its files', async () => {
    await common.verified('PATCH it');
    await common.asked();
    const asked = people.held.at(-1)?.ask;
    const { reason } = bot.state();
    common.decide('approve');
    await open(bot);
    assert.ok(existsSync(join(work, '..', 'beside.txt')));
    return `${asked?.title}; ${reason}`;
  });
  for (const key of ['Enter', 'Escape'] as const) {
    await scene(`any key brings the question to the pane; ${key} answers it there`, async () => {
      rmSync(made, { force: true });
      await common.verified('RUNSHELL again');
      await common.asked();
      await bot.input({ text: ' ' });
      await until('its end', () => people.held.at(-1)?.ended !== null, bot);
      assert.deepEqual(people.held.at(-1)?.ended, { kind: 'withdrawn', surface: 'pane' });
      await dialog();
      // Nothing may happen: the dialog in the pane is the question now.
      await delay(1000);
      assert.deepEqual([bot.state().state, bot.state().reason], ['needs_you', 'asks to run: touch made && ls']);
      await bot.input({ keys: [key] });
      await open(bot);
      assert.equal(existsSync(made), key === 'Enter');
      return bench.history();
    });
  }
  await common.outlives(() => {
    bot = bench.again(spec(), bot.paneId);
    endpoint.bots.set('web', bot);
  });
  await common.interrupted('Esc', 'slow slow');
  await common.refusesWith('Codex');
  await scene('a usage limit blocks, and says until when', async () => {
    await common.verified('LIMIT please');
    await state(bot, 'blocked');
    // Nothing may happen: it stays blocked.
    await delay(1500);
    assert.deepEqual([bot.state().state, bot.gate().open], ['blocked', false]);
    const said = bot.limit?.();
    assert.ok(typeof said?.until === 'number', JSON.stringify(said));
    bot.unblock?.();
    await open(bot);
    return `${said.reason}; ${bench.history()}`;
  });
  await scene('killed, no program of it is left; resumed with its conversation', async () => {
    await bench.killPane(bot.paneId);
    await until('gone', () => ['offline', 'failed'].includes(bot.state().state), bot);
    // Nothing may be left: programs that are ending get this time.
    await delay(500);
    const left = processes().filter(({ command }) => /bin\/codex\b/.test(command) && !command.includes('harness'));
    assert.deepEqual(left, [], 'a program of it lives on');
    bot = await up({ resume: true });
    await open(bot);
    const result = await bench.sent(bot, 'and further');
    assert.deepEqual([result.state, 'evidence' in result && result.evidence], ['verified', 'hook']);
    await open(bot);
    assert.ok((model.requests.findLast(({ lastUser }) => lastUser.includes('and further'))?.depth ?? 0) > 10);
    return bench.history();
  });
  await scene('without hooks a resumed conversation has its transcript as the witness', async () => {
    await bench.killPane(bot.paneId);
    endpoint.bots.clear();
    bot = await bench.up(spec({ resume: true }));
    const result = await bench.sent(bot, 'can you hear');
    assert.deepEqual([result.state, 'evidence' in result && result.evidence], ['verified', 'transcript']);
    await open(bot);
    return bench.history();
  });
  await scene('nothing of ours stands in the person’s home', async () => {
    const kept = readFileSync(join(home, '.codex', 'config.toml'), 'utf8');
    assert.ok(!/hooks|developer_instructions|gantry hook/.test(kept), kept);
    assert.equal(existsSync(join(home, '.codex', 'hooks.json')), false);
    return undefined;
  });
  await scene('leaving with Ctrl-C is offline', async () => {
    await bot.input({ keys: ['C-c'] });
    await state(bot, 'offline');
    return bench.history();
  });
  await scene('as a bot of a team: gantry start, team up, a question approved from the inbox over HTTP, kill -9', () =>
    playTeam('codex', env, (folder) => {
      mkdirSync(join(folder, '.codex'));
      writeFileSync(join(folder, '.codex', 'config.toml'), config(model.url));
    }),
  );
  await common.exec(bench.spec('exec'), { lateMs: 6000, refused: { ask: 1 }, resumes: true });
  endpoint.close();
  return bench.close();
}

export const codexPlay: Play = {
  harness: 'codex',
  package: '@openai/codex',
  version: '0.171.0',
  megabytes: 404,
  play,
};
