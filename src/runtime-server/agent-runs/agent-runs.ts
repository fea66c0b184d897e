/**
 * Records of the runs of bots. Their callers begin and end them in their own operations, so that a record is written together with its cause. A bot
 * reads its own. Owns `engine_agent_run`; must not know models, runs or messages.
 */
import type { AgentRun } from '../../contracts/factory/work-engine/agent-runs.ts';
import * as table from '../../contracts/factory/work-engine/agent-runs.ts';
import { iso } from '../../kit/clock/clock.ts';
import { bind } from '../../kit/http/types.ts';
import type { Tx, Value } from '../../kit/store/store.ts';
import { decodeCursor, defaultLimit, encodeCursor, idCursor, page } from '../base/paging.ts';
import type { EnginePart, EnginePartDeps } from '../parties/part.ts';
import { ownOrAsked, type Parties } from '../parties/parties.ts';

export interface AgentRunWriter {
  begin(tx: Tx, run: { id: string; botId: string; source: AgentRun['source']; at: number }): void;
  /** Ends a run once: one that has ended stays as it is. Returns its owner; null when nothing ended. */
  end(
    tx: Tx,
    id: string,
    end: {
      readonly status: Exclude<AgentRun['status'], 'running'>;
      readonly at: number;
      readonly usage: Readonly<Record<string, number>> | null;
      readonly output: string | null;
      readonly error: string | null;
    },
  ): string | null;
}

/** `botId`: only this bot's. */
export interface AgentRunReader {
  /** Newest first, without outputs. */
  recent(botId: string | null, limit: number): Promise<AgentRun[]>;
  find(id: string, botId: string | null): Promise<AgentRun | null>;
}

interface RunRow {
  id: string;
  bot_id: string;
  source_kind: AgentRun['source']['kind'];
  source_ref: string;
  status: AgentRun['status'];
  started_at: number;
  ended_at: number | null;
  usage: string | null;
  output: string | null;
  error: string | null;
}
const head = 'id, bot_id, source_kind, source_ref, status, started_at, ended_at, usage, error';

interface AgentRuns {
  /** For whatever runs bots. */
  readonly writer: AgentRunWriter;
  /** For whatever shows them. */
  readonly reader: AgentRunReader;
  /** Their routes. */
  part(parties: Parties): EnginePart;
}

export function createAgentRuns(
  deps: Pick<EnginePartDeps, 'store' | 'workspace'> & {
    /** Usage of a run whose end did not report it; null: none. */
    readonly usageOf?: (tx: Pick<Tx, 'get'>, id: string) => Record<string, number> | null;
  },
): AgentRuns {
  const { store, workspace } = deps;
  const wire = (tx: Pick<Tx, 'get'>) => (row: RunRow) =>
    shape(row, row.usage === null ? (deps.usageOf?.(tx, row.id) ?? null) : null);
  const find = (tx: Pick<Tx, 'get'>, id: string) =>
    tx.get<RunRow>(`SELECT ${head}, output FROM engine_agent_run WHERE workspace = ? AND id = ?`, workspace, id);

  const writer: AgentRunWriter = {
    begin(tx, { id, botId, source, at }) {
      tx.run(
        `INSERT INTO engine_agent_run (id, workspace, bot_id, source_kind, source_ref, status, started_at)
         VALUES (?, ?, ?, ?, ?, 'running', ?)`,
        id,
        workspace,
        botId,
        source.kind,
        source.ref,
        at,
      );
    },
    end(tx, id, { status, at, usage, output, error }) {
      const ended = tx.get<{ botId: string }>(
        `UPDATE engine_agent_run SET status = ?, ended_at = ?, usage = ?, output = ?, error = ?
         WHERE id = ? AND status = 'running' RETURNING bot_id AS botId`,
        status,
        at,
        usage === null ? null : JSON.stringify(usage),
        output,
        error,
        id,
      );
      return ended?.botId ?? null;
    },
  };

  const reader: AgentRunReader = {
    recent: (botId, limit) =>
      store.read((tx) =>
        tx
          .all<RunRow>(
            `SELECT ${head}, NULL AS output FROM engine_agent_run WHERE workspace = ? AND (? IS NULL OR bot_id = ?)
             ORDER BY id DESC LIMIT ?`,
            workspace,
            botId,
            botId,
            limit,
          )
          .map(wire(tx)),
      ),
    async find(id, botId) {
      return store.read((tx) => {
        const row = find(tx, id);
        return row === undefined || (botId !== null && row.bot_id !== botId) ? null : wire(tx)(row);
      });
    },
  };

  const part = (parties: Parties): EnginePart => ({
    owners: {
      agentRun: async ({ agentId }, id) => {
        const row = await store.read((tx) => find(tx, id));
        return row !== undefined && (agentId === undefined || row.bot_id === agentId);
      },
    },
    routes: [
      bind(table.listAgentRuns, async ({ query, principal }) => {
        const bot = ownOrAsked(parties, parties.caller(principal), query.bot, 'runs');
        const limit = query.limit ?? defaultLimit;
        const before = decodeCursor(query.cursor, idCursor);
        const filters: [string, Value | null | undefined][] = [
          ['workspace = ?', workspace],
          ['bot_id = ?', bot],
          ['source_kind = ?', query.source],
          ['source_ref = ?', query.ref],
          ['status = ?', query.status],
          ['id < ?', before],
        ];
        const given = filters.filter((one): one is [string, Value] => one[1] !== undefined && one[1] !== null);
        const { shown, nextCursor } = await store.read((tx) => {
          const rows = tx.all<RunRow>(
            `SELECT ${head}, NULL AS output FROM engine_agent_run WHERE ${given.map(([text]) => text).join(' AND ')}
             ORDER BY id DESC LIMIT ?`,
            ...given.map(([, value]) => value),
            limit + 1,
          );
          const found = page(rows, limit, (last) => encodeCursor(last.id));
          return { shown: found.shown.map(wire(tx)), nextCursor: found.nextCursor };
        });
        return { body: { runs: shown, nextCursor } };
      }),
      bind(table.getAgentRun, async ({ params }) => ({
        body: await store.read((tx) => wire(tx)(find(tx, params.id) as RunRow)),
      })),
    ],
  });

  return { writer, reader, part };
}

function shape(row: RunRow, counted: Record<string, number> | null): AgentRun {
  return {
    id: row.id,
    botId: row.bot_id,
    source: { kind: row.source_kind, ref: row.source_ref },
    status: row.status,
    startedAt: iso(row.started_at),
    endedAt: row.ended_at === null ? null : iso(row.ended_at),
    usage: row.usage === null ? counted : (JSON.parse(row.usage) as Record<string, number>),
    ...(row.output === null ? {} : { output: row.output }),
    ...(row.error === null ? {} : { error: row.error }),
  };
}
