/** SQL of campaigns and projects, and of boards: only narrow rows. */
import { byName } from '../../../contracts/common/by-name.ts';
import type { CampaignSummary } from '../../../contracts/factory/board.ts';
import { closedNodeStatuses, type NodeCard, type NodeCause, type NodeStatus } from '../../../contracts/factory/node.ts';
import type { Project, RunStatus } from '../../../contracts/factory/workflow.ts';
import type { Tx } from '../../../kit/store/store.ts';
import { splitIds } from './runs.ts';

type Read = Pick<Tx, 'get' | 'all'>;

interface CampaignRow {
  readonly id: string;
  readonly projectId: string | null;
  readonly title: string;
  readonly intent: string;
  readonly owner: string;
  readonly executor: string | null;
}

export function insertCampaign(tx: Tx, workspace: string, campaign: CampaignRow, at: number): void {
  tx.run(
    `INSERT INTO factory_campaign (workspace, id, project_id, title, intent, owner, executor, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    workspace,
    campaign.id,
    campaign.projectId,
    campaign.title,
    campaign.intent,
    campaign.owner,
    campaign.executor,
    at,
  );
}

export function hasCampaign(tx: Read, workspace: string, id: string): boolean {
  return tx.get('SELECT 1 FROM factory_campaign WHERE workspace = ? AND id = ?', workspace, id) !== undefined;
}

interface CampaignText {
  id: string;
  project_id: string | null;
  title: string;
  intent: string;
}

/** One campaign without its counts, for callers that read its nodes anyway; null for an unknown one. */
export function readCampaign(tx: Read, workspace: string, id: string): Omit<CampaignSummary, Counts> | null {
  const row = tx.get<CampaignText>(
    'SELECT id, project_id, title, intent FROM factory_campaign WHERE workspace = ? AND id = ?',
    workspace,
    id,
  );
  return row === undefined ? null : { id: row.id, projectId: row.project_id, title: row.title, intent: row.intent };
}

type Counts = 'status' | 'proven' | 'total' | 'needsYou';

/** Newest first; `id` for one. */
export function readCampaigns(tx: Read, workspace: string, id?: string): CampaignSummary[] {
  const rows = tx.all<{
    id: string;
    project_id: string | null;
    title: string;
    intent: string;
    runs: number;
    open: number;
    proven: number;
    total: number;
    needs: number;
  }>(
    `SELECT c.id, c.project_id, c.title, c.intent, count(DISTINCT r.dag_id) AS runs,
       count(DISTINCT CASE WHEN r.status IN ('running', 'needs_you') THEN r.dag_id END) AS open,
       count(CASE WHEN n.status = 'done' THEN 1 END) AS proven, count(n.seq) AS total,
       count(CASE WHEN n.status = 'needs_you' THEN 1 END) AS needs
     FROM factory_campaign c
       LEFT JOIN factory_run r ON r.workspace = c.workspace AND r.campaign_id = c.id
       LEFT JOIN factory_node n ON n.dag_id = r.dag_id
     WHERE c.workspace = ? AND (? IS NULL OR c.id = ?)
     GROUP BY c.id ORDER BY c.created_at DESC, c.id DESC`,
    workspace,
    id ?? null,
    id ?? null,
  );
  return rows.map((row) => ({
    id: row.id,
    projectId: row.project_id,
    title: row.title,
    intent: row.intent,
    status: row.runs > 0 && row.open === 0 ? 'finished' : 'active',
    proven: row.proven,
    total: row.total,
    needsYou: row.needs,
  }));
}

interface RunLine {
  readonly dagId: string;
  readonly title: string;
  readonly status: RunStatus;
}

export function runsOf(tx: Read, workspace: string, campaignId: string): RunLine[] {
  return tx.all<RunLine>(
    `SELECT dag_id AS dagId, title, status FROM factory_run WHERE workspace = ? AND campaign_id = ? ORDER BY created_at, dag_id`,
    workspace,
    campaignId,
  );
}

/** Newest first. */
export function recentRuns(tx: Read, workspace: string, limit: number): (RunLine & { readonly createdAt: number })[] {
  return tx.all(
    `SELECT dag_id AS dagId, title, status, created_at AS createdAt FROM factory_run WHERE workspace = ?
     ORDER BY created_at DESC, dag_id DESC LIMIT ?`,
    workspace,
    limit,
  );
}

interface CardRow {
  dag_id: string;
  node_id: string;
  step_id: string;
  title: string;
  status: NodeStatus;
  cause: NodeCause;
  detail: string | null;
  assignee: string;
  binding: NodeCard['bindingType'];
  depth: number;
  attempt: number;
  gate: 'closed' | 'waiting' | 'open';
  gate_kind: 'manual' | 'timer' | 'command' | null;
  gate_about: string | null;
  wake_at: number | null;
  parents: string;
  proof_total: number;
  proven: string;
}

const cardColumns = `n.dag_id, n.node_id, n.step_id, n.title, n.status, n.cause, n.detail, n.assignee, n.binding, n.depth, n.attempt,
  n.gate, n.gate_kind, n.gate_about, n.wake_at, n.parents, n.proof_total, n.proven`;

function toCard(row: CardRow): NodeCard {
  const proven = row.proven === '[]' ? 0 : (JSON.parse(row.proven) as string[]).length;
  return {
    dagId: row.dag_id,
    nodeId: row.node_id,
    stepId: row.step_id,
    title: row.title,
    status: row.status,
    cause: row.cause,
    detail: row.detail,
    assignee: row.assignee,
    bindingType: row.binding,
    // A step is done only with every required line proven: what is missing then was optional, and nobody waits for it.
    proof: { proven, total: row.status === 'done' ? proven : row.proof_total },
    blockedBy: splitIds(row.parents),
    needsYou: row.status === 'needs_you',
    depth: row.depth,
    gate: row.gate_kind === null ? null : gateOf(row, row.gate_kind),
    attempt: row.attempt,
  };
}

function gateOf(row: CardRow, kind: NonNullable<CardRow['gate_kind']>): NodeCard['gate'] {
  const timed = kind === 'timer' && row.gate === 'waiting' && row.wake_at !== null;
  const until = timed && row.wake_at !== null ? new Date(row.wake_at).toISOString() : null;
  return { kind, description: row.gate_about ?? '', state: row.gate, until };
}

export function cardsOfRun(tx: Read, dagId: string): NodeCard[] {
  return tx
    .all<CardRow>(`SELECT ${cardColumns} FROM factory_node n WHERE n.dag_id = ? ORDER BY n.seq`, dagId)
    .map(toCard);
}

export function cardOf(tx: Read, dagId: string, seq: number): NodeCard {
  const row = tx.get<CardRow>(`SELECT ${cardColumns} FROM factory_node n WHERE n.dag_id = ? AND n.seq = ?`, dagId, seq);
  if (row === undefined) throw new Error(`Run ${dagId} has lost node ${seq}.`);
  return toCard(row);
}

/** Nodes across campaigns, oldest run first. */
export function cardsWhere(
  tx: Read,
  workspace: string,
  filter: { assignee: string | null; open: boolean },
): NodeCard[] {
  const closed = closedNodeStatuses.map((status) => `'${status}'`).join(', ');
  return tx
    .all<CardRow>(
      `SELECT ${cardColumns} FROM factory_run r JOIN factory_node n ON n.dag_id = r.dag_id
       WHERE r.workspace = ?${filter.open ? ` AND n.status NOT IN (${closed})` : ''}${filter.assignee === null ? '' : ' AND n.assignee = ?'}
       ORDER BY r.created_at, n.dag_id, n.seq`,
      workspace,
      ...(filter.assignee === null ? [] : [filter.assignee]),
    )
    .map(toCard);
}

interface ProjectRow {
  id: string;
  name: string;
  worker_bot: string | null;
}

export function readProjects(tx: Read, workspace: string): Project[] {
  const sql = 'SELECT id, name, worker_bot FROM factory_project WHERE workspace = ?';
  return tx
    .all<ProjectRow>(sql, workspace)
    .map((row) => ({ id: row.id, name: row.name, workerBot: row.worker_bot }))
    .sort((a, b) => byName(a.id, b.id));
}

export function readProject(tx: Read, workspace: string, id: string): Project | null {
  const row = tx.get<ProjectRow>(
    'SELECT id, name, worker_bot FROM factory_project WHERE workspace = ? AND id = ?',
    workspace,
    id,
  );
  return row === undefined ? null : { id: row.id, name: row.name, workerBot: row.worker_bot };
}

export function putProject(tx: Tx, workspace: string, project: Project, at: number): void {
  tx.run(
    `INSERT INTO factory_project (workspace, id, name, worker_bot, created_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (workspace, id) DO UPDATE SET name = excluded.name, worker_bot = excluded.worker_bot`,
    workspace,
    project.id,
    project.name,
    project.workerBot,
    at,
  );
}
