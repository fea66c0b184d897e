/**
 * Notes beside a bot's spool which step it has and which attempt of it this is, so that its reports say what they are about. Must not know runs.
 */
import { lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivateFile } from '../../kit/secrets/token-file.ts';
import { workFile } from '../../kit/spool/bot-spool.ts';
import type { Log } from '../base/base.ts';

interface HandedStep {
  readonly dagId: string;
  readonly nodeId: string;
  readonly attempt: number;
}

/** `home` is the data folder. Only a bot whose program was started here has a folder. */
export function createWorkNotes({
  home,
  find,
  log,
}: {
  readonly home: string;
  readonly find: (address: string) => { readonly id: string } | null;
  readonly log: Log;
}): (address: string, step: HandedStep) => void {
  const noted = new Map<string, string>();
  return (address, { dagId, nodeId, attempt }) => {
    const id = find(address)?.id;
    if (id === undefined) return;
    const text = JSON.stringify({ dagId, nodeId, attempt });
    if (noted.get(id) === text) return;
    const folder = join(home, 'run', 'bots', id);
    if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return;
    try {
      mkdirSync(join(folder, 'spool'), { recursive: true, mode: 0o700 });
      writePrivateFile(join(folder, 'spool', workFile), text);
      noted.set(id, text);
    } catch (error) {
      // Its reports then say nothing of an attempt, as those of a bot that has no step.
      log.warn(`The step of ${address} could not be noted for its reports.`, { error: String(error) });
    }
  };
}
