/**
 * Changes a team file as its person asked Gantry to, and leaves everything else in it as it was written. They are not asked about their own words once
 * more. Must not know what a change is for.
 */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isMap, isSeq, stringify } from 'yaml';
import { AppError } from '../../../contracts/common/errors.ts';
import type { SandboxMode } from '../../../contracts/factory/team-file.ts';
import { readTextWithin, writeWithin } from '../../../kit/files/within.ts';
import { readYaml } from '../../../kit/files/yaml.ts';
import type { Actor } from '../../base/actor.ts';
import { type Trust, waitsForYes } from '../../trust/trust.ts';
import { notWritable } from '../workspace/demo.ts';
import type { TeamFolder } from './folder.ts';
import { largestTeamFile } from './read.ts';

interface TeamFileEdits {
  pathOf(team: string): string;
  /** Not for the team of a new run, which lies in Gantry's own database. */
  isThere(team: string): boolean;
  /** Relative to the workspace. */
  shown(team: string): string;
  /**
   * As it is on disk; null: there is no such file. Throws `needs_person` while it waits for a yes: to change a file that nobody agreed to would agree to
   * all of it.
   */
  agreedText(team: string): string | null;
  write(team: string, text: string, by: Actor): Promise<void>;
}

export function createTeamFileEdits(deps: {
  readonly workspace: string;
  readonly folder: Pick<TeamFolder, 'folderOf'>;
  readonly trust: Pick<Trust, 'judge' | 'sayYes'>;
}): TeamFileEdits {
  const { workspace, trust } = deps;
  const pathOf = (team: string) => join(deps.folder.folderOf(team), 'team.yaml');
  const shown = (team: string) => relative(workspace, pathOf(team)).replaceAll('\\', '/');
  return {
    pathOf,
    isThere: (team) => existsSync(pathOf(team)),
    shown,
    agreedText(team) {
      const file = pathOf(team);
      const found = readTextWithin(workspace, file, largestTeamFile);
      if (typeof found === 'string') {
        if (trust.judge(file, found).waits) throw waitsForYes([shown(team)]);
        return found;
      }
      if (found.is === 'absent') return null;
      throw new AppError('refused', `team.yaml of team ${team} cannot be read. ${found.why}`, 'Fix or delete it.');
    },
    async write(team, text, by) {
      const file = pathOf(team);
      try {
        writeWithin(workspace, relative(workspace, file), text);
      } catch (fault) {
        throw notWritable(file, fault);
      }
      await trust.sayYes([{ path: file, text }], by);
    },
  };
}

interface AddedBot {
  readonly bot: string;
  readonly harness: string;
  readonly cwd: string;
}

/** `text` null: there is no file yet. `lines` are those that were added. */
export function withBot(text: string | null, bot: AddedBot): { text: string; lines: string } {
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

/** `sandbox:` of the whole team, above its bots. The file must be readable and not have the key yet. */
export function withSandbox(text: string, mode: SandboxMode): string {
  const document = readYaml(text);
  const { contents } = document;
  if (document.errors.length > 0 || !isMap(contents)) throw new Error('A team file with problems was to be changed.');
  const at = contents.items.findIndex(({ key }) => String(key) === 'bots');
  document.set('sandbox', mode);
  // Above the bots, unless they are what the file begins with.
  if (at > 0) contents.items.splice(at, 0, ...contents.items.splice(-1));
  return document.toString();
}
