/**
 * The scenes of `claude.ts`: `claude` is on PATH; prints one line a scene and ends with 1 when one fails. Longer than other files
 * because it is one play: each scene takes up the bot and the conversation where the one before left them.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { programCommand } from '../../src/kit/process/programs.ts';
import type { BotPaths, BotSpec, HarnessBot, Outgoing } from '../../src/runtime-server/harness/harness.ts';
import { createHarnesses } from '../../src/runtime-server/harness/index.ts';
import { createPaneEngine } from '../../src/runtime-server/panes/create-pane-engine.ts';
import { chromiumPath } from '../e2e/support/browser.ts';
import { processes } from '../runtime-server/harness/bench-of-one.ts';
import { askAlways, createPeople } from '../runtime-server/harness/people.ts';
import { type ModelReply, type ModelRequest, text, tools } from '../support/model-server/script.ts';
import { startModelServer } from '../support/model-server/server.ts';
import { everythingAgreed } from '../support/trust.ts';
import { createAccountScript, playAccounts } from './claude-accounts.ts';
import { openInbox } from './claude-approvals.ts';
import { playFirstMinute } from './claude-first-minute.ts';
import { claudeEnv } from './claude-install.ts';
import { playProduct } from './claude-product.ts';
import { createToolScript, playTools } from './claude-tools.ts';
import { untilBot } from './harness-play.ts';
import { openHookEndpoint } from './hook-endpoint.ts';
import { readDialog } from './scenes.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'gantry-claude-run-')));
const home = join(root, 'home');
const work = join(root, 'project');
for (const folder of [home, work]) mkdirSync(folder);
const gantryHome = join(root, 'gantry');
mkdirSync(gantryHome, { mode: 0o700 });

const reply = (prompt: string): ModelReply => {
  // A prompt that got no answer goes out again in front of the next one.
  const words = prompt.slice(Math.max(0, prompt.lastIndexOf('From owner')));
  if (words.includes('RUNSHELL'))
    return tools({ name: 'Bash', input: { command: 'touch made && ls', description: 'Make a file' } });
  if (words.includes('RUNTWO')) {
    return tools(
      { name: 'Bash', input: { command: 'touch first', description: 'Make a file' } },
      { name: 'Write', input: { file_path: join(work, 'second'), content: 'words\n' } },
    );
  }
  if (words.includes('SLOW')) return text('slow '.repeat(200), { pieces: 200, pauseMs: 100 });
  if (words.includes('ERR429')) return { kind: 'error', status: 429, message: 'Too many requests, slow down' };
  if (words.includes('LIMIT'))
    return { kind: 'error', status: 429, message: 'You have hit your usage limit, resets 3pm' };
  return text('A plain answer.', { pieces: 10, pauseMs: 30 });
};
/** A refused tool's result stands beside the next prompt; the prompt is then what counts. */
const toolScript = createToolScript();
const accountScript = createAccountScript();
const answer = (request: ModelRequest): ModelReply => {
  const { toolResults, lastUser } = request;
  const ended = toolResults.length > 0 && !/From owner/.test(lastUser);
  return (
    accountScript.answer(request) ?? toolScript.answer(request) ?? (ended ? text('The tool ran.') : reply(lastUser))
  );
};
const model = await startModelServer(answer);

const urlFile = join(root, 'url');
const endpoint = await openHookEndpoint(urlFile);
const { bots, events: hooks } = endpoint;

const modelEnv = claudeEnv(model.url);

const people = createPeople();
const memory = new Map<string, Readonly<Record<string, unknown>>>();
const panes = createPaneEngine({ home: gantryHome, command: programCommand('pane-host'), onError: console.error });
const harnesses = createHarnesses({
  trust: everythingAgreed,
  panes,
  clock: systemClock,
  memory: { recall: (id) => memory.get(id) ?? null, remember: (id, facts) => void memory.set(id, facts) },
  approvals: people,
  policy: askAlways,
  processes,
  home,
  env: {
    PATH: process.env.PATH,
    HOME: home,
    LANG: 'C.UTF-8',
    ...modelEnv,
  },
});

function spec(agentId: string, extra: Partial<BotSpec> = {}): BotSpec {
  const none = { model: null, command: null, culture: null, env: {} };
  return { agentId, slug: agentId, team: 'real', harness: 'claude', cwd: work, ...none, ...extra };
}

function paths(agentId: string, url = urlFile): BotPaths {
  const folder = join(root, 'bots', agentId);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, agentId, { mode: 0o600 });
  return { urlFile: url, tokenFile, workspace: work, gantry: programCommand('cli'), folder };
}

let paneCount = 0;
async function up(bot: BotSpec, places = paths(bot.agentId)): Promise<HarnessBot> {
  const launch = await harnesses.prepare(bot, places);
  paneCount += 1;
  const id = `pane_${paneCount}`;
  await panes.create({ id, ...launch, labels: {} });
  const live = harnesses.attach(bot, id);
  live.onState(({ state, reason }) => history.push(reason ? `${state}: ${reason}` : state));
  bots.set(bot.agentId, live);
  return live;
}

let history: string[] = [];
let count = 0;
function message(words: string): Outgoing {
  count += 1;
  return {
    deliveryId: `delivery_${Date.now()}_${count}`,
    senderLine: 'From owner',
    text: words,
    replyLine: null,
    raw: false,
  };
}

const state = (bot: HarnessBot, wanted: string) => untilBot(wanted, () => bot.state().state === wanted, bot);
const reason = (bot: HarnessBot, part: string) =>
  untilBot(part, () => bot.state().reason?.includes(part) ?? false, bot);
const open = (bot: HarnessBot) => untilBot('an open gate', () => bot.gate().open, bot);

let failed = 0;
async function scene(name: string, play: () => Promise<string | undefined>): Promise<void> {
  const from = performance.now();
  history = [];
  try {
    const words = await play();
    console.log(`ok   ${name} (${Math.round(performance.now() - from)} ms)${words ? `: ${words}` : ''}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}: ${(error as Error).message}\n     states: ${history.join(' → ')}`);
  }
}

const bot = await up(spec('web'));

await scene('found: installed, version, covered by the rules, signed in', async () => {
  const found = (await harnesses.found()).find(({ name }) => name === 'claude');
  assert.deepEqual([found?.installed, found?.version, found?.covered, found?.signedIn], [true, '2.1.332', true, true]);
  return found?.detail;
});
await scene('first start: each screen is needs_you with its words, and messages are held as setup', async () => {
  await reason(bot, 'text style');
  assert.deepEqual({ ...bot.gate(), why: '' }, { open: false, why: '', setup: true });
  await bot.input({ keys: ['Enter'] });
  await reason(bot, 'security');
  await bot.input({ keys: ['Enter'] });
  await reason(bot, 'trusted');
  const held = await bot.deliver(message('too early'));
  assert.equal(held.state, 'held');
  await readDialog();
  await bot.input({ keys: ['Down'] });
  await untilBot('the other choice', () => bot.explain().bottom.some((row) => row.includes('❯ Yes')), bot);
  await bot.input({ keys: ['Enter'] });
  await open(bot);
  // The same question waited as an approval, and was taken back.
  assert.deepEqual(
    people.held.map(({ ask, ended }) => [ask.kind, ended]),
    [['trust_folder', { kind: 'withdrawn', surface: 'pane' }]],
  );
  return history.join(' → ');
});
await scene('a message is verified by the submit hook; the turn is working, then idle', async () => {
  const from = performance.now();
  const result = await bot.deliver(message('say hello'));
  const took = Math.round(performance.now() - from);
  assert.deepEqual(
    [result.state, 'evidence' in result && result.evidence],
    ['verified', 'hook'],
    JSON.stringify(result),
  );
  await open(bot);
  assert.ok(model.requests.some(({ lastUser }) => lastUser.includes('say hello') && lastUser.includes('From owner')));
  return `${took} ms to the witness; ${history.join(' → ')}`;
});
await scene('a message that begins with ! or / and has tabs and many lines is text, not a command', async () => {
  const words = `!touch forged\n/status\n${Array.from({ length: 9 }, (_, row) => `\trow ${row}`).join('\n')}`;
  const result = await bot.deliver(message(words));
  assert.deepEqual(
    [result.state, 'evidence' in result && result.evidence],
    ['verified', 'hook'],
    JSON.stringify(result),
  );
  await open(bot);
  assert.equal(existsSync(join(work, 'forged')), false);
  return history.join(' → ');
});
await scene('30,000 characters arrive whole', async () => {
  const words = Array.from({ length: 600 }, (_, row) => `row ${row} ${'x'.repeat(40)}`).join('\n');
  const result = await bot.deliver(message(words));
  assert.deepEqual(
    [result.state, 'evidence' in result && result.evidence],
    ['verified', 'hook'],
    JSON.stringify(result),
  );
  await open(bot);
  return history.join(' → ');
});
await scene('a draft closes the gate and is left alone', async () => {
  await bot.input({ text: 'my own words' });
  await untilBot('draft', () => JSON.stringify(bot.gate()).includes('draft'), bot);
  assert.deepEqual(await bot.deliver(message('not now')), { state: 'held', why: 'draft' });
  assert.ok(bot.explain().bottom.some((row) => /^❯\smy own words$/u.test(row)));
  await bot.input({ keys: ['C-u'] });
  await open(bot);
  return undefined;
});
await scene(
  'a permission dialog is needs_you with the command; a message is held; Yes goes on to working and idle',
  async () => {
    const before = people.held.length;
    assert.equal((await bot.deliver(message('RUNSHELL please'))).state, 'verified');
    await reason(bot, 'asks to run: touch made && ls');
    await untilBot('the dialog', () => bot.explain().bottom.join('\n').includes('Do you want to proceed?'), bot);
    assert.equal((await bot.deliver(message('into the dialog'))).state, 'held');
    await readDialog();
    const asked = people.held.at(-1);
    assert.deepEqual([asked?.ask.summary, asked?.ended], ['touch made && ls', null]);
    await bot.input({ text: '1' });
    await state(bot, 'idle');
    assert.ok(existsSync(join(work, 'made')));
    assert.deepEqual([people.held.length - before, asked?.ended], [1, { kind: 'withdrawn', surface: 'pane' }]);
    await open(bot);
    return history.join(' → ');
  },
);
await scene('No at a dialog sends no hook: the screen brings it back to idle', async () => {
  assert.equal((await bot.deliver(message('RUNSHELL again'))).state, 'verified');
  await state(bot, 'needs_you');
  await untilBot('the dialog', () => bot.explain().bottom.join('\n').includes('Do you want to proceed?'), bot);
  await readDialog();
  const before = hooks.length;
  await bot.input({ keys: ['Escape'] });
  await state(bot, 'idle');
  assert.deepEqual(people.held.at(-1)?.ended, { kind: 'withdrawn', surface: 'pane' });
  return `${history.join(' → ')}; hooks meanwhile: ${hooks.slice(before).join(', ') || 'none'}`;
});
for (const decision of ['approve', 'reject'] as const) {
  await scene(`a permission dialog is answered elsewhere, without a key: ${decision}`, async () => {
    await open(bot);
    rmSync(join(work, 'made'), { force: true });
    const before = people.held.length;
    assert.equal((await bot.deliver(message('RUNSHELL once more'))).state, 'verified');
    await untilBot('the dialog', () => bot.explain().bottom.join('\n').includes('Do you want to proceed?'), bot);
    await untilBot('the question', () => bot.explain().approvals.length === 1, bot);
    await readDialog();
    const [id] = bot.explain().approvals;
    const from = performance.now();
    people.answer(String(id), decision, decision === 'reject' ? 'not on a Sunday' : null);
    await untilBot('no dialog', () => !bot.explain().bottom.join('\n').includes('Do you want to proceed?'), bot);
    const gone = Math.round(performance.now() - from);
    await open(bot);
    assert.equal(existsSync(join(work, 'made')), decision === 'approve');
    assert.equal(people.held.length, before + 1);
    const told =
      model.requests
        .at(-1)
        ?.toolResults.map(({ text }) => text)
        .join(' ') ?? '';
    if (decision === 'reject') assert.match(told, /A person rejected this: not on a Sunday/);
    return `dialog gone after ${gone} ms; the model was told: ${told.slice(0, 200)}; ${history.join(' → ')}`;
  });
}
await scene('a question that expired stays on the screen for the person at the pane', async () => {
  await open(bot);
  rmSync(join(work, 'made'), { force: true });
  assert.equal((await bot.deliver(message('RUNSHELL at last'))).state, 'verified');
  await untilBot('the question', () => bot.explain().approvals.length === 1, bot);
  await untilBot('the dialog', () => bot.explain().bottom.join('\n').includes('Do you want to proceed?'), bot);
  people.expire(String(bot.explain().approvals[0]));
  await readDialog();
  assert.deepEqual([bot.state().state, bot.explain().approvals], ['needs_you', []]);
  assert.ok(bot.explain().bottom.join('\n').includes('Do you want to proceed?'), 'the dialog is gone');
  await bot.input({ text: '1' });
  await open(bot);
  assert.ok(existsSync(join(work, 'made')));
  return history.join(' → ');
});
await scene('two questions of one turn: the first is answered in the pane, the second elsewhere', async () => {
  await open(bot);
  const before = people.held.length;
  assert.equal((await bot.deliver(message('RUNTWO please'))).state, 'verified');
  await untilBot('a dialog', () => bot.explain().bottom.join('\n').includes('Do you want to'), bot);
  await untilBot('a question', () => bot.explain().approvals.length > 0, bot);
  await readDialog();
  const first = people.held[before];
  const together = bot.explain().approvals.length;
  await bot.input({ text: '1' });
  await untilBot('its end', () => first?.ended !== null, bot);
  assert.deepEqual(first?.ended, { kind: 'withdrawn', surface: 'pane' });
  await untilBot('the second question', () => people.held.length === before + 2, bot);
  const second = people.held.at(-1);
  await untilBot('the second dialog', () => bot.explain().bottom.join('\n').includes('second'), bot);
  await readDialog();
  assert.equal(second?.ended, null);
  assert.equal(second?.ask.summary, `--- ${join(work, 'second')}\n+++ ${join(work, 'second')}\n+words\n+`);
  await reason(bot, `asks to change ${join(work, 'second')}`);
  people.answer(String(second?.id), 'approve');
  await open(bot);
  assert.deepEqual([existsSync(join(work, 'first')), existsSync(join(work, 'second'))], [true, true]);
  return `${together} asked at first; ${history.join(' → ')}`;
});
await scene('an interrupt sends no hook: the screen brings it back to idle', async () => {
  await open(bot);
  assert.equal((await bot.deliver(message('SLOW one'))).state, 'verified');
  await untilBot('text', () => bot.explain().bottom.join('\n').includes('slow slow'), bot);
  const before = hooks.length;
  await bot.input({ keys: ['Escape'] });
  await state(bot, 'idle');
  return `${history.join(' → ')}; hooks meanwhile: ${hooks.slice(before).join(', ') || 'none'}`;
});
await scene(
  'an interrupt before the first word puts the prompt back: a draft, never glued to the next message',
  async () => {
    await open(bot);
    model.script(async (request) => {
      if (request.lastUser.includes('NEVER')) await new Promise((resolve) => setTimeout(resolve, 5000));
      return reply(request.lastUser);
    });
    assert.equal((await bot.deliver(message('NEVER answered'))).state, 'verified');
    await untilBot('a turn', () => bot.explain().bottom.join('\n').includes('esc to interrupt'), bot);
    await bot.input({ keys: ['Escape'] });
    await state(bot, 'idle');
    await new Promise((resolve) => setTimeout(resolve, 1700));
    const gate = bot.gate();
    if (!gate.open) {
      for (let line = 0; line < 4; line += 1) await bot.input({ keys: ['C-u'] });
      await open(bot);
    }
    return `gate after it: ${JSON.stringify(gate)}`;
  },
);
await scene('a provider that refuses: working while it retries, then idle with the reason', async () => {
  assert.equal((await bot.deliver(message('ERR429 please'))).state, 'verified');
  await reason(bot, 'the last turn failed');
  await open(bot);
  return history.join(' → ');
});
await scene('a usage limit blocks', async () => {
  assert.equal((await bot.deliver(message('LIMIT please'))).state, 'verified');
  await untilBot('blocked', () => bot.state().state === 'blocked', bot);
  assert.equal(bot.gate().open, false);
  model.script(() => text('Going on.'));
  await bot.input({ text: 'go on', keys: ['Enter'] });
  await open(bot);
  model.script(answer);
  return history.join(' → ');
});
await scene('without hooks the transcript is the witness', async () => {
  const nowhere = join(root, 'no-url');
  writeFileSync(nowhere, 'http://127.0.0.1:9');
  const deaf = await up(spec('deaf'), paths('deaf', nowhere));
  await open(deaf);
  const result = await deaf.deliver(message('can you hear'));
  assert.deepEqual(
    [result.state, 'evidence' in result && result.evidence],
    ['verified', 'transcript'],
    JSON.stringify(result),
  );
  await open(deaf);
  await panes.kill(deaf.paneId);
  return history.join(' → ');
});
await scene('leaving with exit code 0 is offline; resume takes the conversation up', async () => {
  await bot.input({ keys: ['C-c', 'C-c'] });
  await state(bot, 'offline');
  const again = await up(spec('web', { resume: true }));
  await open(again);
  assert.ok(again.explain().bottom.join('\n').includes('go on'), 'the earlier prompt is not on the screen');
  const result = await again.deliver(message('and further'));
  assert.deepEqual(
    [result.state, 'evidence' in result && result.evidence],
    ['verified', 'hook'],
    JSON.stringify(result),
  );
  await open(again);
  await panes.kill(again.paneId);
  return history.join(' → ');
});
for (const mode of ['plan', 'ask', 'accept_edits'] as const) {
  await scene(`exec mode ${mode}`, async () => {
    model.script(answer);
    const plain = await harnesses.exec(spec('exec'), paths('exec'), 'say hello', { mode, timeoutMs: 60_000 });
    const tool = await harnesses.exec(spec('exec'), paths('exec'), 'RUNSHELL', { mode, timeoutMs: 60_000 });
    if (mode !== 'plan')
      assert.deepEqual([plain.state, plain.text], ['done', 'A plain answer.'], JSON.stringify(plain));
    assert.equal(tool.refused, mode === 'accept_edits' ? 0 : 1, JSON.stringify(tool));
    return `plain ${JSON.stringify({ ...plain, sessionId: undefined })} · tool ${JSON.stringify({ ...tool, sessionId: undefined })}`;
  });
}
await scene('exec mode: an answer that never comes ends at its deadline with the whole group', async () => {
  model.script(() => new Promise(() => {}));
  const result = await harnesses.exec(spec('exec'), paths('exec'), 'hello', { mode: 'ask', timeoutMs: 4000 });
  assert.equal(result.state, 'timeout');
  return result.detail;
});

await scene('as a bot of a team: gantry start, team up, sends over HTTP, kill -9, start again, send', async () => {
  model.script(answer);
  return playProduct(modelEnv);
});
if (existsSync(chromiumPath)) {
  await scene('the first minute on one’s own repository: at most 60 s and 5 clicks to a bot at work', async () => {
    model.script(answer);
    return playFirstMinute(modelEnv);
  });
} else console.log(`skip the first minute: there is no ${chromiumPath}`);
await scene(
  'as a bot of a team it lists and calls native, conversion and attached tools; a call that needs a person is approved from the inbox and runs once',
  async () => {
    model.script(answer);
    return playTools(modelEnv, toolScript);
  },
);
await scene('at a usage limit a bot of a team continues its conversation with its next account', async () => {
  model.script(answer);
  return playAccounts(modelEnv, accountScript);
});

model.script(answer);
const inbox = await openInbox(
  modelEnv,
  () => model.requests.findLast(({ toolResults }) => toolResults.length > 0)?.toolResults.at(-1)?.text ?? '',
);
await scene('a question answered from the inbox over HTTP: approved', () => inbox.approve());
await scene('a question answered from the inbox over HTTP: rejected', () => inbox.reject());
if (existsSync(chromiumPath)) {
  await scene('a question answered from the inbox in the browser: approved', () => inbox.approveInBrowser());
} else console.log(`skip a question answered from the inbox in the browser: there is no ${chromiumPath}`);
await scene('a question answered in the pane: the approval is withdrawn there', () => inbox.inPane());
await scene('the runtime is killed -9 while a question waits: the dialog stays, the answer arrives', () =>
  inbox.killed(),
);
await scene('the runtime is killed -9, then the question is answered in the pane', () => inbox.killedThenPane());
await scene('a rule of the person answers: the tool runs and nobody is asked', () => inbox.ruled());
await inbox.close();

console.log(
  `hooks seen: ${[...new Set(hooks)].join(', ')}; other paths asked of the model server: ${[...new Set(model.unknown)].join(', ') || 'none'}`,
);
await panes.stopHost({ force: true });
await panes.close();
endpoint.close();
await model.close();
// Claude Code's children may still write for a moment.
rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
process.exitCode = failed > 0 ? 1 : 0;
