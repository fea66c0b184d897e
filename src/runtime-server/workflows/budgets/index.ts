/**
 * Budgets: how much money, tokens and time a run, a step or a campaign may use in all. When one is used up, turns on its steps are ended, nothing of it
 * begins, and a person is asked once whether to go on: yes adds the same amount again, no fails what waits. Must not know prices, panes or HTTP.
 */
import type { BudgetState } from '../../../contracts/factory/budget-routes.ts';
import type { WorkBudget } from '../../../contracts/factory/workflow.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { Actor } from '../../base/actor.ts';
import type { Used } from '../../usage/costs.ts';
import type { WorkflowDeps } from '../deps.ts';
import { isClosed, isEnded, type Run, type RunNode } from '../model.ts';
import {
  type BudgetRow,
  isBudgetOver,
  partsOf,
  putBudget,
  readBudgets,
  readBudgetsOf,
  spentBy,
  titleOfBudget,
} from '../store/budgets.ts';
import { loadRun } from '../store/runs.ts';
import type { Work } from '../work.ts';
import { type Budget, createAccounts, overOf } from './accounts.ts';
import { createAtWork } from './at-work.ts';
import { createHolds, goesOnUnseen, isTurn } from './holds.ts';
import { createQuestions, recordBudget } from './questions.ts';

export interface Budgets {
  /** Those of a new run, in the transaction that starts it. */
  begin(tx: Tx, run: Run, given: WorkBudget | undefined): void;
  /** That of a new campaign, in the transaction that opens it. */
  ofCampaign(tx: Tx, campaignId: string, budget: WorkBudget, by: Actor): void;
  /** After each change of a node. */
  follow(node: RunNode, run: Run): void;
  /** Holds a node that is about to begin, if a budget of it is used up. */
  holdBack(work: Work, node: RunNode): boolean;
  /** Before a request for a node, with everything counted that was used until now. */
  mayAsk(node: { readonly dagId: string; readonly nodeId: string }): Promise<boolean>;
  list(of: { readonly run?: string; readonly campaign?: string }): Promise<BudgetState[]>;
  set(subject: string, budget: WorkBudget | null, by: Actor, dryRun: boolean): Promise<WorkBudget | null>;
  /** Whether what the bot uses now counts for a budget. */
  isCounted(address: string): boolean;
  /** Reads and counts those of open runs, before anything of them begins. */
  load(openRuns: readonly string[]): Promise<void>;
  /** What was held by a budget that is not used up any more goes on. */
  start(openRuns: readonly string[]): void;
  close(): void;
}

export function createBudgets(
  deps: Pick<
    WorkflowDeps,
    | 'store'
    | 'ledger'
    | 'clock'
    | 'timers'
    | 'log'
    | 'workspace'
    | 'workforce'
    | 'approvals'
    | 'watch'
    | 'endTurn'
    | 'onSpent'
    | 'dispatch'
  > & {
    persist(dagId: string, change: (work: Work) => void): void;
    /** An operation on a run inside a transaction of somebody else. */
    inside(tx: Tx, dagId: string, by: Actor, change: (work: Work) => void): void;
  },
): Budgets {
  const { store, workspace } = deps;
  /** Open runs whose budgets are known. */
  const loaded = new Set<string>();
  let closed = false;
  const accounts = createAccounts({ store, workspace, reached, relieved });
  const { count, reachedOf } = accounts;
  const questions = createQuestions({ ...deps, accounts, behind });
  const { hold, stop, goOn, goOnIn } = createHolds({ ...deps, reachedOf, ask: questions.ask });
  const atWork = createAtWork({ ...deps, accounts, behind });

  function behind(what: string, done: Promise<unknown>): void {
    done.catch((error: unknown) => {
      if (!closed) deps.log.warn(`${what} failed.`, { error: String(error) });
    });
  }

  function reached(one: Budget): void {
    for (const at of atWork.all()) if (accounts.of(at).includes(one)) hold(at);
    questions.ask(one);
  }

  function relieved({ subject }: Budget): void {
    behind('Continuing after a budget', goOn(subject));
  }

  const offSpent = deps.onSpent?.((agentId) => {
    const address = deps.workforce.addressOf(agentId);
    const at = address === null ? undefined : atWork.lastOf(address);
    const some = at === undefined ? [] : accounts.of(at);
    if (some.length > 0) behind('Counting a budget', count(some));
  });

  function put(tx: Tx, subject: string, budget: WorkBudget): void {
    putBudget(tx, workspace, subject, budget);
    tx.afterCommit(() => void accounts.add({ subject, budget, portions: 1, usedMs: 0, rejected: false }));
  }

  async function read(rows: (tx: Pick<Tx, 'get' | 'all'>) => BudgetRow[]): Promise<void> {
    const found = await store.read((tx) => rows(tx).map((row) => ({ ...row, isOver: isBudgetOver(tx, row.subject) })));
    await count(found.map(accounts.add));
  }

  function forget(run: Run): void {
    loaded.delete(run.dagId);
    for (const subject of [`run:${run.dagId}`, ...[...run.nodes.keys()].map((id) => `step:${run.dagId}/${id}`)]) {
      const one = accounts.forget(subject);
      if (one !== undefined) accounts.drop(one);
    }
  }

  return {
    begin(tx, run, given) {
      const all: [string, WorkBudget | undefined][] = [
        [`run:${run.dagId}`, given ?? run.template.budget],
        ...[...run.nodes.values()].map((node): [string, WorkBudget | undefined] => [
          `step:${run.dagId}/${node.nodeId}`,
          node.step.budget,
        ]),
      ];
      for (const [subject, budget] of all) {
        if (budget !== undefined && limits(budget)) put(tx, subject, budget);
      }
      tx.afterCommit(() => void loaded.add(run.dagId));
    },
    ofCampaign(tx, campaignId, budget, by) {
      if (!limits(budget)) return;
      const subject = `campaign:${campaignId}`;
      put(tx, subject, budget);
      recordBudget(deps.ledger, tx, subject, by, { budget });
    },
    follow(node, run) {
      const { dagId, nodeId, holder } = node;
      const works = (node.status === 'working' && node.assignee !== 'owner') || node.status === 'checking';
      const at = { dagId, nodeId, campaignId: run.campaignId, address: holder ?? node.assignee, isTimed: works };
      if (works || goesOnUnseen(node)) {
        atWork.begin(at, holder);
        if (isTurn(node) && reachedOf(at) !== null) hold(at);
        atWork.tick();
      } else atWork.end(nodeId);
      if (isEnded(run.status)) {
        forget(run);
        return;
      }
      if (!loaded.has(dagId)) {
        // A person retried a run that had ended.
        loaded.add(dagId);
        behind(
          'Reading budgets',
          read((tx) => readBudgetsOf(tx, workspace, dagId)),
        );
      }
      const own = accounts.get(`step:${dagId}/${nodeId}`);
      if (own === undefined) return;
      own.isOver = isClosed(node.status);
      if (own.isOver) accounts.drop(own);
    },
    holdBack(work, node) {
      const { dagId, campaignId } = work.run;
      const over = reachedOf({ dagId, campaignId, nodeId: node.nodeId });
      if (over === null) return false;
      stop(work, node, over);
      return true;
    },
    async mayAsk({ nodeId }) {
      const at = atWork.get(nodeId);
      const some = at === undefined ? [] : accounts.of(at);
      if (at === undefined || some.length === 0) return true;
      await count(some);
      return reachedOf(at) === null;
    },
    async list({ run, campaign }) {
      const some = await store.read((tx) => {
        const campaignId = campaign ?? (run === undefined ? undefined : loadRun(tx, workspace, run)?.campaignId);
        const isWanted = ({ subject }: BudgetRow) =>
          subject === `campaign:${campaignId}` || subject === `run:${run}` || subject.startsWith(`step:${run}/`);
        const rows = readBudgets(tx, workspace);
        return (run === undefined && campaign === undefined ? rows : rows.filter(isWanted)).map((row) => ({
          row,
          title: titleOfBudget(tx, workspace, row.subject),
          spent: spentBy(tx, workspace, row.subject),
        }));
      });
      return some.map(({ row, title, spent }) => {
        // Minutes are kept each few seconds.
        const { usedMs } = accounts.get(row.subject) ?? row;
        return stateOf({ ...row, spent, usedMs }, title);
      });
    },
    async set(subject, budget, by, dryRun) {
      const to = budget === null || !limits(budget) ? null : budget;
      const from = await store.read((tx) => {
        titleOfBudget(tx, workspace, subject);
        return readBudgets(tx, workspace).find((row) => row.subject === subject)?.budget ?? null;
      });
      if (dryRun) return from;
      const before = accounts.get(subject);
      await store.write((tx) => {
        putBudget(tx, workspace, subject, to);
        recordBudget(deps.ledger, tx, subject, by, { budget: to });
      });
      const [kind, id] = partsOf(subject);
      // The run has ended: should a person retry it, its budgets are read again.
      if (kind !== 'campaign' && !loaded.has(id.split('/')[0] ?? '')) return from;
      if (to === null) {
        accounts.forget(subject);
        if (before !== undefined) accounts.relieve(before);
        return from;
      }
      const now = accounts.add({ subject, budget: to, portions: 1, usedMs: before?.usedMs ?? 0, rejected: false });
      await count([now]);
      if (before?.reached != null && now.reached === null) await goOn(subject);
      atWork.tick();
      return from;
    },
    isCounted: (address) => atWork.all().some((at) => at.address === address && accounts.of(at).length > 0),
    load(openRuns) {
      for (const dagId of openRuns) loaded.add(dagId);
      return read((tx) =>
        readBudgets(tx, workspace).filter(({ subject }) => {
          const [kind, id] = partsOf(subject);
          return kind === 'campaign' || loaded.has(id.split('/')[0] ?? '');
        }),
      );
    },
    start(openRuns) {
      for (const dagId of openRuns) deps.persist(dagId, goOnIn);
      atWork.tick();
    },
    close() {
      closed = true;
      atWork.close();
      offSpent?.();
      questions.close();
      accounts.close();
    },
  };
}

function limits({ usd, tokens, minutes }: WorkBudget): boolean {
  return usd !== undefined || tokens !== undefined || minutes !== undefined;
}

function stateOf(one: BudgetRow & { readonly spent: Used }, title: string): BudgetState {
  const { subject, budget, portions, spent } = one;
  const used = {
    usd: spent.microUsd / 1e6,
    tokens: spent.tokens,
    minutes: Math.round(one.usedMs / 600) / 100,
    unpriced: spent.unpriced,
  };
  return { subject, title, budget, portions, used, reached: overOf(one) };
}
