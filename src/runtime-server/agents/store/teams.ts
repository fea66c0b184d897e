/** SQL of teams: their file as last seen, and whether they are up. */
import type { Tx } from '../../../kit/store/store.ts';

type Read = Pick<Tx, 'get' | 'all'>;

export type FileState = 'unseen' | 'valid' | 'invalid' | 'gone';

export interface TeamRecord {
  readonly name: string;
  readonly file: FileState;
  readonly fileHash: string | null;
  readonly up: boolean;
  /** The preset it was last started with. */
  readonly preset: string | null;
}

interface TeamRow {
  name: string;
  file: FileState;
  file_hash: string | null;
  up: number;
  preset: string | null;
}

export function readTeams(tx: Read, workspace: string): TeamRecord[] {
  return tx
    .all<TeamRow>('SELECT * FROM factory_team WHERE workspace = ? ORDER BY name', workspace)
    .map((row) => ({ name: row.name, file: row.file, fileHash: row.file_hash, up: row.up === 1, preset: row.preset }));
}

/** Names of the teams that their person started and did not stop, whether their bots run or not. */
export function upIn(tx: Read, workspace: string): string[] {
  return readTeams(tx, workspace)
    .filter((team) => team.up)
    .map((team) => team.name);
}

export function saveTeamFile(
  tx: Tx,
  workspace: string,
  name: string,
  seen: { file: FileState; hash: string | null },
): void {
  tx.run(
    `INSERT INTO factory_team (workspace, name, file, file_hash, up) VALUES (?, ?, ?, ?, 0)
     ON CONFLICT (workspace, name) DO UPDATE SET file = excluded.file, file_hash = excluded.file_hash`,
    workspace,
    name,
    seen.file,
    seen.hash,
  );
}

export function saveTeamUp(tx: Tx, workspace: string, name: string, up: boolean, preset: string | null): void {
  tx.run(
    `INSERT INTO factory_team (workspace, name, file, up, preset) VALUES (?, ?, 'unseen', ?, ?)
     ON CONFLICT (workspace, name) DO UPDATE SET up = excluded.up, preset = excluded.preset`,
    workspace,
    name,
    up ? 1 : 0,
    preset,
  );
}
