import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { HarnessName } from '../../../src/contracts/factory/agent.ts';
import { questionOf as claudeQuestion } from '../../../src/runtime-server/harness/claude/questions.ts';
import { questionOf as codexQuestion } from '../../../src/runtime-server/harness/codex/questions.ts';
import type { BotSpec } from '../../../src/runtime-server/harness/harness.ts';
import { readJsonLines } from '../../../src/runtime-server/harness/json-lines.ts';
import { listenersIn, listensForMe } from '../../../src/runtime-server/harness/opencode/listener.ts';
import { createOpencodeServer, NotListening } from '../../../src/runtime-server/harness/opencode/server.ts';
import { questionsIn } from '../../../src/runtime-server/harness/opencode/sessions.ts';
import { composePrompt } from '../../../src/runtime-server/harness/wording.ts';
import { createScratch, gateOpen, outgoing, type Scratch } from './bench-of-one.ts';

let scratch: Scratch;
beforeEach(() => {
  scratch = createScratch();
  const bin = join(scratch.work, 'bin');
  mkdirSync(bin);
  for (const name of ['claude', 'codex', 'copilot', 'gemini', 'opencode', 'qwen']) {
    writeFileSync(join(bin, name), '#!/bin/sh\nexec cat\n', { mode: 0o755 });
  }
  scratch.env.PATH = `${bin}:${scratch.env.PATH}`;
});
afterEach(() => scratch.close());

const spec = (harness: HarnessName, more: Partial<BotSpec> = {}) =>
  scratch.spec({ agentId: `agent_${harness}`, harness, ...more });
const start = async (bot: BotSpec) => (await scratch.harnesses.prepare(bot, scratch.paths(bot.agentId))).command;

test.each(['--dangerously-skip-permissions', '-y', '../../other', 'a\nb', ''])(
  'the session id %j of a memory is nobody’s: it is in no argument of the next start',
  async (sessionId) => {
    const transcript = join(scratch.work, 'x.jsonl');
    writeFileSync(transcript, '{}\n');
    for (const harness of ['claude', 'codex', 'copilot', 'gemini', 'opencode', 'qwen'] as const) {
      scratch.facts.set(`agent_${harness}`, { sessionId, transcript });
      const command = await start(spec(harness, { resume: true }));
      expect(command).not.toContain(sessionId);
      expect(command.join(' ')).not.toMatch(/resume|--session /);
    }
  },
);

test.each(['claude', 'codex'] as const)(
  'a hook of %s that names an option as its session, or a transcript that is none, is not believed',
  async (harness) => {
    const bot = await scratch.up({ harness });
    const before = { ...scratch.facts.get(bot.agentId) };
    const file = join(scratch.work, 'x.jsonl');
    const bad = [
      { session_id: '--dangerously-bypass-approvals-and-sandbox', transcript_path: file },
      { session_id: 's', transcript_path: 'x.jsonl' },
      { session_id: 's', transcript_path: '/etc/passwd' },
      { session_id: 's', transcript_path: `${scratch.work}/../../x.jsonl` },
      { session_id: 7, transcript_path: file },
    ];
    for (const payload of bad) await bot.hook('SessionStart', payload);
    expect(scratch.facts.get(bot.agentId)?.sessionId).toBe(before.sessionId);
    expect(scratch.facts.get(bot.agentId)?.transcript).toBe(before.transcript);
    await bot.hook('SessionStart', { session_id: 's', transcript_path: file });
    expect(scratch.facts.get(bot.agentId)).toMatchObject({ sessionId: 's', transcript: file });
  },
);

test('a culture or a model that begins like an option stands in one word with its option', async () => {
  const hostile = { culture: '- be brief\n- yes', model: '--yolo' };
  const qwen = await start(spec('qwen', hostile));
  expect(qwen).toContain('--append-system-prompt=- be brief\n- yes');
  for (const harness of ['copilot', 'gemini', 'opencode', 'qwen'] as const) {
    const command = await start(spec(harness, hostile));
    expect(command).toContain('--model=--yolo');
    expect(command).not.toContain('--yolo');
  }
});

test('a transcript that is a pipe holds nothing up', async () => {
  const pipe = join(scratch.work, 'x.jsonl');
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
  expect(await readJsonLines(pipe, 0)).toEqual({ lines: [], offset: 0, more: false });
}, 3000);

test.each([
  ['claude', claudeQuestion],
  ['codex', codexQuestion],
] as const)('%s: a command that is no text is shown whole, never as nothing', (_, questionOf) => {
  const bot = { agentId: 'a', slug: 'web', team: 'dev' };
  const payload = { tool_name: 'Bash', tool_input: { command: ['bash', '-c', 'rm -rf x'] }, session_id: 's' };
  const { ask } = questionOf(bot, payload) ?? {};
  expect(ask?.summary).toContain('rm -rf x');
  expect(ask?.title).toContain('rm -rf x');
});

test('no message ends its paste, presses Enter or begins as a command', async () => {
  const bot = await scratch.up({ harness: 'custom', command: 'cat' });
  await gateOpen(bot);
  for (const text of ['\x1b[201~\r!ls\r', '\u009b201~!ls', '/exit', '!ls', '\x03\x04\x1a\x7f\b']) {
    const said = composePrompt(outgoing(text, { senderLine: '!\r/From\x1b owner' }));
    expect(said).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/u);
  }
  expect(composePrompt(outgoing('/exit'))).toMatch(/^From owner /);
});

test('opencode’s password goes to no program of another user that listens on its port', async () => {
  const seen: unknown[] = [];
  const other = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end('{}');
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const server = createOpencodeServer({ port, password: 'secret' }, async () => false);
  await expect(server.call('GET', '/session')).rejects.toBeInstanceOf(NotListening);
  const follows = server.follow(
    new AbortController().signal,
    () => {},
    () => {},
  );
  await expect(follows).rejects.toBeInstanceOf(NotListening);
  expect(seen).toEqual([]);
  // Our own is found in the kernel's table.
  expect(await listensForMe(port)).toBe(true);
  expect((await createOpencodeServer({ port, password: 'secret' }).call('GET', '/session')).status).toBe(200);
  const row = (address: string, state: string, user: number) =>
    `   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  ${user}        0 1 1 0\n`;
  const table = row('0100007F:0BC3', '0A', 1001) + row('0100007F:0BC3', '01', 7) + row('0200A8C0:0BC3', '0A', 8);
  expect(listenersIn(table + row('00000000000000000000000000000000:0BC3', '0A', 0), 3011)).toEqual([1001, 0]);
});

test('a command or change that opencode tells only in parts is not approved from afar: the parts leave out where output goes', () => {
  const asked = { id: 'per_1', sessionID: 's', patterns: ['echo x'] };
  const [bash] = questionsIn([{ ...asked, permission: 'bash', metadata: {} }]);
  expect(bash).toMatchObject({ paneOnly: true, words: 'asks to run: echo x' });
  const [edit] = questionsIn([{ ...asked, permission: 'edit', metadata: { filepath: 'a.txt' } }]);
  expect(edit).toMatchObject({ paneOnly: true });
  const [whole] = questionsIn([{ ...asked, permission: 'bash', metadata: { command: 'echo x > ~/.bashrc' } }]);
  expect(whole?.input).toEqual({ command: 'echo x > ~/.bashrc' });
  expect(whole?.paneOnly).toBeUndefined();
});

test('what a person pastes cannot end its own frame, in either way to write that', async () => {
  const bot = await scratch.up({ harness: 'custom', command: "printf '\\033[?2004h'; exec cat" });
  await gateOpen(bot);
  for (const end of ['\x1b[201~', '\u009b201~']) {
    const before = scratch.panes.written(bot.paneId).length;
    await bot.input({ text: `a${end}\rls\r`, paste: true });
    expect(scratch.panes.written(bot.paneId).slice(before)).toMatch(/^\x1b\[200~a(\[)?201~\rls\r\x1b\[201~$/);
  }
});

test('opencode begins with its own agent, whatever a cloned project names, and its helper asks as it does', async () => {
  const bot = spec('opencode');
  const { env } = await scratch.harnesses.prepare(bot, scratch.paths(bot.agentId));
  const { default_agent: first, agent, permission } = JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '{}');
  expect([first, permission.bash]).toEqual(['build', 'ask']);
  expect(agent).toEqual({ build: { permission }, general: { permission } });
});
