/** SQL of the tasks that carry out steps: written before the queue is asked, so that no kill loses one or adds it twice. */
import type { NewTask } from '../../../contracts/work-queue/task.ts';
import type { Tx } from '../../../kit/store/store.ts';

type Read = Pick<Tx, 'get' | 'all'>;

/** What the queue is asked for, the same at each try. */
export interface WorkerTask {
  /** `<node>-<attempt>-<turn>`: also the key under which the queue adds it once. */
  readonly key: string;
  readonly dagId: string;
  readonly nodeId: string;
  readonly attempt: number;
  /** Root of the working tree that its changes belong to. */
  readonly top: string;
  /** The commit that the worker gets. */
  readonly base: string;
  readonly request: NewTask;
  /** Null: whether the queue has it is unknown. */
  readonly taskId: string | null;
}

interface Row {
  readonly key: string;
  readonly dag_id: string;
  readonly node_id: string;
  readonly attempt: number;
  readonly top: string;
  readonly base: string;
  readonly request: string;
  readonly task_id: string | null;
}

const columns = 'key, dag_id, node_id, attempt, top, base, request, task_id';

export function insertWorkerTask(tx: Tx, workspace: string, task: WorkerTask): void {
  tx.run(
    `INSERT INTO factory_worker_task (workspace, ${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)`,
    workspace,
    task.key,
    task.dagId,
    task.nodeId,
    task.attempt,
    task.top,
    task.base,
    JSON.stringify(task.request),
  );
}

export function findWorkerTask(tx: Read, key: string): WorkerTask | null {
  const row = tx.get<Row>(`SELECT ${columns} FROM factory_worker_task WHERE key = ?`, key);
  return row === undefined ? null : taskOf(row);
}

export function workerTasks(tx: Read, workspace: string): WorkerTask[] {
  return tx.all<Row>(`SELECT ${columns} FROM factory_worker_task WHERE workspace = ?`, workspace).map(taskOf);
}

export function nameWorkerTask(tx: Tx, key: string, taskId: string): void {
  tx.run('UPDATE factory_worker_task SET task_id = ? WHERE key = ?', taskId, key);
}

export function removeWorkerTask(tx: Tx, key: string): void {
  tx.run('DELETE FROM factory_worker_task WHERE key = ?', key);
}

function taskOf(row: Row): WorkerTask {
  return {
    key: row.key,
    dagId: row.dag_id,
    nodeId: row.node_id,
    attempt: row.attempt,
    top: row.top,
    base: row.base,
    request: JSON.parse(row.request) as NewTask,
    taskId: row.task_id,
  };
}
