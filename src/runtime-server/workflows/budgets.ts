/**
 * Budgets: how much money, tokens and time a run, a step or a campaign may use in all. When one is used up, turns on its steps are ended, nothing of it
 * begins, and a person is asked once whether to go on: yes adds the same amount again, no fails what waits. Must not know prices, panes or HTTP.
 */
import { createHash } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';
import type { BudgetState } from '../../contracts/factory/budget-routes.ts';
import type { NodeStatus } from '../../contracts/factory/node.ts';
import type { WorkBudget } from '../../contracts/factory/workflow.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Actor } from '../base/actor.ts';
import type { GateApprovals, GateVerdict, WorkflowDeps } from './deps.ts';
import { goOnFor } from './instruction.ts';
import { isBeingChecked, isEnded, isSilent, type Run, type RunNode } from './model.ts';
import { fail } from './rules.ts';
import {
  type BudgetRow,
  grantBudget,
  partsOf,
  putBudget,
  readBudgets,
  readBudgetsOf,
  rejectBudget,
  type Spent,
  saveUsedMs,
  spentBy,
} from './store/budgets.ts';
import { readCampaign } from './store/campaigns.ts';
import { loadRun } from './store/runs.ts';
import { statusOfNode, titleOfNode, titleOfRun } from './store/why.ts';
import type { Work } from './work.ts';

export interface Budgets {
  /** Those of a new run, in the transaction that starts it. */
  begin(tx: Tx, run: Run, given: WorkBudget | undefined): void;
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

interface Budget {
  readonly subject: string;
  budget: WorkBudget;
  portions: number;
  usedMs: number;
  spent: Spent;
  rejected: boolean;
  /** Which limit is reached, in words. */
  reached: string | null;
  /** Its step has ended: nobody is asked. */
  isOver: boolean;
  question: AbortController | null;
}

interface AtWork {
  readonly dagId: string;
  readonly nodeId: string;
  readonly campaignId: string;
  readonly address: string;
  /** Its minutes pass: not while it waits for its person. */
  readonly isTimed: boolean;
}

/** A question about money needs no quick answer; an expired one is asked again. */
const questionLivesMs = 7 * 24 * 3600 * 1000;
const tickMs = 5000;
/** A tick that comes later than this: the computer slept, and nothing was at work. */
const lateMs = 5000;
const ended: ReadonlySet<NodeStatus> = new Set(['done', 'failed', 'skipped', 'cancelled']);
const nothing: Spent = { microUsd: 0, tokens: 0, unpriced: 0 };

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
  const { store, clock, workspace } = deps;
  const known = new Map<string, Budget>();
  const atWork = new Map<string, AtWork>();
  /** What each bot had last: its last answers are counted late. */
  const lastOf = new Map<string, AtWork>();
  const changed = new Set<Budget>();
  /** Open runs whose budgets are known. */
  const loaded = new Set<string>();
  let counting: Promise<void> | null = null;
  let tickedAt = 0;
  let cancelTick: (() => void) | null = null;
  let closed = false;

  const budgetsOf = ({ dagId, nodeId, campaignId }: Pick<AtWork, 'dagId' | 'nodeId' | 'campaignId'>): Budget[] =>
    [`step:${dagId}/${nodeId}`, `run:${dagId}`, `campaign:${campaignId}`].flatMap((one) => known.get(one) ?? []);
  /** One that a person did not raise has the last word. */
  const reachedOf = (of: Pick<AtWork, 'dagId' | 'nodeId' | 'campaignId'>) => {
    const all = budgetsOf(of).filter(({ reached }) => reached !== null);
    return all.find(({ rejected }) => rejected) ?? all[0] ?? null;
  };

  const behind = (what: string, done: Promise<unknown>) => {
    done.catch((error: unknown) => {
      if (!closed) deps.log.warn(`${what} failed.`, { error: String(error) });
    });
  };

  function add(row: BudgetRow & { readonly isOver?: boolean }): Budget {
    const before = known.get(row.subject);
    before?.question?.abort();
    const { spent = nothing, isOver = false } = before ?? {};
    const budget = { isOver, ...row, spent, reached: null, question: null };
    known.set(row.subject, budget);
    return budget;
  }

  /** Sums what was used; one at a time, and again for what changed meanwhile. */
  function count(budgets: Iterable<Budget>): Promise<void> {
    for (const one of budgets) changed.add(one);
    counting ??= (async () => {
      while (changed.size > 0 && !closed) {
        const some = [...changed];
        changed.clear();
        const sums = await store.read((tx) => some.map(({ subject }) => spentBy(tx, workspace, subject)));
        some.forEach((one, at) => {
          one.spent = sums[at] ?? nothing;
          if (known.get(one.subject) === one) judge(one);
        });
      }
    })().finally(() => {
      counting = null;
    });
    return counting;
  }

  function judge(one: Budget): void {
    const words = overOf(one);
    if (words === null) {
      if (one.reached !== null) relieve(one);
      return;
    }
    const isNew = one.reached === null;
    one.reached = words;
    if (!isNew) return;
    for (const at of atWork.values()) if (budgetsOf(at).includes(one)) holdAtWork(at);
    askOnce(one);
  }

  function askOnce(one: Budget): void {
    if (!one.rejected && !one.isOver && one.question === null) behind('Asking about a budget', ask(one));
  }

  function drop(one: Budget): void {
    one.question?.abort();
    one.question = null;
  }

  /** The turn on it is ended; a command runs to its end. */
  function holdAtWork({ dagId, nodeId, campaignId }: AtWork): void {
    deps.persist(dagId, (work) => {
      const node = work.run.nodes.get(nodeId);
      const over = reachedOf({ dagId, nodeId, campaignId });
      if (node === undefined || over === null || !isTurn(node)) return;
      const { holder, attempt } = node;
      node.wakeAt = null;
      stop(work, node, over);
      if (holder === null) return;
      work.after(() => {
        const end = deps.endTurn?.(holder, { dagId, nodeId }, over.reached ?? '') ?? Promise.resolve(true);
        end.then(
          (ended) => {
            if (!ended) stillRuns(dagId, nodeId, attempt);
          },
          (error: unknown) => deps.log.warn(`The turn of ${holder} could not be ended.`, { error: String(error) }),
        );
      });
    });
  }

  function stop(work: Work, node: RunNode, over: Budget): void {
    if (over.rejected) fail(work, node, 'over_budget', over.reached);
    else {
      work.move(node, 'needs_you', 'over_budget', over.reached);
      askOnce(over);
    }
  }

  function stillRuns(dagId: string, nodeId: string, attempt: number): void {
    deps.persist(dagId, (work) => {
      const node = work.run.nodes.get(nodeId);
      if (node?.attempt !== attempt || node.status !== 'needs_you' || node.cause !== 'over_budget') return;
      work.move(node, 'needs_you', 'over_budget', `${node.detail} Its turn could not be ended: look at its bot.`);
    });
  }

  /** Not reached any more: what it held goes on, unless another one holds it. */
  function relieve(one: Budget): void {
    one.reached = null;
    drop(one);
    behind('Continuing after a budget', goOn(one.subject));
  }

  async function goOn(subject: string): Promise<void> {
    const runs = await store.read((tx) => runsOfSubject(tx, subject));
    for (const dagId of runs) deps.persist(dagId, goOnIn);
  }

  function goOnIn(work: Work): void {
    const { dagId, campaignId, nodes } = work.run;
    for (const node of nodes.values()) {
      if (node.status !== 'needs_you' || node.cause !== 'over_budget') continue;
      const over = reachedOf({ dagId, campaignId, nodeId: node.nodeId });
      if (over === null) release(work, node);
      else if (over.rejected) fail(work, node, 'over_budget', over.reached);
    }
  }

  function release(work: Work, node: RunNode): void {
    const address = node.holder;
    if (address === null) {
      work.move(node, 'ready', 'parents_done');
      work.enqueue(node);
      return;
    }
    const { dagId, nodeId, attempt, step } = node;
    const isCheck = isBeingChecked(node);
    node.wakeAt = isCheck || step.timeoutMinutes === undefined ? null : work.now + step.timeoutMinutes * 60_000;
    if (isCheck) {
      work.move(node, 'checking', 'reviewing', `${node.checker} is checking it.`);
      work.asked(node);
    } else work.move(node, 'working', 'resumed');
    const text = goOnFor(work.run, node, 'The budget that stopped you was raised.');
    const idempotencyKey = `${dagId}:${nodeId}:${attempt}:budget:${work.now}`;
    work.after(() => {
      deps.dispatch(address, text, { dagId, nodeId, idempotencyKey }).catch((error: unknown) => {
        deps.log.warn(`${address} did not get the message to continue ${nodeId}.`, { error: String(error) });
      });
    });
  }

  function runsOfSubject(tx: Pick<Tx, 'get' | 'all'>, subject: string): string[] {
    const [kind, id] = partsOf(subject);
    if (kind !== 'campaign') return [id.split('/')[0] ?? ''];
    return tx
      .all<{ dag_id: string }>(
        'SELECT dag_id FROM factory_run WHERE workspace = ? AND campaign_id = ? ORDER BY created_at, dag_id',
        workspace,
        id,
      )
      .map((row) => row.dag_id);
  }

  /** Once for each portion, also over restarts. */
  async function ask(one: Budget): Promise<void> {
    if (deps.approvals === null || closed) return;
    const question = new AbortController();
    one.question = question;
    try {
      await askWith(one, question, deps.approvals);
    } catch (error) {
      // The next step that it holds asks again.
      if (one.question === question) one.question = null;
      throw error;
    }
  }

  async function askWith(one: Budget, question: AbortController, approvals: GateApprovals): Promise<void> {
    const title = await store.read((tx) => titleOf(tx, one.subject));
    const key = `budget:${one.subject}:${one.portions}:${JSON.stringify(one.budget)}`;
    const { answer, id } = await approvals.ask(questionOf(one, title, key), {
      signal: question.signal,
      apply: (tx, verdict) => answered(tx, one, verdict),
    });
    const withdraw = () => behind('Withdrawing a question', approvals.withdraw(id, 'engine'));
    if (question.signal.aborted) {
      if (!closed) withdraw();
      return;
    }
    question.signal.addEventListener('abort', () => {
      if (!closed) withdraw();
    });
    const { kind } = await answer;
    if (one.question !== question) return;
    one.question = null;
    if (kind === 'expired' && !closed) await ask(one);
  }

  function questionOf(one: Budget, title: string, key: string): Parameters<GateApprovals['ask']>[0] {
    const [kind, id] = partsOf(one.subject);
    const [dagId, nodeId] = id.split('/');
    return {
      source: 'workflow',
      kind: 'budget',
      title: `${title} has used its budget`.slice(0, 200),
      summary: `${one.reached}\n\nApprove: the same amount again (${wordsOf(one.budget, 1)}). Reject: what waits for it fails.\nAnother amount: gantry workflows budget ${kind === 'step' ? `${dagId} --step ${nodeId}` : id}`,
      risk: 'low',
      agentId: null,
      ...(kind === 'campaign' || dagId === undefined ? {} : { dagId }),
      ...(kind === 'step' && nodeId !== undefined ? { nodeId } : {}),
      actionHash: createHash('sha256').update(key).digest('hex'),
      expiresInMs: questionLivesMs,
      dedupeKey: key,
    };
  }

  function answered(tx: Tx, one: Budget, { kind, note, by }: GateVerdict): void {
    const actor = { actor: by.user, surface: by.surface };
    record(tx, one.subject, actor, { answer: kind, portions: one.portions + (kind === 'approve' ? 1 : 0) });
    if (kind === 'approve') {
      grantBudget(tx, workspace, one.subject);
      tx.afterCommit(() => {
        one.portions += 1;
        relieve(one);
        behind('Counting a budget', count([one]));
      });
      return;
    }
    rejectBudget(tx, workspace, one.subject);
    tx.afterCommit(() => {
      one.rejected = true;
    });
    for (const dagId of runsOfSubject(tx, one.subject)) {
      deps.inside(tx, dagId, actor, (work) => {
        for (const node of work.run.nodes.values()) {
          const at = { dagId, nodeId: node.nodeId, campaignId: work.run.campaignId };
          if (node.status !== 'needs_you' || node.cause !== 'over_budget' || !budgetsOf(at).includes(one)) continue;
          fail(work, node, 'over_budget', note ?? one.reached);
        }
      });
    }
  }

  function record(tx: Tx, subject: string, by: Actor, body: Record<string, unknown>): void {
    const { actor, surface } = by;
    deps.ledger.append(tx, {
      type: 'work.budget',
      actor,
      surface,
      subject: `budget:${subject}`,
      body: { v: 1, ...body },
    });
  }

  /** Throws for what is not there. */
  function titleOf(tx: Pick<Tx, 'get' | 'all'>, subject: string): string {
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

  function tick(): void {
    if (cancelTick !== null || closed) return;
    const timed = [...atWork.values()].some(
      (at) => at.isTimed && budgetsOf(at).some(({ budget }) => budget.minutes !== undefined),
    );
    if (!timed) return;
    tickedAt = clock.monotonic();
    cancelTick = deps.timers.after(tickMs, () => {
      cancelTick = null;
      const passed = Math.min(clock.monotonic() - tickedAt, tickMs + lateMs);
      const passing = new Set<Budget>();
      for (const at of atWork.values()) {
        if (!at.isTimed) continue;
        if (at.address.includes('@') && deps.watch?.of(at.address)?.excused === true) continue;
        for (const one of budgetsOf(at)) if (one.budget.minutes !== undefined) passing.add(one);
      }
      for (const one of passing) one.usedMs += passed;
      behind(
        'Keeping the time of a budget',
        store.write((tx) => {
          for (const { subject, usedMs } of passing) saveUsedMs(tx, workspace, subject, Math.round(usedMs));
        }),
      );
      for (const one of passing) judge(one);
      tick();
    });
  }

  const offSpent = deps.onSpent?.((agentId) => {
    const address = deps.workforce.addressOf(agentId);
    const at = address === null ? undefined : lastOf.get(address);
    const some = at === undefined ? [] : budgetsOf(at);
    if (some.length > 0) behind('Counting a budget', count(some));
  });

  function stateOf(one: BudgetRow & { readonly spent: Spent }, title: string): BudgetState {
    const { subject, budget, portions, spent } = one;
    const used = {
      usd: spent.microUsd / 1e6,
      tokens: spent.tokens,
      minutes: Math.round(one.usedMs / 600) / 100,
      unpriced: spent.unpriced,
    };
    return { subject, title, budget, portions, used, reached: overOf(one) };
  }

  function isOver(tx: Pick<Tx, 'get'>, subject: string): boolean {
    const [kind, id] = partsOf(subject);
    const status = kind === 'step' ? statusOfNode(tx, id.split('/')[1] ?? '') : undefined;
    return status !== undefined && ended.has(status);
  }

  async function read(rows: (tx: Pick<Tx, 'get' | 'all'>) => BudgetRow[]): Promise<void> {
    const found = await store.read((tx) => rows(tx).map((row) => ({ ...row, isOver: isOver(tx, row.subject) })));
    await count(found.map(add));
  }

  function forget(run: Run): void {
    loaded.delete(run.dagId);
    for (const subject of [`run:${run.dagId}`, ...[...run.nodes.keys()].map((id) => `step:${run.dagId}/${id}`)]) {
      const one = known.get(subject);
      if (one !== undefined) drop(one);
      known.delete(subject);
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
        if (budget === undefined || !limits(budget)) continue;
        putBudget(tx, workspace, subject, budget);
        const row = { subject, budget, portions: 1, usedMs: 0, rejected: false };
        tx.afterCommit(() => void add(row));
      }
      tx.afterCommit(() => void loaded.add(run.dagId));
    },
    follow(node, run) {
      const { dagId, nodeId, holder } = node;
      const works = (node.status === 'working' && node.assignee !== 'owner') || node.status === 'checking';
      const at = { dagId, nodeId, campaignId: run.campaignId, address: holder ?? node.assignee, isTimed: works };
      if (works || goesOnUnseen(node)) {
        atWork.set(nodeId, at);
        if (holder !== null) lastOf.set(holder, at);
        if (isTurn(node) && reachedOf(at) !== null) holdAtWork(at);
        tick();
      } else atWork.delete(nodeId);
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
      const own = known.get(`step:${dagId}/${nodeId}`);
      if (own === undefined) return;
      own.isOver = ended.has(node.status);
      if (own.isOver) drop(own);
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
      const some = at === undefined ? [] : budgetsOf(at);
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
          title: titleOf(tx, row.subject),
          spent: spentBy(tx, workspace, row.subject),
        }));
      });
      return some.map(({ row, title, spent }) => {
        // Minutes are kept each few seconds.
        const { usedMs } = known.get(row.subject) ?? row;
        return stateOf({ ...row, spent, usedMs }, title);
      });
    },
    async set(subject, budget, by, dryRun) {
      const to = budget === null || !limits(budget) ? null : budget;
      const from = await store.read((tx) => {
        titleOf(tx, subject);
        return readBudgets(tx, workspace).find((row) => row.subject === subject)?.budget ?? null;
      });
      if (dryRun) return from;
      const before = known.get(subject);
      await store.write((tx) => {
        putBudget(tx, workspace, subject, to);
        record(tx, subject, by, { budget: to });
      });
      const [kind, id] = partsOf(subject);
      // The run has ended: should a person retry it, its budgets are read again.
      if (kind !== 'campaign' && !loaded.has(id.split('/')[0] ?? '')) return from;
      if (to === null) {
        known.delete(subject);
        if (before !== undefined) relieve(before);
        return from;
      }
      const now = add({ subject, budget: to, portions: 1, usedMs: before?.usedMs ?? 0, rejected: false });
      await count([now]);
      if (before?.reached != null && now.reached === null) await goOn(subject);
      tick();
      return from;
    },
    isCounted: (address) => [...atWork.values()].some((at) => at.address === address && budgetsOf(at).length > 0),
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
      tick();
    },
    close() {
      closed = true;
      cancelTick?.();
      offSpent?.();
      // The questions stay: the next runtime asks again with the same keys.
      for (const { question } of known.values()) question?.abort();
    },
  };
}

/** A bot works on it or checks it now, as far as is known, and is not being stopped already. */
function isTurn(node: RunNode): boolean {
  const { status, cause, assignee, holder } = node;
  if (cause === 'cancelling' || cause === 'verifying' || assignee === 'shell') return false;
  // A check that waits for its checker costs nothing yet.
  return (
    (status === 'checking' && holder !== null) || (status === 'working' && assignee !== 'owner') || goesOnUnseen(node)
  );
}

/** Its person is asked, and its bot may go on all the same: it was not ended. */
function goesOnUnseen(node: RunNode): boolean {
  if (node.holder === null || !node.holder.includes('@')) return false;
  return isSilent(node) || (node.status === 'needs_you' && node.cause === 'interrupted');
}

function limits({ usd, tokens, minutes }: WorkBudget): boolean {
  return usd !== undefined || tokens !== undefined || minutes !== undefined;
}

/** Which limit is reached, in a sentence; null: none. */
function overOf({ budget, portions, spent, usedMs }: BudgetRow & { readonly spent: Spent }): string | null {
  const { usd, tokens, minutes } = budget;
  if (usd !== undefined && spent.microUsd >= usd * portions * 1e6) {
    return `It used ${dollars(spent.microUsd / 1e6)} of ${dollars(usd * portions)}.`;
  }
  if (tokens !== undefined && spent.tokens >= tokens * portions) {
    return `It used ${spent.tokens} of ${tokens * portions} tokens.`;
  }
  if (minutes !== undefined && usedMs >= minutes * portions * 60_000) {
    return `It worked for ${Math.round(usedMs / 6000) / 10} of ${minutes * portions} minutes.`;
  }
  return null;
}

function wordsOf({ usd, tokens, minutes }: WorkBudget, portions: number): string {
  return [
    usd === undefined ? '' : dollars(usd * portions),
    tokens === undefined ? '' : `${tokens * portions} tokens`,
    minutes === undefined ? '' : `${minutes * portions} minutes`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}

function dollars(usd: number): string {
  return `$${usd < 0.1 ? usd.toFixed(4) : usd.toFixed(2)}`;
}
