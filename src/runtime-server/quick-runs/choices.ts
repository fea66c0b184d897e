/** What a new run can be started with: repositories that were used, agent programs of this computer, models of hosted bots. */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { type QuickChoices, quickPrograms } from '../../contracts/factory/quick-run-routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Git } from '../../kit/process/git.ts';
import type { Registry } from '../agents/registry.ts';
import type { Harnesses } from '../harness/harness.ts';
import type { Models } from '../models/index.ts';
import { branchAt, realOf } from './repository.ts';
import type { QuickTeams } from './teams.ts';

/** A list to choose from, not a history. */
const maxRepositories = 20;

interface ChoicesDeps {
  readonly workspace: string;
  readonly teams: Pick<QuickTeams, 'runs'>;
  readonly registry: Pick<Registry, 'members'>;
  readonly harnesses: Pick<Harnesses, 'found'>;
  readonly models: Pick<Models, 'endpoints'>;
}

export async function choicesOf(deps: ChoicesDeps, git: Git): Promise<QuickChoices> {
  const [repositories, programs] = await Promise.all([repositoriesOf(deps, git), programsOf(deps)]);
  const hosted = deps.registry.members().flatMap(({ definition }) => definition?.binding.model ?? []);
  const earlier = deps.teams
    .runs()
    .flatMap(({ bots }) => bots.flatMap((bot) => (bot.harness === null ? (bot.model ?? []) : [])));
  return {
    repositories,
    programs,
    models: [...new Set([...earlier.reverse(), ...hosted])],
    providers: deps.models
      .endpoints()
      .map(({ name, set, variables }) => ({ name, ready: set.length > 0 || variables.length === 0 })),
  };
}

async function repositoriesOf(deps: ChoicesDeps, git: Git): Promise<QuickChoices['repositories']> {
  const used = new Map<string, number | null>();
  for (const run of [...deps.teams.runs()].reverse()) {
    if (!used.has(run.repository)) used.set(run.repository, run.createdAt);
  }
  const folders = [deps.workspace, ...deps.registry.members().flatMap(({ definition }) => definition?.cwd ?? [])];
  for (const folder of new Set(folders)) {
    if (!existsSync(folder)) continue;
    const found = await git.try(folder, ['rev-parse', '--show-toplevel']);
    if (found.exitCode !== 0) continue;
    const top = realOf(found.stdout.replace(/\n$/, ''));
    if (!used.has(top)) used.set(top, null);
  }
  const there = [...used].filter(([path]) => existsSync(path)).slice(0, maxRepositories);
  return Promise.all(
    there.map(async ([path, at]) => ({
      path,
      name: basename(path),
      branch: await branchAt(git, path),
      lastUsed: at === null ? null : iso(at),
    })),
  );
}

async function programsOf(deps: ChoicesDeps): Promise<QuickChoices['programs']> {
  const found = await deps.harnesses.found();
  const all = quickPrograms.flatMap((harness) => {
    const one = found.find(({ name }) => name === harness);
    if (one === undefined) return [];
    const { installed, signedIn, version, fix } = one;
    return [{ harness, installed, signedIn, version, fix }];
  });
  const rank = (one: { installed: boolean; signedIn: boolean | null }) =>
    !one.installed ? 3 : one.signedIn === true ? 0 : one.signedIn === null ? 1 : 2;
  return all.sort((a, b) => rank(a) - rank(b));
}
