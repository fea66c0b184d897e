/**
 * Which sandbox the bots of a team run in where its file does not say: what is suggested to its person, whose answer becomes a line of the file. Until
 * then they run in none.
 */
import type { TeamFile } from '../../contracts/factory/team-file.ts';
import type { SandboxQuestion } from '../../contracts/factory/teams-routes.ts';
import type { BotSandboxes } from './bot-sandboxes.ts';
import type { ResolvedTeam } from './team-file/resolve.ts';

/** Null: there is nothing to ask. */
export async function sandboxQuestion(
  sandboxes: Pick<BotSandboxes, 'wanted' | 'strictest'>,
  { bots }: Pick<ResolvedTeam, 'bots'>,
  { file }: { readonly file: TeamFile },
  /** Path of the team file, relative to the workspace. */
  path: string,
): Promise<SandboxQuestion | null> {
  const terminal = bots.flatMap(({ harnesses: [harness], cwd, worktree, env }) =>
    harness === undefined ? [] : [{ harness, cwd: worktree ? null : cwd, env }],
  );
  if (terminal.length === 0 || saysSandbox(file) || sandboxes.wanted() !== 'none') return null;
  const { mode, why } = await sandboxes.strictest(terminal);
  return mode === 'none' ? null : { file: path, suggests: mode, why };
}

/** For the team, for a bot, or in a preset. */
export function saysSandbox({ sandbox, bots, presets = {} }: TeamFile): boolean {
  const inPresets = Object.values(presets).flatMap((preset) => Object.values(preset.bots ?? {}));
  return [{ sandbox }, ...bots, ...inPresets].some((one) => one.sandbox !== undefined);
}
