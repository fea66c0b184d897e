/**
 * What the files of teams say now, and which teams are up: agents follow the files, and each change since the last look becomes an event. Must not know
 * how bots are started or stopped.
 */
import { join, relative, sep } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import type { TeamProblem } from '../../contracts/factory/agent.ts';
import { engineActor } from '../base/actor.ts';
import type { Base } from '../base/base.ts';
import type { Models } from '../models/index.ts';
import { waitsForYes } from '../trust/trust.ts';
import type { Registry } from './registry.ts';
import { readTeams, saveTeamFile, type TeamRecord } from './store/teams.ts';
import type { TeamFolder, TeamOnDisk } from './team-file/folder.ts';
import { type ResolvedTeam, resolveTeam, tightened } from './team-file/resolve.ts';
import { recordTeamChange } from './team-records.ts';

export function createKnownTeams(
  deps: Pick<Base, 'store' | 'ledger'> & {
    readonly registry: Pick<Registry, 'define' | 'members'>;
    readonly folder: TeamFolder;
    /** Where models of hosted bots are asked; absent where no bot is hosted. */
    readonly models?: Pick<Models, 'find'> | undefined;
    readonly workspace: string;
    readonly userHome: string;
  },
) {
  const { store, registry, folder } = deps;
  const around = { workspace: deps.workspace, userHome: deps.userHome };
  let rows = new Map<string, TeamRecord>();
  let refreshing: Promise<void> = Promise.resolve();

  /** For messages. */
  const fileOf = (name: string) =>
    relative(deps.workspace, join(folder.folderOf(name), 'team.yaml')).replaceAll(sep, '/');
  const resolved = (team: TeamOnDisk, preset: string | null): ResolvedTeam | null =>
    team.file === null
      ? null
      : tightened(
          resolveTeam({ name: team.name, file: team.file, culture: team.culture }, preset, around),
          team.waiting === null ? null : resolveTeam({ ...team, file: team.waiting }, preset, around),
        );
  /** A team that is up shows the preset it was started with, as long as the file has it. */
  function presetOf(team: TeamOnDisk): string | null {
    const row = rows.get(team.name);
    const preset = row?.up === true ? row.preset : null;
    return preset !== null && team.file?.presets?.[preset] !== undefined ? preset : null;
  }
  const current = (team: TeamOnDisk) => resolved(team, presetOf(team));

  /** Models of hosted bots that no endpoint of this computer has, in each shape that the file can start. */
  function unknownModels(team: TeamOnDisk): TeamProblem[] {
    const problems = new Map<string, TeamProblem>();
    for (const preset of [null, ...Object.keys(team.file?.presets ?? {})]) {
      for (const [index, bot] of (resolved(team, preset)?.bots ?? []).entries()) {
        const found = bot.binding.type === 'hosted' && bot.model !== null ? deps.models?.find(bot.model) : undefined;
        if (found === undefined || !('problem' in found) || found.problem.unknown !== true) continue;
        const inPreset = preset !== null && team.file?.presets?.[preset]?.bots?.[bot.slug]?.model !== undefined;
        const path = inPreset ? `presets.${preset}.bots.${bot.slug}.model` : `bots[${index}].model`;
        problems.set(path, { path, line: null, message: `${found.problem.fact} ${found.problem.action}` });
      }
    }
    return [...problems.values()];
  }

  async function loadRows() {
    rows = new Map((await store.read((tx) => readTeams(tx, deps.workspace))).map((row) => [row.name, row]));
  }

  /** Agents follow the files; what changed since the last look becomes an event. */
  async function takeFiles() {
    const teams = folder.all();
    const isUp = (name: string) => rows.get(name)?.up === true;
    await registry.define(
      teams.map(current).filter((team) => team !== null),
      isUp,
    );
    const seen = teams.map((team) => {
      const file = team.file === null ? ('invalid' as const) : ('valid' as const);
      return { name: team.name, file, hash: team.hash, waits: team.waits };
    });
    const gone = [...rows.values()]
      .filter((row) => folder.get(row.name) === null && row.file !== 'gone')
      .map((row) => ({ name: row.name, file: 'gone' as const, hash: null, waits: false }));
    const changed = [...seen, ...gone].filter((team) => {
      const row = rows.get(team.name);
      return row?.file !== team.file || row.fileHash !== team.hash;
    });
    if (changed.length === 0) return;
    await store.write((tx) => {
      for (const team of changed) {
        const { name, file, hash, waits } = team;
        saveTeamFile(tx, deps.workspace, name, { file, hash });
        // A file that waits for its person's yes is not read: its problems are unknown.
        const change = file === 'invalid' && !waits ? ('invalid' as const) : ('file' as const);
        const agents = registry.members(name).map((member) => member.address);
        const state = { workspace: deps.workspace, file, hash };
        recordTeamChange(tx, deps.ledger, { team: name, change, agents }, state, engineActor);
      }
    });
    await loadRows();
  }
  function refresh(): Promise<void> {
    refreshing = refreshing.then(takeFiles, takeFiles);
    return refreshing;
  }

  function readable(name: string): TeamOnDisk & { file: NonNullable<TeamOnDisk['file']> } {
    const team = folder.get(name);
    if (team === null) throw unknownTeam(name, folder);
    if (team.waits) throw waitsForYes([fileOf(name)]);
    if (team.file !== null) return { ...team, file: team.file };
    const problems = team.problems.map(
      ({ path, line, message }) => `line ${line ?? '?'}, ${path || 'file'}: ${message}`,
    );
    throw new AppError(
      'usage',
      `The file of team ${name} has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}: ${problems.join(' ')}`,
      `Fix ${join(folder.folderOf(name), 'team.yaml')}; \`gantry teams check ${name}\` checks it again.`,
    );
  }

  return {
    load: loadRows,
    refresh,
    fileOf,
    current,
    presetOf,
    readable,
    unknownModels,
    /** A team as its file and this preset have it. */
    resolve: (team: ReturnType<typeof readable>, preset: string | null) => resolveTeam(team, preset, around),
    rows: () => [...rows.values()],
    isUp: (name: string) => rows.get(name)?.up === true,
  };
}

export function unknownTeam(name: string, folder: TeamFolder): AppError {
  const known = folder.all().map((team) => team.name);
  const action =
    known.length === 0 ? `Create ${join(folder.folderOf(name), 'team.yaml')}.` : `Teams here: ${known.join(', ')}.`;
  return new AppError('not_found', `No team is called "${name}".`, action);
}
