/** The possible executors, from the team files and the existing agents. Reads; must not know runs. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Member } from '../agents/member.ts';
import type { TeamFolder } from '../agents/team-file/folder.ts';
import { type ResolvedBot, resolveTeam } from '../agents/team-file/resolve.ts';
import type { Workforce } from './deps.ts';

export function createWorkforce(deps: {
  readonly folder: Pick<TeamFolder, 'all' | 'get' | 'look'>;
  readonly registry: { find(idOrAddress: string): Member | null; members(team?: string): readonly Member[] };
  readonly workspace: string;
  readonly userHome: string;
}): Workforce {
  const { folder, registry } = deps;
  const names = () => {
    folder.look();
    return folder.all().flatMap((team) => (team.file === null ? [] : [team.name]));
  };
  return {
    teams: names,
    team(name, preset) {
      folder.look();
      const onDisk = folder.get(name);
      if (onDisk === null) {
        const known = names();
        throw new AppError(
          'not_found',
          `No team is called ${JSON.stringify(name)}.`,
          known.length === 0 ? 'The workspace has no team.' : `Teams here: ${known.join(', ')}.`,
        );
      }
      const { file } = onDisk;
      if (file === null) {
        throw new AppError(
          'usage',
          `The file of team ${name} has problems.`,
          `\`gantry teams check ${name}\` shows them.`,
        );
      }
      const presets = Object.keys(file.presets ?? {});
      if (preset !== null && !presets.includes(preset)) {
        const known = presets.length === 0 ? 'This team has none.' : `It has: ${presets.join(', ')}.`;
        throw new AppError('usage', `Team ${name} has no preset "${preset}".`, known);
      }
      const team = resolveTeam({ name, file, culture: onDisk.culture }, preset, deps);
      // Without a preset the bots are taken as they are now: a team that is up may have been started with one.
      const now = new Map<string, ResolvedBot>(
        preset !== null
          ? []
          : registry
              .members(name)
              .flatMap((one) => (one.definition === null ? [] : [[one.slug, one.definition] as const])),
      );
      return {
        name,
        edges: team.edges,
        bots: team.bots.map((resolved) => {
          const bot = now.get(resolved.slug) ?? resolved;
          const address = `${bot.slug}@${name}`;
          return {
            slug: bot.slug,
            address,
            agentId: registry.find(address)?.id ?? address,
            role: bot.role,
            harness: bot.binding.harness ?? null,
            bindingType: bot.binding.type,
            elsewhere: registry.find(address)?.remote?.computerName ?? null,
          };
        }),
      };
    },
    inTerminal(address) {
      const member = registry.find(address);
      return member?.placement.inTerminal === true ? member.id : null;
    },
    addressOf: (agentId) => registry.find(agentId)?.address ?? null,
  };
}
