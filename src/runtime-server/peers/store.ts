/** Table of the teams that other computers brought here: their user, and the place of their workspace. */
import type { Migration, Tx } from '../../kit/store/store.ts';
import type { CrewPlace } from './crew.ts';

export const peerMigrations: readonly Migration[] = [
  {
    area: 'factory-peers',
    number: 1,
    name: 'teams of other computers',
    sql: `
CREATE TABLE factory_guest (
  user_id TEXT NOT NULL,
  team TEXT NOT NULL,
  root TEXT NOT NULL,
  brought_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, team)
) STRICT, WITHOUT ROWID;
`,
  },
];

export function readGuests(tx: Pick<Tx, 'all'>): CrewPlace[] {
  return tx
    .all<{ user_id: string; team: string; root: string }>('SELECT user_id, team, root FROM factory_guest')
    .map((row) => ({ user: row.user_id, team: row.team, root: row.root }));
}

export function saveGuest(tx: Tx, place: CrewPlace, at: number): void {
  tx.run(
    `INSERT INTO factory_guest (user_id, team, root, brought_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (user_id, team) DO NOTHING`,
    place.user,
    place.team,
    place.root,
    at,
  );
}
