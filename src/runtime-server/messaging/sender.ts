/** Finds the sender from the caller; for a vendor's bot, which has no token, that is the app that its person let in. */
import { AppError } from '../../contracts/common/errors.ts';
import { isOwnerInPerson, surfaceOf } from '../../kit/http/principals.ts';
import type { Principal } from '../../kit/http/types.ts';
import type { Member } from '../agents/member.ts';
import type { Sender } from './send-route.ts';

interface Bots {
  find(idOrAddress: string): Member | null;
}

/** Says something as a vendor's bot: only into its own threads, which is asked where a thread is looked for. */
export function senderAs(registry: Bots, principal: Principal, { as, to }: { as: string; to: string }): Sender {
  const bot = principal.agentId === undefined ? registry.find(as) : null;
  if (bot === null || bot.id !== as || !bot.placement.takesTickets) {
    throw new AppError(
      'refused',
      `Nobody can speak as ${as} here.`,
      'Leave out `as`: it is only for the app of a vendor’s bot.',
    );
  }
  if (!to.startsWith('channel:')) {
    throw new AppError(
      'usage',
      `${bot.address} answers only in threads, but to is ${to}.`,
      'Send it to channel:<thread_id>.',
    );
  }
  return { caller: bot.id, surface: surfaceOf(principal), name: bot.address, agentId: bot.id, inPerson: false };
}

export function senderOf(registry: Bots, principal: Principal): Sender {
  const bot = principal.agentId === undefined ? null : registry.find(principal.agentId);
  if (principal.agentId !== undefined && bot === null) {
    throw new AppError('refused', 'The sending bot is no longer in a team.', 'Start its team again.');
  }
  return {
    caller: principal.agentId ?? principal.userId,
    surface: surfaceOf(principal),
    name: bot?.address ?? (isOwnerInPerson(principal) ? 'owner' : `owner (${surfaceOf(principal)})`),
    agentId: bot?.id ?? null,
    inPerson: isOwnerInPerson(principal),
    report: principal.report,
  };
}
