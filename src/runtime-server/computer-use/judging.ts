/**
 * Decides whether a call may act: the policy first, then its run's own limits, then a person, for exactly this action and once. Must not know how
 * anything is done.
 */
import { AppError } from '../../contracts/common/errors.ts';
import {
  classOf,
  hostedShell,
  type Policy,
  type PolicyAction,
  type PolicyVerdict,
  riskOf,
  strictest,
} from '../policy/index.ts';
import { errorResult, noScreen } from './answers.ts';
import type { ApprovalRow, Approvals, Ask } from './approvals.ts';
import type { ToolsetCaller } from './gate.ts';
import { destinationOf } from './hosts.ts';
import type { Origins } from './origins.ts';
import { nameOfPlace } from './read-call.ts';
import type { Ended, Ends, Judged, Screens, Way } from './way.ts';
import { maskedInput, titleOf, wordsOf } from './words.ts';

export interface JudgingDeps {
  readonly policy: Pick<Policy, 'decide'>;
  readonly approvals: Approvals;
  readonly origins: Origins;
  readonly screens: Screens;
  readonly ends: Ends;
  readonly defaults: 'own' | 'hosted';
  readonly approver: 'owner' | 'api_key';
}

export function createJudging(deps: JudgingDeps) {
  const { policy, approvals, origins, screens, ends } = deps;

  function verdictOf({ caller, files }: Way, action: PolicyAction): PolicyVerdict {
    // Runs that a person started, and hosted computers, are asked about only where the policy's own defaults ask.
    const free = deps.defaults === 'hosted' || caller.startedByPerson;
    const decide = (one: PolicyAction) => policy.decide(one, free ? null : 'REQUIRE_APPROVAL');
    // Each file is judged on its own, and they are handed over together: the strictest verdict counts.
    const [first, ...more] = files;
    const verdict =
      first === undefined
        ? decide(action)
        : strictest([decide({ ...action, path: first }), ...more.map((path) => decide({ ...action, path }))]);
    return strict(verdict, action, caller);
  }

  /** The rule by which it may act unasked; null: it may not. */
  function allowedBy(way: Way): string | null {
    const { verdict, rule } = verdictOf(way, actionOf(way));
    return verdict === 'allow' ? rule : null;
  }

  async function judge(way: Way): Promise<Judged> {
    const action = actionOf(way);
    const verdict = verdictOf(way, action);
    if (verdict.verdict === 'allow') return { rule: verdict.rule, grant: null };
    if (verdict.verdict === 'deny') return denied(way, verdict.rule);
    return ask(way, action, verdict.rule);
  }

  function actionOf({ caller, looked, read, to, row }: Way): PolicyAction {
    const at = to ?? destinationOf(looked?.url ?? row.url ?? '');
    // A person who has taken control types their own passwords.
    const isPerson = caller.holder.kind === 'person';
    return {
      // `shell.exec` is the tool that runs a command on a person's own computer, which is another risk.
      tool: read.toolset === 'shell' ? hostedShell : read.toolset,
      member: read.name,
      bot: null,
      ...(at === null ? {} : { host: at.host }),
      // A page that is open was let through when it was opened.
      ...(to?.privateHost === true ? { privateHost: true } : {}),
      ...(looked?.credential === true && !isPerson ? { credential: true } : {}),
      ...(origins.isNew(caller, at, read.member.class) ? { newOrigin: true } : {}),
    };
  }

  async function denied(way: Way, rule: string): Promise<Ended> {
    const { to, read, row } = way;
    if (to?.privateHost === true) return ends.notOpened(way, `${to.host} is blocked: ${rule}.`, rule);
    const message = `${read.name} is not allowed: ${rule}.`;
    await ends.row(row, 'policy', 'denied', { rule, code: 'policy_denied', message });
    return { answer: { kind: 'denied', rule, message } };
  }

  async function ask(way: Way, action: PolicyAction, rule: string): Promise<Judged> {
    const { call, caller, looked, read, place, input } = way;
    const holderId = caller.holder.id;
    const { toolset, name: member } = read;
    const actionHash = approvals.hashOf({ toolset, member, input, place: nameOfPlace(place), holder: holderId });
    const seen = JSON.stringify([
      looked?.url,
      looked?.element,
      looked?.screen.frame_width,
      looked?.screen.frame_height,
    ]);
    const known = await approvals.judge(call.approval_grant, { holderId, actionHash, seen });
    const row = { ...way.row, actionHash };
    const found = known ?? (await asked({ ...way, row }, rule, questionOf(way, action, { actionHash, seen })));
    switch (found.state) {
      case 'approved':
        return { rule: `${rule}; approved by ${found.answeredBy ?? 'a person'}`, grant: found };
      case 'denied': {
        const message = `${found.answeredBy ?? 'A person'} said no.`;
        const code = 'approval_denied';
        await ends.row(row, 'approval', 'denied', { rule, approvalId: found.id, code, message });
        throw new AppError('refused', message, 'Do not try to achieve the same effect another way.', {
          wireCode: code,
        });
      }
      default:
        // One row a question: a caller that polls for its answer does not fill the audit.
        if (known === null) {
          const approvalId = found.id;
          await ends.row(row, 'approval', 'approval_required', { rule, approvalId, code: 'approval_required' });
        }
        return { answer: waiting(way, found, rule) };
    }
  }

  /** Too many questions wait, or this one is too long to read: it is not asked, and nothing is done. */
  async function asked({ row }: Way, rule: string, question: Ask): Promise<ApprovalRow> {
    try {
      return await approvals.ask(question);
    } catch (error) {
      if (error instanceof AppError) {
        await ends.row(row, 'approval', 'denied', { rule, code: error.code, message: error.fact });
      }
      throw error;
    }
  }

  function waiting({ place }: Way, { shown, words }: ApprovalRow, rule: string) {
    const message = `A person must approve this first (${rule}).`;
    const result = errorResult('approval_required', message, screens.of(place) ?? noScreen);
    return { kind: 'approval_required' as const, approval: shown, words, result };
  }

  function questionOf(way: Way, action: PolicyAction, bound: { actionHash: string; seen: string }): Ask {
    const { caller, looked, read } = way;
    const { toolset, name: member } = read;
    const kind = classOf(action);
    const risk = riskOf[kind];
    // A person sees the action that they approve, but never secrets.
    const input = maskedInput(member, way.input, looked?.credential === true);
    const element = looked?.element ?? null;
    const confirmation = { observe: 'none', act: 'run', risky: 'always' } as const;
    return {
      ...bound,
      holderId: caller.holder.id,
      title: titleOf(toolset, member, input, element),
      words: wordsOf({
        toolset,
        member,
        input,
        url: looked?.url ?? null,
        element,
        task: caller.task,
        confirm: caller.confirm,
      }),
      risk,
      runId: caller.holder.kind === 'run' ? caller.holder.id : null,
      client: `${caller.userId}/${caller.surface}`,
      shown: { member, toolset, risk, confirmation_class: confirmation[kind], approver: deps.approver },
    };
  }

  return { judge, allowedBy };
}

/** A run's own questions, on top of the policy. */
function strict(policy: PolicyVerdict, action: PolicyAction, { approvals, confirm }: ToolsetCaller): PolicyVerdict {
  const verdict: PolicyVerdict =
    confirm !== undefined && policy.verdict === 'allow'
      ? { verdict: 'ask', rule: 'the model’s vendor wants it confirmed' }
      : policy;
  if (approvals === 'always' && verdict.verdict === 'allow' && classOf(action) !== 'observe') {
    return { verdict: 'ask', rule: 'the run asks before every step' };
  }
  if (approvals === 'never' && verdict.verdict === 'ask') {
    return { verdict: 'deny', rule: `${verdict.rule}, and the run asks nobody` };
  }
  return verdict;
}
