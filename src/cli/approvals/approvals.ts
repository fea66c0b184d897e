/** `gantry workspace approvals|approve|reject`. */
import type { Approval, ApprovalDecision } from '../../contracts/approvals/approval.ts';
import { approvalRoutes } from '../../contracts/approvals/routes.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { pairedCloud } from '../../host/paired-cloud.ts';
import { dataFolder } from '../../host/places.ts';
import { type Action, type Context, flag, integer } from '../command.ts';
import { verbsOf } from '../route-verb.ts';
import { facts } from '../table.ts';
import { inCell, inset, oneLine, span } from '../words.ts';
import { connectHome, heldHere } from './home.ts';

export const list: Action = async (context, input) => {
  const all = flag(input, 'all');
  const limit = integer(input, 'limit', 1, 200);
  const answer = await read(context, { state: all ? undefined : 'pending', limit });
  context.output.result(answer, () => {
    if (answer.approvals.length === 0)
      return inCell(answer.waits ?? '') || (all ? 'No approvals yet.' : 'Nothing waits for you.');
    const cards = answer.approvals.map((approval) => card(context, approval));
    // What only waits on this computer is answered in its home cloud, and by no command here.
    const answers = answer.waits === undefined ? howToAnswer(context, answer.approvals) : whereToAnswer(context);
    return [...cards, ...answers].join('\n\n');
  });
  if (answer.waits !== undefined && answer.approvals.length > 0) context.output.note(inCell(answer.waits));
  return undefined;
};

/** With the id of the only one; else each stands in its card. */
function howToAnswer({ names: { gantry } }: Context, approvals: readonly Approval[]): string[] {
  const waiting = approvals.filter(({ state }) => state === 'pending');
  if (waiting.length === 0) return [];
  const id = waiting.length === 1 ? waiting[0]?.id : '<id>';
  return [`Answer: ${gantry} workspace approve ${id}\n    or: ${gantry} workspace reject ${id}`];
}

function whereToAnswer({ env }: Context): string[] {
  const cloud = pairedCloud(dataFolder(env));
  return cloud === null ? [] : [`Answer at ${cloud}/inbox`];
}

async function read(context: Context, query: { state: 'pending' | undefined; limit: number | undefined }) {
  try {
    const home = await connectHome(context);
    return await home.listApprovals({ query });
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'transport')) throw error;
    return heldHere(context);
  }
}

const homeVerb = verbsOf(approvalRoutes, connectHome);

const resolve = (decision: ApprovalDecision) =>
  homeVerb('resolveApproval', {
    fields: { id: 'approval', decision: () => decision },
    words: (answer) =>
      'dryRun' in answer
        ? `Would ${decision}: ${oneLine(answer.plan.title, 200)}`
        : `${decision === 'approve' ? 'Approved' : 'Rejected'}: ${oneLine(answer.title, 200)}`,
  });

export const approve = resolve('approve');
export const reject = resolve('reject');

/** The whole summary: nobody approves what they have not read. */
function card(context: Context, approval: Approval): string {
  const { id, title, summary, risk, source, resolvedBy, resolvedAt, note, decision } = approval;
  const by = resolvedBy === null ? '' : `${resolvedBy.user} via ${resolvedBy.surface} at ${resolvedAt}`;
  const words = decision === null ? 'withdrawn' : { approve: 'approved', reject: 'rejected' }[decision];
  // By what is left, not by the server's clock.
  const left = approval.remainingMs ?? Date.parse(approval.expiresAt) - context.now();
  const pending = left > 0 ? `waits, ${span(Math.ceil(left / 1000))} left` : `expired at ${approval.expiresAt}`;
  return [
    oneLine(title, 200),
    // Marked line by line: nothing in it can pass for a fact below it.
    summary.replace(/^/gm, '  │ '),
    inset(
      facts([
        ['id', id],
        ...(approval.details ?? []).map((one): [string, string] => [one.name.toLowerCase(), one.text]),
        ['risk', `${risk}, asked by ${source}`],
        ['reason', approval.reason ?? null],
        ['state', approval.state === 'pending' ? pending : `${words} by ${by}`],
        ['note', note === null ? null : oneLine(note, 500)],
      ]),
    ),
  ].join('\n');
}
