/**
 * Plans: draft → refine → run. A plan holds a template that is checked as one on disk is; running it starts a run from it, after which the plan
 * stays as it was run. A bot drafts and refines its own; the person sees all, and only the person runs them. Owns `engine_plan`; must not know how a
 * run is carried out.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Plan, PlanSummary } from '../../contracts/factory/work-engine/plans.ts';
import * as table from '../../contracts/factory/work-engine/plans.ts';
import type { RunPlan, RunRequest, RunStarted, Template } from '../../contracts/factory/workflow.ts';
import { iso } from '../../kit/clock/clock.ts';
import { bind } from '../../kit/http/types.ts';
import { canonicalJson } from '../../kit/ledger/canonical.ts';
import type { Tx } from '../../kit/store/store.ts';
import { type Actor, sha256 } from '../base/actor.ts';
import type { EnginePart, EnginePartDeps } from '../parties/part.ts';
import type { Caller } from '../parties/parties.ts';

/** Templates and runs, as plans need them. */
export interface PlanRunner {
  /** The template that this text is, or `usage` with its problems. */
  read(text: string, id: string): Template;
  /** `also` runs in the transaction that starts the run, and may refuse it. */
  start(
    request: RunRequest,
    by: Actor,
    template: Template,
    also: (tx: Tx, dagId: string) => void,
  ): Promise<RunStarted | RunPlan>;
}

/** Drafts of one bot at a time. */
export const maxDrafts = 100;

interface PlanRow {
  id: string;
  title: string;
  intent: string | null;
  state: Plan['state'];
  revision: number;
  author: string;
  template: string;
  steps: number;
  history: string;
  dag_id: string | null;
  created_at: number;
  updated_at: number;
}
type Read = Pick<Tx, 'get' | 'all'>;
/** A list does not read the templates, which may be large. */
const short = `id, title, intent, state, revision, author, '' AS template, steps, '' AS history, dag_id, created_at, updated_at`;
type Entry = { revision: number; by: string; at: number; note: string | null };

export function createPlans(deps: EnginePartDeps & { readonly runner: PlanRunner }): EnginePart {
  const { store, ledger, clock, ids, workspace, parties, runner } = deps;

  const summary = (row: PlanRow): PlanSummary => ({
    id: row.id,
    title: row.title,
    state: row.state,
    revision: row.revision,
    by: parties.name(row.author),
    steps: row.steps,
    dagId: row.dag_id,
    createdAt: iso(row.created_at),
    updatedAt: iso(row.updated_at),
  });
  const whole = (row: PlanRow): Plan => ({
    ...summary(row),
    intent: row.intent,
    template: JSON.parse(row.template) as Plan['template'],
    history: (JSON.parse(row.history) as Entry[]).map((one) => ({
      ...one,
      by: parties.name(one.by),
      at: iso(one.at),
    })),
  });
  const find = (tx: Read, id: string) =>
    tx.get<PlanRow>('SELECT * FROM engine_plan WHERE workspace = ? AND id = ?', workspace, id);

  /** Its template, checked under the id that its run would show. */
  const read = (template: Plan['template'], id: string) => runner.read(JSON.stringify(template), id);
  const templateId = (id: string) => id.toLowerCase().replaceAll('_', '-');

  function draftOf(tx: Read, id: string, revision?: number): PlanRow {
    const row = find(tx, id) as PlanRow;
    if (row.state !== 'draft') {
      const fact = `The plan ${id} is ${row.state}${row.dag_id === null ? '' : ` as run ${row.dag_id}`}.`;
      throw new AppError('refused', fact, 'Draft a new one.', { status: 409 });
    }
    if (revision === undefined || revision === row.revision) return row;
    const fact = `The plan ${id} is at revision ${row.revision}, not ${revision}.`;
    throw new AppError('refused', fact, 'Read it again, then refine what is there now.', { status: 409 });
  }

  function record(tx: Tx, type: string, row: PlanRow, by: Actor): void {
    const { id, revision, steps, dag_id: dagId } = row;
    const body = { v: 1, id, revision, steps, dagId, templateSha256: sha256(row.template) };
    ledger.append(tx, { type, ...by, subject: `plan:${id}`, body });
  }

  function draft(
    tx: Tx,
    given: Pick<PlanRow, 'title' | 'intent' | 'template' | 'steps'>,
    note: string | null,
    caller: Caller,
  ) {
    const at = clock.now();
    const history: Entry[] = [{ revision: 1, by: caller.id, at, note }];
    const row: PlanRow = {
      id: ids.next('plan'),
      ...given,
      state: 'draft',
      revision: 1,
      author: caller.id,
      history: JSON.stringify(history),
      dag_id: null,
      created_at: at,
      updated_at: at,
    };
    insertPlan(tx, workspace, row);
    record(tx, 'plan.drafted', row, caller.actor);
    return row;
  }

  const planned = (id: string | null, revision: number, steps: number, record: string) => ({
    dryRun: true as const,
    plan: { id, revision, steps, records: [record] },
  });

  /** Plan and run go together: of two starts, or a start and a crash, one run comes. */
  async function start(id: string, request: RunRequest, by: Actor) {
    const row = await store.read((tx) => draftOf(tx, id));
    const template = read(JSON.parse(row.template) as Plan['template'], templateId(id));
    const whole: RunRequest = { ...request, ...(row.intent === null ? {} : { intent: row.intent }) };
    return runner.start(whole, by, template, (tx, dagId) => {
      const now = draftOf(tx, id, row.revision);
      const updated = { ...now, state: 'started' as const, dag_id: dagId, updated_at: clock.now() };
      record(tx, 'plan.started', savePlan(tx, updated), by);
    });
  }

  function refuseMany(tx: Read, caller: Caller): void {
    if (caller.bot === null) return;
    const sql = "SELECT count(*) AS n FROM engine_plan WHERE workspace = ? AND author = ? AND state = 'draft'";
    const count = tx.get<{ n: number }>(sql, workspace, caller.id)?.n ?? 0;
    if (count < maxDrafts) return;
    throw new AppError('refused', `${caller.name} has ${count} drafts.`, 'Discard some first.', { status: 409 });
  }

  return {
    owners: {
      plan: async ({ agentId }, id) => {
        const row = await store.read((tx) => find(tx, id));
        return row !== undefined && (agentId === undefined || row.author === agentId);
      },
    },
    routes: [
      bind(table.listPlans, async ({ query, principal }) => {
        const { bot } = parties.caller(principal);
        const rows = await store.read((tx) =>
          bot === null
            ? tx.all<PlanRow>(`SELECT ${short} FROM engine_plan WHERE workspace = ? ORDER BY id DESC`, workspace)
            : tx.all<PlanRow>(
                `SELECT ${short} FROM engine_plan WHERE workspace = ? AND author = ? ORDER BY id DESC`,
                workspace,
                bot.id,
              ),
        );
        return { body: { plans: rows.filter((row) => (query.state ?? row.state) === row.state).map(summary) } };
      }),
      bind(table.getPlan, async ({ params }) => ({
        body: whole((await store.read((tx) => find(tx, params.id))) as PlanRow),
      })),
      bind(table.draftPlan, async ({ body, principal }) => {
        const caller = parties.caller(principal);
        const { steps } = read(body.template, 'plan');
        if (body.dryRun === true) return { status: 200 as const, body: planned(null, 1, steps.length, 'plan.drafted') };
        const template = canonicalJson(body.template);
        const given = { title: body.title, intent: body.intent ?? null, template, steps: steps.length };
        const row = await store.write((tx) => {
          caller.actor.report?.take(tx);
          refuseMany(tx, caller);
          return draft(tx, given, body.note ?? null, caller);
        });
        return { status: 201 as const, body: whole(row) };
      }),
      bind(table.refinePlan, async ({ params: { id }, body, principal }) => {
        const caller = parties.caller(principal);
        const steps = read(body.template, templateId(id)).steps.length;
        const next = body.revision + 1;
        if (body.dryRun === true) {
          await store.read((tx) => draftOf(tx, id, body.revision));
          return { body: planned(id, next, steps, 'plan.refined') };
        }
        const row = await store.write((tx) => {
          caller.actor.report?.take(tx);
          const before = draftOf(tx, id, body.revision);
          const at = clock.now();
          const history = [
            ...(JSON.parse(before.history) as Entry[]),
            { revision: next, by: caller.id, at, note: body.note ?? null },
          ];
          const template = canonicalJson(body.template);
          const changed = { revision: next, template, steps, history: JSON.stringify(history), updated_at: at };
          const saved = savePlan(tx, { ...before, ...changed });
          record(tx, 'plan.refined', saved, caller.actor);
          return saved;
        });
        return { body: whole(row) };
      }),
      bind(table.runPlan, async ({ params: { id }, body, principal }) => ({
        body: await start(id, { template: templateId(id), ...body }, parties.caller(principal).actor),
      })),
      bind(table.discardPlan, async ({ params: { id }, body, principal }) => {
        const { actor } = parties.caller(principal);
        if (body.dryRun === true) {
          const row = await store.read((tx) => draftOf(tx, id));
          return { body: planned(id, row.revision, row.steps, 'plan.discarded') };
        }
        const row = await store.write((tx) => {
          actor.report?.take(tx);
          const saved = savePlan(tx, { ...draftOf(tx, id), state: 'discarded', updated_at: clock.now() });
          record(tx, 'plan.discarded', saved, actor);
          return saved;
        });
        return { body: whole(row) };
      }),
    ],
  };
}

function insertPlan(tx: Tx, workspace: string, row: PlanRow): void {
  tx.run(
    `INSERT INTO engine_plan (id, workspace, title, intent, state, revision, author, template, steps, history, dag_id, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    row.id,
    workspace,
    row.title,
    row.intent,
    row.state,
    row.revision,
    row.author,
    row.template,
    row.steps,
    row.history,
    row.dag_id,
    row.created_at,
    row.updated_at,
  );
}

/** Its next state or revision; the rest of a plan never changes. */
function savePlan(tx: Tx, row: PlanRow): PlanRow {
  tx.run(
    'UPDATE engine_plan SET state = ?, revision = ?, template = ?, steps = ?, history = ?, dag_id = ?, updated_at = ? WHERE id = ?',
    row.state,
    row.revision,
    row.template,
    row.steps,
    row.history,
    row.dag_id,
    row.updated_at,
    row.id,
  );
  return row;
}
