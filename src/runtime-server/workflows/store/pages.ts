/** SQL of a node's page: its moves, proofs and texts. */
import type { NodeCause, NodePage, NodeStatus } from '../../../contracts/factory/node.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Tx } from '../../../kit/store/store.ts';

type Read = Pick<Tx, 'get' | 'all'>;

interface ProofRow {
  receipt: number;
  line: string;
  outcome: 'proven' | 'rejected';
  at: number;
  sha256: string | null;
  path: string | null;
  name: string | null;
  mime: string | null;
  size: number | null;
}

export function readProofs(tx: Read, dagId: string, seq: number): Pick<NodePage, 'proofs' | 'files'> {
  const rows = tx.all<ProofRow>(
    'SELECT receipt, line, outcome, at, sha256, path, name, mime, size FROM factory_proof WHERE dag_id = ? AND seq = ? ORDER BY receipt',
    dagId,
    seq,
  );
  return {
    proofs: rows.map((row) => ({
      line: row.line,
      path: row.path,
      receiptId: String(row.receipt),
      outcome: row.outcome,
      at: iso(row.at),
    })),
    files: rows.flatMap((row) => {
      const { sha256, path, name, mime, size } = row;
      if (sha256 === null || path === null || name === null || mime === null || size === null) return [];
      return [{ receiptId: String(row.receipt), name, path, mime, size, sha256 }];
    }),
  };
}

export function proofFileOf(
  tx: Read,
  dagId: string,
  seq: number,
  receipt: number,
): { sha256: string; path: string; name: string; mime: string; size: number } | null {
  const row = tx.get<{ sha256: string; path: string; name: string; mime: string; size: number }>(
    'SELECT sha256, path, name, mime, size FROM factory_proof WHERE dag_id = ? AND seq = ? AND receipt = ? AND path IS NOT NULL',
    dagId,
    seq,
    receipt,
  );
  return row ?? null;
}

export function readMoves(tx: Read, dagId: string, seq: number): NodePage['history'] {
  return tx
    .all<{
      receipt: number;
      at: number;
      status: NodeStatus;
      cause: NodeCause;
      detail: string | null;
      attempt: number;
      actor: string;
    }>(
      'SELECT receipt, at, status, cause, detail, attempt, actor FROM factory_node_move WHERE dag_id = ? AND seq = ? ORDER BY receipt',
      dagId,
      seq,
    )
    .map(({ receipt, at, ...row }) => ({ at: iso(at), ...row, receiptId: String(receipt) }));
}

/** The moves of all nodes of a run, those of each oldest first. */
export function readMovesOfRun(tx: Read, dagId: string): { seq: number; at: number; status: NodeStatus }[] {
  return tx.all('SELECT seq, at, status FROM factory_node_move WHERE dag_id = ? ORDER BY seq, receipt', dagId);
}

export function readTexts(tx: Read, dagId: string, seq: number): { output: string | null; progress: string } {
  const row = tx.get<{ output: string | null; progress: string }>(
    'SELECT output, progress FROM factory_node_text WHERE dag_id = ? AND seq = ?',
    dagId,
    seq,
  );
  return row ?? { output: null, progress: '' };
}
