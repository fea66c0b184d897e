/**
 * The first start in a terminal asks which folder the bots work in, since a runtime serves one workspace. Enter takes a
 * new folder with the sample. Must not create anything: the servers check the folder when they start.
 */
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { dataFolder, placesIn } from '../../host/places.ts';
import type { Context } from '../command.ts';

/** The folder named, or undefined for the new one; `gone` when the person ended the question. */
export async function askWorkspace(context: Context): Promise<string | undefined | 'gone'> {
  const places = placesIn(dataFolder(context.env));
  if (existsSync(places.lastWorkspace)) return undefined;
  const { stdin, stdout } = context.terminal;
  const lines = createInterface({ input: stdin, output: stdout });
  const ended = new AbortController();
  lines.once('SIGINT', () => ended.abort());
  lines.once('close', () => ended.abort());
  const question = `Which folder do your bots work in? Press Enter to create ${places.defaultWorkspace} with a sample project: `;
  try {
    for (;;) {
      const answer = (await lines.question(question, { signal: ended.signal })).trim();
      if (answer === '') return undefined;
      const folder = resolve(context.cwd, answer.replace(/^~(?=\/|$)/, context.env.HOME ?? '~'));
      if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return folder;
      context.output.line(`${folder} is not a folder. Create it first, or name another.`);
    }
  } catch (error) {
    if (ended.signal.aborted) return 'gone';
    throw error;
  } finally {
    lines.close();
  }
}
