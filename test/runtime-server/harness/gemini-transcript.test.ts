import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findTranscript, geminiPrompt } from '../../../src/runtime-server/factory/harness/gemini/transcript.ts';
import { transcriptHolds } from '../../../src/runtime-server/factory/harness/prompt-witness.ts';

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

test('the newest transcript of our session is found under the name that Gemini has for the folder', async () => {
  await projects({ [home]: 'project' });
  expect(await findTranscript(home, home, id)).toBeNull();
  for (const name of [
    'session-2026-11-22T17-07-11111111.jsonl',
    'session-2026-11-22T17-09-11111111.jsonl',
    'session-2026-11-22T17-10-99999999.jsonl',
  ])
    await writeFile(join(chats, name), '');
  expect(await findTranscript(home, home, id)).toBe(join(chats, 'session-2026-11-22T17-09-11111111.jsonl'));
});

test('a folder that Gemini does not know, a damaged list or a name that leads elsewhere has none', async () => {
  await writeFile(join(chats, 'session-2026-11-22T17-07-11111111.jsonl'), '');
  expect(await findTranscript(home, home, id)).toBeNull();
  await writeFile(join(home, '.gemini', 'projects.json'), '{"projects":');
  expect(await findTranscript(home, home, id)).toBeNull();
  await projects({ [home]: '../tmp/project' });
  expect(await findTranscript(home, home, id)).toBeNull();
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
  expect(await transcriptHolds(file, 0, text, geminiPrompt)).toBe(true);
  expect(await transcriptHolds(file, prompt.length, text, geminiPrompt)).toBe(false);
  expect(await transcriptHolds(null, 0, text, geminiPrompt)).toBe(false);
});
