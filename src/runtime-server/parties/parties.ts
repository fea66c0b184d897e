/**
 * The parties of the work engine: the person, `owner`, and the bots of the workspace. Rows hold the agent's id, the wire its address. Must not know
 * routes or tables.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { surfaceOf } from '../../kit/http/principals.ts';
import type { Principal } from '../../kit/http/types.ts';
import type { Actor } from '../base/actor.ts';

/** The person, in rows and on the wire. No bot can be called so: an address has an `@`. */
export const owner = 'owner';

/** A bot, as far as its partners need to know it. */
interface PartyBot {
  readonly id: string;
  readonly team: string;
  readonly slug: string;
  readonly address: string;
}

export interface Caller {
  /** `owner`, or the agent's id. */
  readonly id: string;
  readonly name: string;
  /** The bot that calls, or null for the person and what acts for it. */
  readonly bot: PartyBot | null;
  readonly actor: Actor;
}

export interface Parties {
  caller(principal: Principal): Caller;
  /** The id behind an address, an agent's id, or `owner`. `not_found` for anything else. */
  find(to: string): string;
  bot(idOrAddress: string): PartyBot;
  /** As the wire shows it; a bot that is gone keeps its id. */
  name(id: string): string;
}

export function createParties({
  registry,
}: {
  readonly registry: { find(idOrAddress: string): PartyBot | null; members(): readonly PartyBot[] };
}): Parties {
  const bot = (to: string): PartyBot => {
    const member = registry.find(to);
    if (member !== null) return member;
    const known = registry.members().map((one) => one.address);
    const shown = known.length === 0 ? 'There is no team yet.' : `Bots here: ${known.slice(0, 10).join(', ')}.`;
    throw new AppError('not_found', `Nobody has the address "${to}".`, shown);
  };
  return {
    caller(principal) {
      const { report } = principal;
      const actor = { actor: principal.agentId ?? principal.userId, surface: surfaceOf(principal), report };
      if (principal.agentId === undefined) return { id: owner, name: owner, bot: null, actor };
      const member = registry.find(principal.agentId);
      if (member !== null) return { id: member.id, name: member.address, bot: member, actor };
      throw new AppError('refused', 'The calling bot is no longer in a team.', 'Start its team again.');
    },
    find: (to) => (to === owner ? owner : bot(to).id),
    bot,
    name: (id) => (id === owner ? owner : (registry.find(id)?.address ?? id)),
  };
}

/** The owner of the requested rows: the named bot, or all for the person; a bot gets only its own. */
export function ownOrAsked(
  parties: Parties,
  caller: Caller,
  asked: string | undefined,
  what: string,
): string | undefined {
  const bot = asked === undefined ? caller.bot?.id : parties.bot(asked).id;
  if (caller.bot === null || bot === caller.id) return bot;
  throw new AppError('refused', `A bot can see only its own ${what}.`, 'Leave the filter out.');
}
