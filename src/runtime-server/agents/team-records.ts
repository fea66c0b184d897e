/** Rows of the ledger about teams, written in one operation with the state that they describe. */
import type { FactoryEventData } from '../../contracts/factory/events.ts';
import type { Ledger } from '../../kit/ledger/ledger.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Actor } from '../base/actor.ts';
import type { FileState } from './store/teams.ts';

type TeamChange = FactoryEventData<'team.changed'>;

/** `state`: the team's row after the change, so that the rows can be rebuilt from the ledger. */
export function recordTeamChange(
  tx: Tx,
  ledger: Ledger,
  change: TeamChange,
  state: { workspace: string; file?: FileState; hash?: string | null; up?: boolean; preset?: string | null },
  by: Actor,
): void {
  ledger.append(tx, {
    type: 'team.changed',
    ...by,
    subject: `team:${change.team}`,
    body: { v: 1, change, state },
  });
}
