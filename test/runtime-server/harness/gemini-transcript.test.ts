import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findTranscripts, geminiPrompt } from '../../../src/runtime-server/harness/gemini/transcript.ts';
import { readGeminiUsage } from '../../../src/runtime-server/harness/gemini/usage.ts';
import { holdsPrompt, promptsSince } from '../../../src/runtime-server/harness/prompt-witness.ts';

const id = '11111111-2222-4333-8444-555555555555';
let home: string;
let chats: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'gantry-gemini-'));
  chats = join(home, '.gemini', 'tmp', 'project', 'chats');
  await mkdir(chats, { recursive: true });
});
afterEach(() => rm(home, { recursive: true, force: true }));

const projects = (names: object) =>
  writeFile(join(home, '.gemini', 'projects.json'), JSON.stringify({ projects: names }));

test('all transcripts of our session are found under the name that Gemini has for the folder, the newest last', async () => {
  await projects({ [home]: 'project' });
  expect(await findTranscripts(home, home, id)).toEqual([]);
  for (const name of [
    'session-2026-11-22T17-07-11111111.jsonl',
    'session-2026-11-22T17-09-11111111.jsonl',
    'session-2026-11-22T17-10-99999999.jsonl',
  ])
    await writeFile(join(chats, name), '');
  expect(await findTranscripts(home, home, id)).toEqual(
    ['session-2026-11-22T17-07-11111111.jsonl', 'session-2026-11-22T17-09-11111111.jsonl'].map((name) =>
      join(chats, name),
    ),
  );
});

test('a folder that Gemini does not know, a damaged list or a name that leads elsewhere has none', async () => {
  await writeFile(join(chats, 'session-2026-11-22T17-07-11111111.jsonl'), '');
  expect(await findTranscripts(home, home, id)).toEqual([]);
  await writeFile(join(home, '.gemini', 'projects.json'), '{"projects":');
  expect(await findTranscripts(home, home, id)).toEqual([]);
  await projects({ [home]: '../tmp/project' });
  expect(await findTranscripts(home, home, id)).toEqual([]);
});

test('a prompt testifies from the offset on; results of tools, answers and patches do not', async () => {
  const file = join(chats, 'a.jsonl');
  const text = 'From owner (message d_1):\nsay hello';
  const line = (entry: object) => `${JSON.stringify(entry)}\n`;
  const prompt = line({ id: 'u', type: 'user', content: [{ text }] });
  const others =
    line({ $set: { messages: [{ type: 'user', content: [{ text }] }] } }) +
    line({ type: 'gemini', content: `"user" ${text}` }) +
    line({ type: 'user', content: [{ functionResponse: { response: { output: text } } }] });
  await writeFile(file, prompt + others);
  expect(await holdsPrompt(file, 0, text, geminiPrompt)).toBe(true);
  expect(await holdsPrompt(file, prompt.length, text, geminiPrompt)).toBe(false);
  expect(await holdsPrompt(join(chats, 'none.jsonl'), 0, text, geminiPrompt)).toBe(false);
});

const older = () => join(chats, 'session-2026-11-22T17-07-11111111.jsonl');
const newer = () => join(chats, 'session-2026-11-22T17-09-11111111.jsonl');
const said = (text: string) => `${JSON.stringify({ type: 'user', content: [{ text }] })}\n`;

test('after a resume a prompt testifies in whichever file of the session it was written since, also a new one', async () => {
  await projects({ [home]: 'project' });
  const files = () => findTranscripts(home, home, id);
  for (const file of [older(), newer()]) await writeFile(file, said('hello'));
  const since = await promptsSince(files, geminiPrompt);
  // The same words from before must not testify.
  expect(await since('hello')).toBe(false);
  await appendFile(older(), said('hello'));
  expect(await since('hello')).toBe(true);
  const again = await promptsSince(files, geminiPrompt);
  expect(await again('hello')).toBe(false);
  await writeFile(join(chats, 'session-2026-11-22T17-11-11111111.jsonl'), said('hello'));
  expect(await again('hello')).toBe(true);
});

test('tokens are counted in every file of the session, each answer by its id, and read on in each', async () => {
  await projects({ [home]: 'project' });
  const answer = (name: string, output: number) =>
    `${JSON.stringify({ id: name, type: 'gemini', timestamp: '2026-11-22T17:10:00.000Z', model: 'm', tokens: { input: 1, output } })}\n`;
  await writeFile(older(), answer('a', 1));
  await writeFile(newer(), answer('b', 2));
  const facts = { geminiHome: home, cwd: home, sessionId: id, transcript: newer() };
  const first = await readGeminiUsage({ facts, cursor: null, settled: true });
  expect(first.lines.map((line) => [line.id, line.output])).toEqual([
    ['a', 1],
    ['b', 2],
  ]);
  await appendFile(older(), answer('c', 3));
  const next = await readGeminiUsage({ facts, cursor: first.cursor, settled: true });
  expect(next.lines.map((line) => line.id)).toEqual(['c']);
});
