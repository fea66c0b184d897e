/** A hosted bot on a whole engine: real wires, real files, real questions to a person. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { text, tools } from '../../support/model-server/script.ts';
import { type Floor, openFloor, secretKey, steps, waits } from './support.ts';

let floor: Floor;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  floor = await openFloor({ onEnd: (end) => void ends.push(end) });
});
afterAll(async () => {
  for (const end of ends) await end();
});

const models = [
  ['anthropic', 'anthropic/claude-x', 'anthropic'],
  ['openai', 'openai/gpt-x', 'openai-chat'],
  ['google', 'google/gemini-x', 'gemini'],
] as const;

test.each(models)(
  '%s: a message is taken, a file is written after a yes, and the last text answers in the thread',
  async (vendor, model, wire) => {
    const { engine, server } = floor;
    const path = `src/${vendor}.txt`;
    server.script(
      steps(
        tools({ name: 'file_write', input: { path, content: 'hello\n' } }),
        (request) => {
          expect(request.wire).toBe(wire);
          expect(request.toolResults).toHaveLength(1);
          return tools({ name: 'file_read', input: { path } });
        },
        (request) => text(`It says: ${request.toolResults[0]?.text.includes('hello') === true ? 'hello' : 'nothing'}`),
      ),
    );
    const bot = await floor.team('dev', `model: ${model}`);
    expect(await engine.agent(bot)).toMatchObject({
      state: 'idle',
      pane: null,
      binding: { type: 'hosted', model },
      stale: false,
    });
    const thread = await floor.thread(bot);
    const sent = await floor.send(bot, 'Write hello into a file.', { threadId: thread });
    expect(sent).toMatchObject({ via: 'hosted', state: 'verified', evidence: 'model' });

    const question = await floor.question();
    expect(question).toMatchObject({
      kind: 'file_change',
      source: 'executor',
      risk: 'medium',
      title: `${bot}: Create ${path}`,
    });
    expect(question.summary).toContain('+hello');
    expect(await engine.until(bot, 'needs_you')).toMatchObject({ stateReason: `asks: Create ${path}` });
    expect(existsSync(join(engine.workspace, path))).toBe(false);
    await floor.answer(question.id, 'approve');

    await engine.until(bot, 'idle');
    expect(readFileSync(join(engine.workspace, path), 'utf8')).toBe('hello\n');
    await vi.waitFor(async () => {
      expect(await floor.messages(thread)).toMatchObject([
        { direction: 'in', text: 'Write hello into a file.' },
        { direction: 'out', from: bot, text: 'It says: hello' },
      ]);
    }, waits);
    const transcript = await floor.transcript(bot);
    for (const words of ['> Write hello', '→ file.write', '✓ file.read', 'It says: hello'])
      expect(transcript).toContain(words);
    const [request] = server.requests.slice(-3);
    expect(request?.system).toContain(bot);
    expect(request?.tools).toEqual([
      'file_exists',
      'file_list',
      'file_read',
      'file_remove',
      'file_write',
      'http_get',
      'http_post',
      'request_approval',
      'shell_exec',
      'system_env',
      'system_info',
      'thread_reply',
      'time_now',
    ]);
    expect(JSON.stringify(request?.headers)).toContain(secretKey);
  },
);

test('a no is told to the model with its note, and nothing was done', async () => {
  const { engine, server } = floor;
  let told = '';
  server.script(
    steps(tools({ name: 'shell_exec', input: { command: 'touch', args: ['forbidden.txt'] } }), (request) => {
      told = request.toolResults[0]?.text ?? '';
      return text('Then not.');
    }),
  );
  const bot = await floor.team('dev');
  await floor.send(bot, 'Touch it.');
  const question = await floor.question();
  expect(question).toMatchObject({ risk: 'high', summary: 'touch forbidden.txt' });
  await floor.answer(question.id, 'reject', 'not in this folder');
  await engine.until(bot, 'idle');
  expect(told).toContain('A person said no: not in this folder');
  expect(existsSync(join(engine.workspace, 'forbidden.txt'))).toBe(false);
});

test('a file that was changed while a person looked at the diff is not written over', async () => {
  const { engine, server } = floor;
  writeFileSync(join(engine.workspace, 'shared.txt'), 'one\n');
  let told = '';
  server.script(
    steps(tools({ name: 'file_write', input: { path: 'shared.txt', content: 'two\n' } }), (request) => {
      told = request.toolResults[0]?.text ?? '';
      return text('Somebody else was there.');
    }),
  );
  const bot = await floor.team('dev');
  await floor.send(bot, 'Change it.');
  const question = await floor.question();
  expect(question.summary).toContain('-one\n+two');
  writeFileSync(join(engine.workspace, 'shared.txt'), 'by a person\n');
  await floor.answer(question.id, 'approve');
  await engine.until(bot, 'idle');
  expect(told).toContain('was changed in the meantime');
  expect(readFileSync(join(engine.workspace, 'shared.txt'), 'utf8')).toBe('by a person\n');
});
