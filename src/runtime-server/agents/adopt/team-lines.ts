/** Adds a bot to a team file and leaves everything else in it as a person wrote it. Text in, text out. */
import { isMap, isSeq, stringify } from 'yaml';
import { AppError } from '../../../contracts/common/errors.ts';
import { readYaml } from '../../../kit/files/yaml.ts';

interface AdoptedBot {
  readonly bot: string;
  readonly harness: string;
  readonly cwd: string;
}

/** `text` null: there is no file yet. */
export function withBot(text: string | null, bot: AdoptedBot): { text: string; lines: string } {
  const lines = stringify([{ ...bot }]);
  if (text === null) return { text: `bots:\n${lines.replace(/^/gm, '  ').trimEnd()}\n`, lines };
  const document = readYaml(text);
  const bots = isMap(document.contents) ? document.get('bots') : null;
  if (document.errors.length > 0 || !isSeq(bots)) {
    throw new AppError(
      'refused',
      'The team file has problems, so nothing was added to it.',
      'Fix it first, or name another team with --team.',
    );
  }
  bots.add(document.createNode({ ...bot }));
  return { text: document.toString(), lines };
}
