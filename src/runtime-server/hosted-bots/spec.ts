/** The settings by which a hosted bot runs: from its team file, followed live. Pure. */
import type { HostedMode } from '../../contracts/factory/team-file.ts';
import type { ResolvedBot, ResolvedTeam } from '../agents/team-file/resolve.ts';

export interface HostedSpec {
  readonly agentId: string;
  readonly slug: string;
  readonly team: string;
  readonly address: string;
  readonly role: string | null;
  readonly model: string;
  readonly mode: HostedMode;
  readonly limits: ResolvedBot['limits'];
  /** Its root: the `cwd` of its team file, or its worktree. */
  readonly folder: string;
  readonly worktree: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly culture: string | null;
}

/** `folder` is where it works unless it has its own worktree. */
export function hostedSpec(agentId: string, address: string, team: ResolvedTeam, bot: ResolvedBot): HostedSpec {
  return {
    agentId,
    slug: bot.slug,
    team: team.name,
    address,
    role: bot.role,
    model: bot.model ?? '',
    mode: bot.permissions,
    limits: bot.limits,
    folder: bot.cwd,
    worktree: bot.worktree,
    env: bot.env,
    culture: team.culture,
  };
}

const strictness: readonly HostedMode[] = ['PLAN_ONLY', 'REQUIRE_APPROVAL', 'ACCEPT_EDITS'];

/**
 * The stricter of two modes. A message lends no more rights than its sender has, or a bot could get around its own limits by
 * asking a stronger bot.
 */
export function stricter(a: HostedMode, b: HostedMode): HostedMode {
  return strictness.indexOf(a) <= strictness.indexOf(b) ? a : b;
}
