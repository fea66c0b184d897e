/** SQL of the question why: a node's run, a bot's current and next node, the last move, the proven lines. */
import type { NodeStatus } from '../../../contracts/factory/node.ts';
import type { Tx } from '../../../kit/store/store.ts';

type Read = Pick<Tx, 'get' | 'all'>;

interface NodeAt {
  readonly dagId: string;
  readonly nodeId: string;
}

export function runOfNode(tx: Read, nodeId: string): NodeAt | null {
  return (
    tx.get<NodeAt>('SELECT dag_id AS dagId, node_id AS nodeId FROM factory_node WHERE node_id = ?', nodeId) ?? null
  );
}

export function titleOfNode(tx: Read, nodeId: string): string | undefined {
  return tx.get<{ title: string }>('SELECT title FROM factory_node WHERE node_id = ?', nodeId)?.title;
}

export function statusOfNode(tx: Pick<Tx, 'get'>, nodeId: string): NodeStatus | undefined {
  return tx.get<{ status: NodeStatus }>('SELECT status FROM factory_node WHERE node_id = ?', nodeId)?.status;
}

export function titleOfRun(tx: Read, dagId: string): string | undefined {
  return tx.get<{ title: string }>('SELECT title FROM factory_run WHERE dag_id = ?', dagId)?.title;
}

export function heldNode(tx: Read, address: string): NodeAt | null {
  const sql = 'SELECT dag_id AS dagId, node_id AS nodeId FROM factory_node WHERE holder = ? LIMIT 1';
  return tx.get<NodeAt>(sql, address) ?? null;
}

/** The oldest open node of a bot. */
export function nextNode(tx: Read, workspace: string, address: string): NodeAt | null {
  return (
    tx.get<NodeAt>(
      `SELECT n.dag_id AS dagId, n.node_id AS nodeId FROM factory_node n JOIN factory_run r ON r.dag_id = n.dag_id
       WHERE n.assignee = ? AND n.status NOT IN ('done', 'failed', 'skipped', 'cancelled') AND r.workspace = ?
       ORDER BY r.created_at, n.dag_id, n.seq LIMIT 1`,
      address,
      workspace,
    ) ?? null
  );
}

export function lastMove(tx: Read, dagId: string, seq: number): { at: number; receipt: number } | null {
  const sql = 'SELECT at, receipt FROM factory_node_move WHERE dag_id = ? AND seq = ? ORDER BY receipt DESC LIMIT 1';
  return tx.get<{ at: number; receipt: number }>(sql, dagId, seq) ?? null;
}

/** When anything of a run moved last; null before its first move. */
export function lastMoveOfRun(tx: Read, dagId: string): number | null {
  return (
    tx.get<{ at: number | null }>('SELECT max(at) AS at FROM factory_node_move WHERE dag_id = ?', dagId)?.at ?? null
  );
}

/** Newest first, each line once. */
export function provenLines(tx: Read, dagId: string, seq: number, attempt: number): string[] {
  const rows = tx.all<{ line: string }>(
    `SELECT line FROM factory_proof WHERE dag_id = ? AND seq = ? AND attempt = ? AND outcome = 'proven' ORDER BY receipt DESC`,
    dagId,
    seq,
    attempt,
  );
  return [...new Set(rows.map((row) => row.line))];
}
