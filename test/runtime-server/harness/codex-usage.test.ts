import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readCodexUsage } from '../../../src/runtime-server/harness/codex/usage.ts';
import { readGeminiUsage } from '../../../src/runtime-server/harness/gemini/usage.ts';

let folder: string;
let transcript: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gantry-usage-'));
  transcript = join(folder, 'session.jsonl');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = '2026-11-22T12:00:00.000Z';
const line = (entry: object) => `${JSON.stringify({ timestamp: at, ...entry })}\n`;
const turn = (model: string) => line({ type: 'turn_context', payload: { turn_id: 't', model } });
const record = (id: string, output = 20) =>
  line({
    type: 'token_usage_record',
    payload: {
      thread_id: 'th',
      response_id: id,
      usage: {
        input_tokens: 110,
        cached_input_tokens: 80,
        cache_write_input_tokens: 20,
        output_tokens: output,
        reasoning_output_tokens: 5,
      },
    },
  });

test('Codex: an answer counts with the model of its turn; what was cached is not counted in the input again', async () => {
  await writeFile(transcript, turn('model-a') + record('r1') + turn('model-b') + record('r2'));
  const { lines, more } = await readCodexUsage({ facts: { transcript }, cursor: null, settled: false });
  expect(more).toBe(false);
  const numbers = { at: Date.parse(at), input: 10, cachedInput: 80, cacheWrite: 20, output: 20, cents: null };
  expect(lines).toEqual([
    { id: 'th:r1', model: 'model-a', ...numbers },
    { id: 'th:r2', model: 'model-b', ...numbers },
  ]);
});

test('Codex: reading goes on where it stopped, with the model that was named before', async () => {
  await writeFile(transcript, turn('model-a') + record('r1'));
  const first = await readCodexUsage({ facts: { transcript }, cursor: null, settled: true });
  await appendFile(transcript, record('r2', 7) + record('r3').slice(0, 40));
  const second = await readCodexUsage({
    facts: { transcript },
    cursor: JSON.parse(JSON.stringify(first.cursor)),
    settled: true,
  });
  expect(second.lines.map(({ id, model, output }) => [id, model, output])).toEqual([['th:r2', 'model-a', 7]]);
});

test('Codex: the last lines of an earlier session are still read after a new one has begun', async () => {
  const later = join(folder, 'later.jsonl');
  await writeFile(transcript, turn('model-a') + record('r1'));
  const first = await readCodexUsage({ facts: { transcript }, cursor: null, settled: true });
  await appendFile(transcript, record('r2'));
  await writeFile(later, turn('model-b') + record('r3'));
  const { lines } = await readCodexUsage({ facts: { transcript: later }, cursor: first.cursor, settled: true });
  expect(lines.map(({ id, model }) => [id, model])).toEqual([
    ['th:r2', 'model-a'],
    ['th:r3', 'model-b'],
  ]);
});

test('Gemini: thoughts are output, cached tokens are no input; an answer told again has the same name', async () => {
  const tokens = { input: 100, output: 20, cached: 60, thoughts: 5, tool: 3, total: 125 };
  const answer = (id: string, rest: object = {}) =>
    line({ id, type: 'gemini', content: 'words', tokens, model: 'gemini-x', ...rest });
  await writeFile(
    transcript,
    line({ type: 'user', content: [{ text: 'say "tokens"' }] }) +
      answer('a') +
      answer('a', { toolCalls: [] }) +
      line({ $set: { messages: [{ id: 'z', type: 'gemini', tokens }] } }) +
      answer('b', { tokens: null }),
  );
  const { lines } = await readGeminiUsage({ facts: { transcript }, cursor: null, settled: true });
  expect(new Set(lines.map(({ id }) => id))).toEqual(new Set(['a']));
  expect(lines[0]).toEqual({
    id: 'a',
    at: Date.parse(at),
    model: 'gemini-x',
    input: 43,
    cachedInput: 60,
    cacheWrite: 0,
    output: 25,
    cents: null,
  });
});
