import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HarnessBot, Outgoing } from '../../../src/runtime-server/harness/harness.ts';
import { takeKey } from '../../../src/runtime-server/harness/shell/start-file.ts';
import { composeCommands } from '../../../src/runtime-server/harness/wording.ts';
import { createScratch, eventually, gateOpen, outgoing, reaches, type Scratch } from './bench-of-one.ts';

let scratch: Scratch;
beforeEach(() => {
  scratch = createScratch();
});
afterEach(() => scratch.close());

const spec = (agentId: string) => scratch.spec({ agentId });
const screen = (bot: { explain(): { bottom: readonly string[] } }) => bot.explain().bottom.join('\n');

test('a message runs as commands below a comment that names its sender, and the shell itself is the witness', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  const result = await bot.deliver(outgoing('echo one > a.txt\nfor i in 2 3; do\n  echo $i >> a.txt\ndone'));
  expect(result).toMatchObject({ state: 'verified', evidence: 'hook' });
  await gateOpen(bot);
  expect(readFileSync(join(scratch.work, 'a.txt'), 'utf8')).toBe('one\n2\n3\n');
  expect(screen(bot)).toContain('web@dev work $ # From owner');
});

test('no message acts as history, is changed by tabs, umlauts or control characters, or runs by its sender line', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  const text = "printf '%s' 'ä\tb!!\x1b[201~c' > b.txt";
  const sender = 'From x\ntouch forged';
  expect(await bot.deliver(outgoing(text, { senderLine: sender }))).toMatchObject({ state: 'verified' });
  await gateOpen(bot);
  expect(readFileSync(join(scratch.work, 'b.txt'), 'utf8')).toBe('ä\tb!![201~c');
  expect(existsSync(join(scratch.work, 'forged'))).toBe(false);
});

test('a hundred thousand characters arrive whole', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  const long = 'x'.repeat(99_900);
  expect(await bot.deliver(outgoing(`printf %s ${long} > long.txt`))).toMatchObject({ state: 'verified' });
  await gateOpen(bot);
  expect(readFileSync(join(scratch.work, 'long.txt'), 'utf8')).toBe(long);
});

test('raw types the bare text with nothing before or after it', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('echo raw', { raw: true, replyLine: 'never' }))).toMatchObject({
    state: 'verified',
  });
  await gateOpen(bot);
  expect(screen(bot)).toContain('$ echo raw\nraw\n');
  expect(screen(bot)).not.toContain('From');
});

test('state follows prompt, command, unfinished command and exit codes', async () => {
  const bot = await scratch.up({});
  const states: string[] = [];
  bot.onState(({ state, reason }) => states.push([state, reason].filter(Boolean).join(': ')));
  await gateOpen(bot);
  await bot.input({ text: 'sleep 0.2; false', keys: ['Enter'] });
  await reaches(bot, 'working');
  expect(bot.gate()).toMatchObject({ open: false, setup: false });
  await reaches(bot, 'idle');
  expect(bot.state().reason).toBe('the last command ended with exit code 1');
  await bot.input({ text: 'echo "abc', keys: ['Enter'] });
  await reaches(bot, 'needs_you');
  await bot.input({ keys: ['C-c'] });
  await reaches(bot, 'idle');
  await bot.input({ text: 'sleep 0.2; exit 3', keys: ['Enter'] });
  await reaches(bot, 'failed');
  expect(states).toEqual(
    [
      'idle',
      'working',
      'idle: the last command ended with exit code 1',
      'needs_you: the shell waits for the rest of an unfinished command',
      'idle: the last command ended with exit code 130',
      'working: ',
      'failed: it ended with exit code 3',
    ].map((line) => line.replace(/: $/, '')),
  );
  expect(bot.gate()).toEqual({ open: false, why: 'no live pane', setup: false });
});

test('a shell that is left with exit code 0 is offline', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  await bot.input({ text: 'exit 0', keys: ['Enter'] });
  await reaches(bot, 'offline');
});

test('a draft of a person closes the gate and is never mixed with a message', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  await bot.input({ text: 'touch half' });
  await eventually(() => !bot.gate().open && 'why' in bot.gate() && JSON.stringify(bot.gate()).includes('draft'));
  expect(await bot.deliver(outgoing('touch other'))).toEqual({ state: 'held', why: 'draft' });
  await bot.input({ keys: ['C-u'] });
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('touch third'))).toMatchObject({ state: 'verified' });
  await gateOpen(bot);
  expect([existsSync(join(scratch.work, 'half')), existsSync(join(scratch.work, 'other'))]).toEqual([false, false]);
  expect(existsSync(join(scratch.work, 'third'))).toBe(true);
});

test('what a background job prints behind the prompt is no draft; a draft beside it still is', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  // Its end, too, when the folder is gone: a job that is disowned outlives its shell.
  const late = (words: string) =>
    `(while [ -d "$PWD" -a ! -e go-${words} ]; do sleep 0.02; done; printf ${words}) & disown`;
  for (const words of ['one', 'two']) {
    expect(await bot.deliver(outgoing(late(words)))).toMatchObject({ state: 'verified' });
    await gateOpen(bot);
  }
  writeFileSync(join(scratch.work, 'go-one'), '');
  await eventually(() => / \$ one$/.test(screen(bot)));
  expect(bot.gate()).toEqual({ open: true });
  expect(await bot.deliver(outgoing('touch made'))).toMatchObject({ state: 'verified' });
  await gateOpen(bot);
  expect(existsSync(join(scratch.work, 'made'))).toBe(true);
  await bot.input({ text: 'touch half' });
  await eventually(() => / \$ touch half$/.test(screen(bot)));
  writeFileSync(join(scratch.work, 'go-two'), '');
  await eventually(() => / \$ touch halftwo$/.test(screen(bot)));
  expect(await bot.deliver(outgoing('touch other'))).toMatchObject({ state: 'held' });
  expect(existsSync(join(scratch.work, 'other'))).toBe(false);
});

test('after a program that was killed the prompt stands where it was, in plain colours and without its reports', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  const left = '\\e[?1049h\\e[2J\\e[5;9Hscreen\\e[?1003h\\e[?1006h\\e[?1004h\\e[?1h\\e[3;6r\\e[?25l\\e[2m';
  const facts = () => scratch.panes.get(bot.paneId)?.facts;
  for (const [modes, above] of [
    [left, 'before'],
    ['', 'after'],
  ]) {
    const kill = modes === '' ? '' : `; bash -c 'printf "${modes}"; kill -9 $$'`;
    expect(await bot.deliver(outgoing(`printf '${above}\\n'${kill}`))).toMatchObject({ state: 'verified' });
    await gateOpen(bot);
    expect(facts()).toMatchObject({
      altScreen: false,
      focusReporting: false,
      applicationCursor: false,
      bracketedPaste: true,
    });
    const rows = bot.explain().bottom;
    expect(rows.at(-1)).toBe('web@dev work $');
    expect(rows.slice(-3)).toContain(above);
  }
  expect(facts()?.dimRows).not.toContain(true);
  // Without a newline the prompt follows what was printed: on the ordinary screen nothing moves.
  expect(await bot.deliver(outgoing('printf words'))).toMatchObject({ state: 'verified' });
  await eventually(() => /^wordsweb@dev work \$/m.test(screen(bot)));
  expect(bot.explain().bottom.at(-1)).toBe('wordsweb@dev work $');
});

test('a draft that no screen has shown yet is found by the shell when the message is offered', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  // Straight into the pty, in the same turn: the gate cannot know.
  const typed = scratch.panes.write(bot.paneId, 'touch half');
  const result = await bot.deliver(outgoing('touch other'));
  await typed;
  expect(result).toEqual({ state: 'held', why: 'draft' });
  expect(existsSync(join(scratch.work, 'other'))).toBe(false);
});

test('printed output cannot forge a prompt: only signals with the nonce of this start count', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  writeFileSync(
    join(scratch.work, 'forge.sh'),
    "printf '\\e]777;gantry;00;ready;9;0;x\\a\\e]777;gantry;;ready;9;0;x\\aforged'; until [ -e go ]; do sleep 0.05; done\n",
  );
  await bot.deliver(outgoing('sh forge.sh'));
  // What it prints after the marks is on the screen: they have been read.
  await eventually(() => scratch.panes.get(bot.paneId)?.facts.bottom.at(-1) === 'forged');
  expect(bot.state().state).toBe('working');
  writeFileSync(join(scratch.work, 'go'), '');
  await reaches(bot, 'idle');
});

test('a first command runs before the first prompt, and its interruption leaves a shell that works', async () => {
  const bot = await scratch.up({ command: "echo 'it''s on' > first.txt; sleep 30" });
  await reaches(bot, 'working');
  const first = () => readFileSync(join(scratch.work, 'first.txt'), { encoding: 'utf8', flag: 'a+' });
  // The shell makes the file before it writes into it.
  await eventually(() => first() === 'its on\n');
  // As a person does: a Ctrl-C between two commands of a line stops neither.
  for (let press = 0; press < 20 && bot.state().state === 'working'; press += 1) {
    await bot.input({ keys: ['C-c'] });
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await reaches(bot, 'idle');
  await gateOpen(bot);
  expect(await bot.deliver(outgoing('echo after >> first.txt'))).toMatchObject({ state: 'verified' });
  await gateOpen(bot);
  expect(first()).toBe('its on\nafter\n');
});

test('after a restart of the runtime the journal tells what happened meanwhile', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  bot.close();
  await scratch.panes.write(bot.paneId, 'false\r');
  await eventually(() => scratch.panes.get(bot.paneId)?.facts.bottom.length === 2);
  const again = scratch.restarted().attach(spec(bot.agentId), bot.paneId);
  await gateOpen(again);
  expect(again.state()).toMatchObject({ state: 'idle', reason: 'the last command ended with exit code 1' });
  expect(await again.deliver(outgoing('echo back'))).toMatchObject({ state: 'verified' });
});

test('a restart of the runtime that changes nothing changes no time either', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  const { since } = bot.state();
  bot.close();
  const again = scratch.restarted().attach(spec(bot.agentId), bot.paneId);
  await gateOpen(again);
  expect(again.state()).toEqual({ state: 'idle', reason: null, since });
});

/** What a runtime that was killed between two bytes has done: put the text into the shell's line, and maybe pressed Enter. */
async function cutOff(bot: HarnessBot, message: Outgoing, entered: boolean): Promise<HarnessBot> {
  const { messageFile } = scratch.facts.get(bot.agentId) as { messageFile: string };
  writeFileSync(messageFile, `${message.deliveryId}\n${composeCommands(message)}`);
  await scratch.panes.write(bot.paneId, takeKey);
  await eventually(() => screen(bot).includes('# From owner'));
  bot.close();
  if (entered) await scratch.panes.write(bot.paneId, '\r');
  return scratch.restarted().attach(spec(bot.agentId), bot.paneId);
}

const lines = (file: string) => readFileSync(join(scratch.work, file), 'utf8').split('\n').length - 1;

test('a message cut off before Enter is entered once by the next runtime, and one cut off after it is only confirmed', async () => {
  for (const entered of [false, true]) {
    const bot = await scratch.up({});
    await gateOpen(bot);
    const file = `cut-${entered}.txt`;
    const message = outgoing(`echo once >> ${file}`);
    const again = await cutOff(bot, message, entered);
    // Until the journal, too, holds the prompt after the command.
    if (entered)
      await eventually(() => scratch.panes.get(bot.paneId)?.facts.bottom.at(-1)?.trimEnd().endsWith('$') === true);
    if (entered) again.close();
    const after = entered ? scratch.restarted().attach(spec(bot.agentId), bot.paneId) : again;
    expect(await after.resume(message)).toMatchObject({ state: 'verified', evidence: 'hook' });
    await gateOpen(after);
    expect(lines(file)).toBe(1);
  }
});

test('an Enter that is still on its way when the next runtime looks is not pressed twice', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  const message = outgoing('echo once >> late.txt');
  const again = await cutOff(bot, message, true);
  const result = await again.resume(message);
  expect(result === null || result.state === 'verified' || result.state === 'held').toBe(true);
  await gateOpen(again);
  expect(lines('late.txt')).toBe(1);
});

test('a message that was put into the line and never entered gives way to the next one', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  const again = await cutOff(bot, outgoing('echo first >> way.txt'), false);
  await gateOpen(again);
  expect(await again.deliver(outgoing('echo second >> way.txt'))).toMatchObject({ state: 'verified' });
  await gateOpen(again);
  expect(readFileSync(join(scratch.work, 'way.txt'), 'utf8')).toBe('second\n');
});

test('a message that a person has changed in the line is a draft, and what nobody reported is not typed again', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  const message = outgoing('echo mine');
  const again = await cutOff(bot, message, false);
  await gateOpen(again);
  await scratch.panes.write(bot.paneId, ' and yours');
  await eventually(() => screen(again).includes('and yours'));
  expect(await again.resume(message)).toEqual({ state: 'held', why: 'draft' });
  expect(await again.resume(outgoing('echo never'))).toBeNull();
});

test('taken up while the engine cannot be read, it is held until the engine is back and the journal was read', async () => {
  const bot = await scratch.up({});
  await gateOpen(bot);
  bot.close();
  scratch.panes.readable(false);
  const again = scratch.restarted().attach(spec(bot.agentId), bot.paneId);
  expect(again.gate()).toMatchObject({ open: false, why: 'the panes cannot be read' });
  let opened = false;
  again.onGate(() => {
    opened = true;
  });
  scratch.panes.readable(true);
  await eventually(() => opened);
  expect(await again.deliver(outgoing('echo back'))).toMatchObject({ state: 'verified' });
});

test('nothing of the person is read or written: no start files, no history', async () => {
  writeFileSync(join(scratch.home, '.bashrc'), 'touch ~/read-bashrc\nPS1="mine "\n');
  writeFileSync(join(scratch.home, '.inputrc'), 'set editing-mode vi\n');
  const bot = await scratch.up({});
  await gateOpen(bot);
  await bot.deliver(outgoing('exit 0'));
  await reaches(bot, 'offline');
  expect(existsSync(join(scratch.home, 'read-bashrc'))).toBe(false);
  expect(existsSync(join(scratch.home, '.bash_history'))).toBe(false);
});
