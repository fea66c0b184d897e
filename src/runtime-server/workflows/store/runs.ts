/** SQL of runs and nodes as the scheduler sees them: whole runs in, changed rows out. */
import type { NodeCause, NodeStatus } from '../../../contracts/factory/node.ts';
import type { RunStatus, Template } from '../../../contracts/factory/workflow.ts';
import type { Tx } from '../../../kit/store/store.ts';
import { type Handed, proofLines, type Run, type RunNode } from '../model.ts';

type Read = Pick<Tx, 'get' | 'all'>;

interface RunRow {
  dag_id: string;
  campaign_id: string;
  title: string;
  status: RunStatus;
  stopping: number;
  cancel_at: number | null;
  intent: string;
  params: string;
  template: string;
}

interface NodeRow {
  seq: number;
  node_id: string;
  step_id: string;
  depth: number;
  title: string;
  assignee: string;
  binding: RunNode['bindingType'];
  checker: string | null;
  status: NodeStatus;
  cause: NodeCause;
  detail: string | null;
  attempt: number;
  tries: number;
  rounds: number;
  holder: string | null;
  handed: Handed;
  delivery: string | null;
  agent_run: string | null;
  gate: RunNode['gate'];
  wake_at: number | null;
  parents: string;
  proven: string;
}

interface NewRun {
  readonly workspace: string;
  readonly team: string | null;
  readonly preset: string | null;
  readonly at: number;
}

export function insertRun(tx: Tx, run: Run, more: NewRun): void {
  tx.run(
    `INSERT INTO factory_run (dag_id, workspace, campaign_id, title, status, stopping, cancel_at, created_at, team, preset, intent,
       params, template) VALUES (?, ?, ?, ?, ?, 0, NULL, ?, ?, ?, ?, ?, ?)`,
    run.dagId,
    more.workspace,
    run.campaignId,
    run.title,
    run.status,
    more.at,
    more.team,
    more.preset,
    run.intent,
    JSON.stringify(run.params),
    JSON.stringify(run.template),
  );
  for (const node of run.nodes.values()) {
    tx.run(
      `INSERT INTO factory_node (dag_id, seq, node_id, step_id, depth, title, assignee, binding, checker, status, cause, detail,
         attempt, tries, rounds, holder, handed, gate, gate_kind, gate_about, wake_at, parents, proof_total, proven)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, NULL, 'no', 'closed', ?, ?, NULL, ?, ?, '[]')`,
      node.dagId,
      node.seq,
      node.nodeId,
      node.stepId,
      node.depth,
      node.title,
      node.assignee,
      node.bindingType,
      node.checker,
      node.status,
      node.cause,
      node.detail,
      node.step.waitGate?.kind ?? null,
      node.step.waitGate?.description ?? null,
      node.parents.join(' '),
      proofLines(node.step).length,
    );
  }
}

const updateNode = `UPDATE factory_node SET assignee = ?, binding = ?, status = ?, cause = ?, detail = ?, attempt = ?, tries = ?,
  rounds = ?, holder = ?, handed = ?, delivery = ?, agent_run = ?, gate = ?, wake_at = ?, proven = ? WHERE dag_id = ? AND seq = ?`;

export function saveNode(tx: Tx, node: RunNode): void {
  tx.run(
    updateNode,
    node.assignee,
    node.bindingType,
    node.status,
    node.cause,
    node.detail,
    node.attempt,
    node.tries,
    node.rounds,
    node.holder,
    node.handed,
    node.delivery,
    node.agentRun,
    node.gate,
    node.wakeAt,
    node.proven.size === 0 ? '[]' : JSON.stringify([...node.proven]),
    node.dagId,
    node.seq,
  );
}

export function saveRun(tx: Tx, run: Run): void {
  tx.run(
    'UPDATE factory_run SET status = ?, stopping = ?, cancel_at = ? WHERE dag_id = ?',
    run.status,
    run.stopping ? 1 : 0,
    run.cancelAt,
    run.dagId,
  );
}

/** Ids are in one column with spaces between: a board of thousands of nodes splits them faster than it could parse JSON. */
export function splitIds(ids: string): string[] {
  return ids === '' ? [] : ids.split(' ');
}

/** Null when the workspace has no run with this id. */
export function loadRun(tx: Read, workspace: string, dagId: string): Run | null {
  const row = tx.get<RunRow>(
    `SELECT dag_id, campaign_id, title, status, stopping, cancel_at, intent, params, template FROM factory_run
     WHERE dag_id = ? AND workspace = ?`,
    dagId,
    workspace,
  );
  if (row === undefined) return null;
  const template = JSON.parse(row.template) as Template;
  const steps = new Map(template.steps.map((step) => [step.id, step]));
  const rows = tx.all<NodeRow>('SELECT * FROM factory_node WHERE dag_id = ? ORDER BY seq', dagId);
  const nodes = rows.map((node): RunNode => {
    const step = steps.get(node.step_id);
    if (step === undefined) throw new Error(`Run ${dagId} has a node of the unknown step ${node.step_id}.`);
    return {
      dagId,
      nodeId: node.node_id,
      stepId: node.step_id,
      seq: node.seq,
      depth: node.depth,
      title: node.title,
      step,
      parents: splitIds(node.parents),
      assignee: node.assignee,
      bindingType: node.binding,
      checker: node.checker,
      status: node.status,
      cause: node.cause,
      detail: node.detail,
      attempt: node.attempt,
      tries: node.tries,
      rounds: node.rounds,
      holder: node.holder,
      handed: node.handed,
      delivery: node.delivery,
      agentRun: node.agent_run,
      gate: node.gate,
      wakeAt: node.wake_at,
      proven: new Set(JSON.parse(node.proven) as string[]),
    };
  });
  return assembleRun(
    {
      dagId,
      campaignId: row.campaign_id,
      title: row.title,
      intent: row.intent,
      params: JSON.parse(row.params) as Record<string, string>,
      template,
      status: row.status,
      stopping: row.stopping === 1,
      cancelAt: row.cancel_at,
    },
    nodes,
  );
}

export function assembleRun(facts: Omit<Run, 'nodes' | 'byStep' | 'children'>, list: readonly RunNode[]): Run {
  const nodes = new Map(list.map((node) => [node.nodeId, node]));
  const byStep = new Map(list.map((node) => [node.stepId, node]));
  const children = new Map<string, RunNode[]>();
  for (const node of list) {
    for (const parent of node.parents) {
      const known = children.get(parent);
      if (known === undefined) children.set(parent, [node]);
      else known.push(node);
    }
  }
  return { ...facts, nodes, byStep, children };
}

/** Runs that have not ended. */
export function openRuns(tx: Read, workspace: string): string[] {
  return tx
    .all<{ dag_id: string }>(
      `SELECT dag_id FROM factory_run WHERE workspace = ? AND status IN ('running', 'needs_you') ORDER BY created_at, dag_id`,
      workspace,
    )
    .map((row) => row.dag_id);
}

/** The open nodes of a run that were handed over, each with its delivery. */
export function handedNodes(
  tx: Read,
  dagId: string,
): readonly { readonly nodeId: string; readonly delivery: string }[] {
  return tx.all(
    `SELECT node_id AS "nodeId", delivery FROM factory_node WHERE dag_id = ? AND handed = 'sent' AND delivery IS NOT NULL
     AND status NOT IN ('done', 'failed', 'skipped', 'cancelled')`,
    dagId,
  );
}

/** How many steps of the runs that have not ended are in each status. */
export function openSteps(tx: Read, workspace: string): { readonly status: string; readonly n: number }[] {
  return tx.all(
    `SELECT node.status, count(*) AS n FROM factory_run AS run JOIN factory_node AS node ON node.dag_id = run.dag_id
     WHERE run.workspace = ? AND run.status IN ('running', 'needs_you') GROUP BY node.status`,
    workspace,
  );
}

/** Whether a bot holds a node now. */
export function isHolding(tx: Read, address: string): boolean {
  return tx.get('SELECT 1 FROM factory_node WHERE holder = ? LIMIT 1', address) !== undefined;
}

/** How many nodes that are not closed a bot has. */
export function loadOf(tx: Read, address: string): number {
  const row = tx.get<{ n: number }>(
    `SELECT count(*) AS n FROM factory_node WHERE assignee = ? AND status NOT IN ('done', 'failed', 'skipped', 'cancelled')`,
    address,
  );
  return row?.n ?? 0;
}

export function outputOf(tx: Read, dagId: string, seq: number): string {
  const row = tx.get<{ output: string | null }>(
    'SELECT output FROM factory_node_text WHERE dag_id = ? AND seq = ?',
    dagId,
    seq,
  );
  return row?.output ?? '';
}

export function saveOutput(tx: Tx, node: RunNode, output: string): void {
  tx.run(
    `INSERT INTO factory_node_text (dag_id, seq, output) VALUES (?, ?, ?)
     ON CONFLICT (dag_id, seq) DO UPDATE SET output = excluded.output`,
    node.dagId,
    node.seq,
    output,
  );
}

/** A page that grows without end would be no page: older progress makes room. Characters. */
const maxProgressLength = 100_000;

export function addProgress(tx: Tx, node: RunNode, text: string): void {
  tx.run(
    `INSERT INTO factory_node_text (dag_id, seq, progress) VALUES (?, ?, ?)
     ON CONFLICT (dag_id, seq) DO UPDATE SET progress = substr(progress || excluded.progress, -${maxProgressLength})`,
    node.dagId,
    node.seq,
    text,
  );
}

interface MoveRow {
  readonly receipt: string;
  readonly at: number;
  readonly actor: string;
}

export function insertMove(tx: Tx, node: RunNode, move: MoveRow): void {
  tx.run(
    'INSERT INTO factory_node_move (dag_id, seq, receipt, at, status, cause, detail, attempt, actor) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    node.dagId,
    node.seq,
    Number(move.receipt),
    move.at,
    node.status,
    node.cause,
    node.detail,
    node.attempt,
    move.actor,
  );
}

interface ProofRow {
  readonly receipt: string;
  readonly line: string;
  readonly outcome: 'proven' | 'rejected';
  readonly at: number;
  readonly actor: string;
  readonly file: ProofFile | null;
}

export interface ProofFile {
  readonly sha256: string;
  /** In the workspace. */
  readonly path: string;
  readonly name: string;
  readonly mime: string;
  readonly size: number;
}

export function insertProof(tx: Tx, node: RunNode, proof: ProofRow): void {
  tx.run(
    `INSERT INTO factory_proof (dag_id, seq, receipt, line, attempt, outcome, at, actor, sha256, path, name, mime, size)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    node.dagId,
    node.seq,
    Number(proof.receipt),
    proof.line,
    node.attempt,
    proof.outcome,
    proof.at,
    proof.actor,
    proof.file?.sha256 ?? null,
    proof.file?.path ?? null,
    proof.file?.name ?? null,
    proof.file?.mime ?? null,
    proof.file?.size ?? null,
  );
}

export function hasRun(tx: Read, workspace: string, dagId: string): boolean {
  return tx.get('SELECT 1 FROM factory_run WHERE dag_id = ? AND workspace = ?', dagId, workspace) !== undefined;
}

/** Whether this workspace has the run, or the step of it; a step is found without its run, too. */
export function hasStep(tx: Read, workspace: string, dagId: string | undefined, nodeId: string | undefined): boolean {
  const run = 'SELECT 1 FROM factory_run r WHERE r.workspace = ?';
  if (nodeId === undefined) return tx.get(`${run} AND r.dag_id = ?`, workspace, dagId ?? '') !== undefined;
  const step = `SELECT 1 FROM factory_node n JOIN factory_run r USING (dag_id) WHERE r.workspace = ? AND n.node_id = ?`;
  return dagId === undefined
    ? tx.get(step, workspace, nodeId) !== undefined
    : tx.get(`${step} AND n.dag_id = ?`, workspace, nodeId, dagId) !== undefined;
}
