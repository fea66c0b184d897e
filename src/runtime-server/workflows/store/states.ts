/** SQL of the states of runs and steps, for those who wait for them: by their keys, without the texts. */
import type { NodeCause, NodeStatus } from '../../../contracts/factory/node.ts';
import type { RunStatus } from '../../../contracts/factory/workflow.ts';
import type { Tx } from '../../../kit/store/store.ts';

type Read = Pick<Tx, 'get'>;

export interface StepState {
  readonly dagId: string;
  readonly seq: number;
  readonly nodeId: string;
  readonly title: string;
  readonly status: NodeStatus;
  readonly cause: NodeCause;
  readonly detail: string | null;
}

export interface RunState {
  readonly dagId: string;
  readonly title: string;
  readonly status: RunStatus;
}

const ofRun = 'SELECT dag_id AS dagId, title, status FROM factory_run WHERE workspace = ? AND dag_id = ?';
const ofSteps = `SELECT n.dag_id AS dagId, n.seq, n.node_id AS nodeId, n.title, n.status, n.cause, n.detail
  FROM factory_node n JOIN factory_run r ON r.dag_id = n.dag_id WHERE r.workspace = ?`;

export function runState(tx: Read, workspace: string, dagId: string): RunState | null {
  return tx.get<RunState>(ofRun, workspace, dagId) ?? null;
}

/** `dagId` null: `step` is the id of a node; otherwise it may be the id of a step of that run. */
export function findStep(tx: Read, workspace: string, step: string, dagId: string | null): StepState | null {
  const found =
    dagId === null
      ? tx.get<StepState>(`${ofSteps} AND n.node_id = ?`, workspace, step)
      : tx.get<StepState>(
          `${ofSteps} AND n.dag_id = ? AND (n.node_id = ? OR n.step_id = ?)`,
          workspace,
          dagId,
          step,
          step,
        );
  return found ?? null;
}

export function stepState(
  tx: Read,
  workspace: string,
  { dagId, seq }: Pick<StepState, 'dagId' | 'seq'>,
): StepState | null {
  return tx.get<StepState>(`${ofSteps} AND n.dag_id = ? AND n.seq = ?`, workspace, dagId, seq) ?? null;
}
