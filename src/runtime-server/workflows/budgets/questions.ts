/** Asks a person whether a budget that is used up may go on: once for each portion, also over restarts. Must not know how it is used up. */
import { createHash } from 'node:crypto';
import type { Ledger } from '../../../kit/ledger/ledger.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { Actor } from '../../base/actor.ts';
import type { GateApprovals, GateVerdict, WorkflowDeps } from '../deps.ts';
import { fail } from '../rules.ts';
import { grantBudget, partsOf, rejectBudget, runsOfBudget, titleOfBudget } from '../store/budgets.ts';
import type { Work } from '../work.ts';
import { type Accounts, type Budget, wordsOf } from './accounts.ts';

/** A question about money needs no quick answer; an expired one is asked again. */
const questionLivesMs = 7 * 24 * 3600 * 1000;

export function createQuestions(
  deps: Pick<WorkflowDeps, 'store' | 'ledger' | 'workspace' | 'approvals'> & {
    readonly accounts: Pick<Accounts, 'of' | 'count' | 'relieve'>;
    readonly inside: (tx: Tx, dagId: string, by: Actor, change: (work: Work) => void) => void;
    /** Says in the log what failed, while nobody waits for it. */
    readonly behind: (what: string, done: Promise<unknown>) => void;
  },
) {
  const { store, ledger, workspace, accounts } = deps;
  let closed = false;

  return {
    ask(one: Budget): void {
      if (!one.rejected && !one.isOver && one.question === null) deps.behind('Asking about a budget', ask(one));
    },
    close() {
      closed = true;
    },
  };

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
    const title = await store.read((tx) => titleOfBudget(tx, workspace, one.subject));
    const key = `budget:${one.subject}:${one.portions}:${JSON.stringify(one.budget)}`;
    const { answer, id } = await approvals.ask(questionOf(one, title, key), {
      signal: question.signal,
      apply: (tx, verdict) => answered(tx, one, verdict),
    });
    const withdraw = () => deps.behind('Withdrawing a question', approvals.withdraw(id, 'engine'));
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

  function answered(tx: Tx, one: Budget, { kind, note, by }: GateVerdict): void {
    const actor = { actor: by.user, surface: by.surface };
    recordBudget(ledger, tx, one.subject, actor, {
      answer: kind,
      portions: one.portions + (kind === 'approve' ? 1 : 0),
    });
    if (kind === 'approve') {
      grantBudget(tx, workspace, one.subject);
      tx.afterCommit(() => {
        one.portions += 1;
        accounts.relieve(one);
        deps.behind('Counting a budget', accounts.count([one]));
      });
      return;
    }
    rejectBudget(tx, workspace, one.subject);
    tx.afterCommit(() => {
      one.rejected = true;
    });
    for (const dagId of runsOfBudget(tx, workspace, one.subject)) {
      deps.inside(tx, dagId, actor, (work) => {
        for (const node of work.run.nodes.values()) {
          const at = { dagId, nodeId: node.nodeId, campaignId: work.run.campaignId };
          if (node.status !== 'needs_you' || node.cause !== 'over_budget' || !accounts.of(at).includes(one)) continue;
          fail(work, node, 'over_budget', note ?? one.reached);
        }
      });
    }
  }
}

function questionOf(one: Budget, title: string, key: string): Parameters<GateApprovals['ask']>[0] {
  const [kind, id] = partsOf(one.subject);
  const [dagId, nodeId] = id.split('/');
  const amounts = Object.keys(one.budget)
    .map((name) => `--${name} <n>`)
    .join(' ');
  return {
    source: 'workflow',
    kind: 'budget',
    title: `${title} has used its budget`.slice(0, 200),
    summary: `${one.reached}\n\nApprove: the same amount again (${wordsOf(one.budget, 1)}). Reject: what waits for it fails.\nAnother amount: gantry workflows budget ${kind === 'step' ? `${dagId} --step ${nodeId}` : id} ${amounts}`,
    risk: 'low',
    agentId: null,
    ...(kind === 'campaign' || dagId === undefined ? {} : { dagId }),
    ...(kind === 'step' && nodeId !== undefined ? { nodeId } : {}),
    actionHash: createHash('sha256').update(key).digest('hex'),
    expiresInMs: questionLivesMs,
    dedupeKey: key,
  };
}

export function recordBudget(ledger: Ledger, tx: Tx, subject: string, by: Actor, body: Record<string, unknown>): void {
  const { actor, surface } = by;
  ledger.append(tx, { type: 'work.budget', actor, surface, subject: `budget:${subject}`, body: { v: 1, ...body } });
}
