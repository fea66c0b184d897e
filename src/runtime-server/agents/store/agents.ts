/** SQL of agents and their panes. Each call is one step of an operation and decides nothing. */
import type { AgentState } from '../../../contracts/factory/agent.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { BotSpec } from '../../harness/harness.ts';
import type { AgentRecord, PaneRecord, Shown } from '../model.ts';

type Read = Pick<Tx, 'get' | 'all'>;

interface AgentRow {
  id: string;
  workspace: string;
  team: string;
  slug: string;
  created_at: number;
  spec: string | null;
  state: string;
  state_reason: string | null;
  since: number;
}

interface PaneRow {
  id: string;
  agent_id: string;
  started_at: number;
  ended_at: number | null;
}

const toPane = (row: PaneRow): PaneRecord => ({
  id: row.id,
  agentId: row.agent_id,
  startedAt: row.started_at,
  endedAt: row.ended_at,
});

const toAgent = (row: AgentRow, panes: readonly PaneRecord[]): AgentRecord => ({
  id: row.id,
  workspace: row.workspace,
  team: row.team,
  slug: row.slug,
  createdAt: row.created_at,
  spec: row.spec === null ? null : (JSON.parse(row.spec) as BotSpec),
  shown: { state: row.state as AgentState, reason: row.state_reason, since: row.since },
  panes,
});

/** All agents this engine ever knew, with their panes. Read once at start. */
export function readAgents(tx: Read): AgentRecord[] {
  const panes = Map.groupBy(
    tx.all<PaneRow>('SELECT * FROM factory_pane ORDER BY started_at, id').map(toPane),
    (pane) => pane.agentId,
  );
  return tx.all<AgentRow>('SELECT * FROM factory_agent').map((row) => toAgent(row, panes.get(row.id) ?? []));
}

/** Adds an agent, or keeps the one in this place. Returns the id that holds it. */
export function ensureAgent(
  tx: Tx,
  agent: { id: string; workspace: string; team: string; slug: string; at: number },
): string {
  tx.run(
    `INSERT INTO factory_agent (id, workspace, team, slug, created_at, state, since)
     VALUES (?, ?, ?, ?, ?, 'offline', ?) ON CONFLICT (workspace, team, slug) DO NOTHING`,
    agent.id,
    agent.workspace,
    agent.team,
    agent.slug,
    agent.at,
    agent.at,
  );
  const row = tx.get<{ id: string }>(
    'SELECT id FROM factory_agent WHERE workspace = ? AND team = ? AND slug = ?',
    agent.workspace,
    agent.team,
    agent.slug,
  );
  return row?.id ?? agent.id;
}

export function saveSpec(tx: Tx, agentId: string, spec: BotSpec): void {
  tx.run('UPDATE factory_agent SET spec = ? WHERE id = ?', JSON.stringify(spec), agentId);
}

export function saveShown(tx: Tx, agentId: string, shown: Shown): void {
  tx.run(
    'UPDATE factory_agent SET state = ?, state_reason = ?, since = ? WHERE id = ?',
    shown.state,
    shown.reason,
    shown.since,
    agentId,
  );
}

export function addPane(tx: Tx, pane: PaneRecord): void {
  tx.run(
    'INSERT INTO factory_pane (id, agent_id, started_at, ended_at) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
    pane.id,
    pane.agentId,
    pane.startedAt,
    pane.endedAt,
  );
}

export function endPane(tx: Tx, paneId: string, at: number): void {
  tx.run('UPDATE factory_pane SET ended_at = ? WHERE id = ? AND ended_at IS NULL', at, paneId);
}

export function removePane(tx: Tx, paneId: string): void {
  tx.run('DELETE FROM factory_pane WHERE id = ?', paneId);
}

export function readMemories(tx: Read): Map<string, Readonly<Record<string, unknown>>> {
  const rows = tx.all<{ id: string; memory: string }>('SELECT id, memory FROM factory_agent WHERE memory IS NOT NULL');
  return new Map(rows.map((row) => [row.id, JSON.parse(row.memory) as Record<string, unknown>]));
}

export function saveMemory(tx: Tx, agentId: string, facts: Readonly<Record<string, unknown>>): void {
  tx.run('UPDATE factory_agent SET memory = ? WHERE id = ?', JSON.stringify(facts), agentId);
}
