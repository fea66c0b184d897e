/**
 * Takes the next account of a bot's order when one meets its usage limit: its program is ended at the limit and started again in its pane, in the same
 * conversation where the program can continue it. Only an order that its person wrote in the team file counts. Must not know queues or holds.
 */
import { type HarnessName, ownAccount, titleOf } from '../../../contracts/factory/agent.ts';
import type { FactoryEventData } from '../../../contracts/factory/events.ts';
import { engineActor } from '../../base/actor.ts';
import type { Base } from '../../base/base.ts';
import type { BotSpec } from '../../harness/harness.ts';
import type { UsageLimit } from '../../harness/usage.ts';
import type { Member, Registry } from '../registry.ts';
import type { Accounts, AccountWish } from './accounts.ts';

export interface Switched {
  readonly from: string;
  readonly to: string;
  /** It goes on in its conversation; otherwise it knows nothing of it. */
  readonly resumed: boolean;
}

export interface AccountSwitching {
  /** The bot's account is at this limit. Answers when the first account of its order is free again; null: unknown. */
  limited(agentId: string, limit: UsageLimit): number | null;
  /** Another account of its order may be free now. */
  hasOther(agentId: string): boolean;
  /** Starts it with one that is free; null: there is none, or it does not stand at its limit. Rejects where it could not be started again. */
  take(agentId: string): Promise<Switched | null>;
  /** Its account answers again. */
  freed(agentId: string): void;
}

interface Standing {
  readonly member: Member;
  readonly spec: BotSpec;
  readonly program: HarnessName;
  readonly current: string;
  readonly wish: AccountWish | null;
}

export function createAccountSwitching(
  deps: Pick<Base, 'store' | 'ledger' | 'log'> & {
    readonly accounts: Accounts;
    readonly registry: Pick<Registry, 'find' | 'bot' | 'renew'>;
  },
): AccountSwitching {
  const { accounts, registry } = deps;

  function standing(agentId: string): Standing | null {
    const member = registry.find(agentId);
    const spec = member?.spec ?? null;
    if (member === null || spec === null || !member.live || !member.placement.inPaneHere) return null;
    const wish = (member.definition?.accounts.length ?? 0) > 1 ? member.definition : null;
    return { member, spec, program: spec.harness, current: spec.account ?? ownAccount, wish };
  }

  const usable = ({ program, wish }: Standing): readonly string[] =>
    wish === null
      ? []
      : accounts
          .allowed(wish, program)
          .filter(
            (name) =>
              accounts.problem(program, name) === null && accounts.signIn(program, name, wish.env).signedIn !== false,
          );

  const nextOf = (at: Standing): string | undefined =>
    usable(at).find((name) => name !== at.current && accounts.limitOf(at.program, name) === null);

  const behind = (what: string, done: Promise<unknown>) => {
    done.catch((error: unknown) => deps.log.warn(`${what} could not be written.`, { error: String(error) }));
  };

  return {
    limited(agentId, limit) {
      const at = standing(agentId);
      if (at === null) return limit.until;
      behind('The limit of an account', accounts.limited(at.program, at.current, limit));
      const ends = [at.current, ...usable(at)].flatMap((name) => accounts.limitOf(at.program, name)?.until ?? []);
      return ends.length === 0 ? limit.until : Math.min(...ends);
    },
    hasOther(agentId) {
      const at = standing(agentId);
      return at !== null && nextOf(at) !== undefined;
    },
    async take(agentId) {
      const at = standing(agentId);
      const to = at === null || accounts.limitOf(at.program, at.current) === null ? undefined : nextOf(at);
      // Somebody may have made it work meanwhile.
      if (at === null || to === undefined || registry.bot(agentId)?.state().state !== 'blocked') return null;
      const { spec, program, current: from } = at;
      const { account: _before, ...rest } = spec;
      const because = `usage limit of ${titleOf(program)} account "${from}"; now on account "${to}"`;
      const resumed = await registry.renew(agentId, to === ownAccount ? rest : { ...rest, account: to }, because);
      const { paidBy } = accounts.signIn(program, to, spec.env);
      const change: FactoryEventData<'agent.account'> = { agentId, program, from, to, resumed, paidBy };
      await deps.store.write((tx) =>
        deps.ledger.append(tx, {
          type: 'agent.account_changed',
          ...engineActor,
          subject: `agent:${agentId}`,
          body: { v: 1, agentId, change },
        }),
      );
      return { from, to, resumed };
    },
    freed(agentId) {
      const at = standing(agentId);
      if (at !== null) behind('The end of a limit', accounts.freed(at.program, at.current));
    },
  };
}
