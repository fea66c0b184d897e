/** SQL of budgets: one row for each run, step or campaign that has one. What was spent is summed from the requests themselves. */
import { AppError } from '../../../contracts/common/errors.ts';
import type { WorkBudget } from '../../../contracts/factory/workflow.ts';
import type { Tx } from '../../../kit/store/store.ts';
import { newestSpend, spentBetween, spentOn, type Used } from '../../usage/costs.ts';
import { isClosed } from '../model.ts';
import { readCampaign, runsOf } from './campaigns.ts';
import { statusOfNode, titleOfNode, titleOfRun } from './why.ts';

type Read = Pick<Tx, 'get' | 'all'>;

export interface BudgetRow {
  readonly subject: string;
  readonly budget: WorkBudget;
  readonly portions: number;
  readonly usedMs: number;
  /** A person wanted no more. */
  readonly rejected: boolean;
}

interface Row {
  subject: string;
  budget: string;
  portions: number;
  used_ms: number;
  rejected: number;
}

const toBudget = (row: Row): BudgetRow => ({
  subject: row.subject,
  budget: JSON.parse(row.budget) as WorkBudget,
  portions: row.portions,
  usedMs: row.used_ms,
  rejected: row.rejected === 1,
});

export function readBudgets(tx: Read, workspace: string): BudgetRow[] {
  return tx
    .all<Row>('SELECT subject, budget, portions, used_ms, rejected FROM factory_budget WHERE workspace = ?', workspace)
    .map(toBudget);
}

/** Those of one run and of its steps. */
export function readBudgetsOf(tx: Read, workspace: string, dagId: string): BudgetRow[] {
  return tx
    .all<Row>(
      `SELECT subject, budget, portions, used_ms, rejected FROM factory_budget
       WHERE workspace = ? AND (subject = ? OR (subject >= ? AND subject < ?))`,
      workspace,
      `run:${dagId}`,
      `step:${dagId}/`,
      // 0 is the character after the slash.
      `step:${dagId}0`,
    )
    .map(toBudget);
}

/** What was used stays; what was granted and rejected before does not count any more. */
export function putBudget(tx: Tx, workspace: string, subject: string, budget: WorkBudget | null): void {
  if (budget === null) {
    tx.run('DELETE FROM factory_budget WHERE workspace = ? AND subject = ?', workspace, subject);
    return;
  }
  tx.run(
    `INSERT INTO factory_budget (workspace, subject, budget, portions, used_ms, rejected) VALUES (?, ?, ?, 1, 0, 0)
     ON CONFLICT (workspace, subject) DO UPDATE SET budget = excluded.budget, portions = 1, rejected = 0`,
    workspace,
    subject,
    JSON.stringify(budget),
  );
}

export function grantBudget(tx: Tx, workspace: string, subject: string): void {
  tx.run('UPDATE factory_budget SET portions = portions + 1 WHERE workspace = ? AND subject = ?', workspace, subject);
}

export function rejectBudget(tx: Tx, workspace: string, subject: string): void {
  tx.run('UPDATE factory_budget SET rejected = 1 WHERE workspace = ? AND subject = ?', workspace, subject);
}

export function saveUsedMs(tx: Tx, workspace: string, subject: string, ms: number): void {
  tx.run('UPDATE factory_budget SET used_ms = ? WHERE workspace = ? AND subject = ?', ms, workspace, subject);
}

/** Of all attempts and checks. */
export function spentBy(tx: Read, workspace: string, subject: string): Used {
  const [kind, id] = partsOf(subject);
  if (kind === 'step') {
    const [dagId = '', nodeId = ''] = id.split('/');
    return spentOn(tx, workspace, dagId, nodeId);
  }
  const sum = { microUsd: 0, tokens: 0, unpriced: 0 };
  for (const dagId of runsOfBudget(tx, workspace, subject)) {
    const one = spentOn(tx, workspace, dagId, null);
    sum.microUsd += one.microUsd;
    sum.tokens += one.tokens;
    sum.unpriced += one.unpriced;
  }
  return sum;
}

/** What was used since, by step. `after` null: nothing, only where to go on from. */
export function spentSince(tx: Read, workspace: string, after: number | null) {
  const upTo = newestSpend(tx);
  const rows = after === null || after === upTo ? [] : spentBetween(tx, workspace, after, upTo);
  const used = rows.flatMap((one) => {
    const run = tx.get<{ campaignId: string }>(
      'SELECT campaign_id AS campaignId FROM factory_run WHERE dag_id = ?',
      one.dagId,
    );
    return run === undefined ? [] : [{ ...one, ...run }];
  });
  return { upTo, used };
}

/** The runs that a budget counts, the oldest first. */
export function runsOfBudget(tx: Read, workspace: string, subject: string): string[] {
  const [kind, id] = partsOf(subject);
  return kind === 'campaign' ? runsOf(tx, workspace, id).map(({ dagId }) => dagId) : [id.split('/')[0] ?? ''];
}

/** Its title is that of what it limits. Throws for what is not there. */
export function titleOfBudget(tx: Read, workspace: string, subject: string): string {
  const [kind, id] = partsOf(subject);
  if (kind === 'campaign') {
    const campaign = readCampaign(tx, workspace, id);
    if (campaign !== null) return campaign.title;
    throw new AppError(
      'not_found',
      `There is no campaign ${JSON.stringify(id)}.`,
      'List them: gantry workspace campaigns',
    );
  }
  const [dagId = '', nodeId] = id.split('/');
  const title = nodeId === undefined ? titleOfRun(tx, dagId) : titleOfNode(tx, nodeId);
  if (title !== undefined) return title;
  throw new AppError('not_found', `There is no ${kind} ${JSON.stringify(id)}.`, 'The campaign boards show the runs.');
}

/** Its step has ended: nobody is asked about it. */
export function isBudgetOver(tx: Read, subject: string): boolean {
  const [kind, id] = partsOf(subject);
  const status = kind === 'step' ? statusOfNode(tx, id.split('/')[1] ?? '') : undefined;
  return status !== undefined && isClosed(status);
}

/** `run:dag_1` → its kind and the rest. */
export function partsOf(subject: string): ['run' | 'step' | 'campaign', string] {
  const at = subject.indexOf(':');
  return [subject.slice(0, at) as 'run' | 'step' | 'campaign', subject.slice(at + 1)];
}
