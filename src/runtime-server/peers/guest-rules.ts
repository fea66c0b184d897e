/**
 * Limits of a team from another computer: bots in terminals, in its own workspace, without the secrets of this computer. Its files were written
 * elsewhere, so nothing in them may widen their rights. Pure; must not know who asks.
 */
import { relative, sep } from 'node:path';
import type { TeamFile, TeamFileBot } from '../../contracts/factory/team-file.ts';
import { addressOf } from '../agents/model.ts';
import type { ResolvedTeam } from '../agents/team-file/resolve.ts';
import type { Hindrance } from '../agents/team-plan.ts';
import type { BotSecrets } from '../vault/vault.ts';

const vaultMark = /^vault:/;

/** Every reason why a named bot cannot be a guest. `isMissing`: a folder that is not here and that nothing brings. */
export function guestHindrances(
  team: ResolvedTeam,
  named: ReadonlySet<string>,
  { root, isMissing }: { readonly root: string; readonly isMissing: (folder: string) => boolean },
): Hindrance[] {
  return team.bots
    .filter((bot) => named.has(bot.slug))
    .flatMap((bot) => {
      const address = addressOf(bot.slug, team.name);
      const hindrance = (fact: string, action: string) => [{ address, fact, action }];
      if (bot.binding.type !== 'terminal') {
        const fact = `it is a ${bot.binding.type} bot, and only bots in terminals run on another computer`;
        return hindrance(fact, 'Start it on its own computer.');
      }
      if (!isInside(root, bot.cwd)) {
        const action = 'Name its cwd relative to the workspace; no other folder is sent to the other computer.';
        return hindrance(`its cwd ${bot.cwd} lies outside the workspace`, action);
      }
      if (isMissing(bot.cwd)) {
        const fact = `its folder ${relative(root, bot.cwd)} is not sent along: without a repository only the team's own folder is`;
        const action =
          "Commit the workspace and push it to an https or ssh remote, put what the bots need into the team's folder, or leave cwd out.";
        return hindrance(fact, action);
      }
      const secret = Object.entries(bot.env).find(([, value]) => vaultMark.test(value))?.[0];
      if (secret === undefined) return [];
      const action = 'Sign its program in on that computer, or leave the variable out.';
      return hindrance(`${secret} needs a vault secret, but bots from another computer cannot use the vault`, action);
    });
}

/** The bots of the file that can be guests, whatever computer it names for them. */
export function guestFile(file: TeamFile): TeamFile {
  const terminals = file.bots.filter((bot) => {
    const given: readonly Partial<TeamFileBot>[] = [
      bot,
      ...Object.values(file.presets ?? {}).flatMap((preset) => preset.bots[bot.bot] ?? []),
    ];
    return given.every((one) => (one.binding ?? 'terminal') === 'terminal' && one.vendor === undefined);
  });
  const presets = Object.entries(file.presets ?? {}).map(([name, preset]) => {
    const bots = Object.entries(preset.bots).map(([slug, bot]) => [slug, withoutMachine(bot)] as const);
    return [name, { bots: Object.fromEntries(bots) }] as const;
  });
  return {
    ...file,
    bots: terminals.map(withoutMachine),
    ...(file.presets === undefined ? {} : { presets: Object.fromEntries(presets) }),
  };
}

/** A start has checked before that no bot asks for one. */
export const noSecrets: BotSecrets = {
  open: async () => ({}),
  check: async () => {},
  given: async () => ({}),
  placeholders: async () => [],
};

function withoutMachine<Bot extends { machine?: string | undefined }>(bot: Bot): Omit<Bot, 'machine'> {
  const { machine: _here, ...rest } = bot;
  return rest;
}

/** Whether a path is the folder or lies in it. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`) || way.startsWith(sep));
}
