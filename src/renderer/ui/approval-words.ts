/** An approval in a person's words. Pure. */
import type { Approval, ApprovalSource } from '../../contracts/approvals/approval.ts';
import { visible, visibleLine } from '../../contracts/approvals/visible.ts';
import { approvalGoodFor, maxApprovalWaitSeconds } from '../../contracts/tool-server/tools.ts';
import { looksLikeDiff } from './text-lines.ts';

/** What kind of question it is; null where the asker says it already. */
export const sourceWords: Readonly<Record<ApprovalSource, string | null>> = {
  workflow: null,
  gate: 'asked before acting',
  executor: 'an action on a computer',
  run: 'a computer-use run',
  automation: 'an automation',
  harness: 'asked by its program',
};

/** As the palette shows it. Where there is more than the command, each stands on one line: no line of the command can pass for another. */
export function wholeWords({ title, summary, details = [] }: Approval): string {
  const command = details.length === 0 ? visible(summary) : visibleLine(summary);
  return [visibleLine(title), command, ...details.map(({ name, text }) => `${name}: ${visibleLine(text)}`)].join('\n');
}

const usualAnswers = { approve: ['Approve', 'Approving'], reject: ['Reject', 'Rejecting'] } as const;
const trustAnswers = { approve: ['Trust', 'Trusting'], reject: ['Exit', 'Exiting'] } as const;

/** Its two buttons, and what they say while the answer is on its way. */
export const answersOf = (approval: Pick<Approval, 'kind'>): typeof usualAnswers | typeof trustAnswers =>
  asksForTrust(approval) ? trustAnswers : usualAnswers;

/** A program asks whether it may work in its folder. */
export const asksForTrust = ({ kind }: Pick<Approval, 'kind'>): boolean => kind === 'trust_folder';

/** An attached server wants something typed: the note of the answer holds it. */
export const asksForValues = ({ kind }: Pick<Approval, 'kind'>): boolean => kind === 'input';

const ofRun = ({ dagId, nodeId, runId }: Approval): boolean => (dagId ?? nodeId ?? runId) !== undefined;

/** Whether the words for who asks say the source, too. */
export const saysAsker = (approval: Approval): boolean =>
  approval.source === 'executor' && approval.agentId === null && !ofRun(approval);

/** Who asks, where that is no bot. The client of a tool call is named in the title. */
export function askerWords(approval: Approval): string {
  if (asksForValues(approval)) return 'An attached server';
  if (ofRun(approval)) return 'A step of a run';
  return saysAsker(approval) ? 'A tool call' : 'A program';
}

const surfaces: Readonly<Record<string, string>> = {
  browser: 'in the browser',
  cli: 'on the command line',
  push: 'from a notification',
  text: 'by text message',
  pane: 'in its pane',
  desktop: 'in the app',
};

const surfaceWords = (surface: string): string => surfaces[surface] ?? `via ${surface}`;

/** Only if the asker says so: a command can be worded as a diff, and its lines would run past the edge. */
export function showsDiff({ kind, summary }: Pick<Approval, 'kind' | 'summary'>): boolean {
  return kind === 'file_change' && looksLikeDiff(summary);
}

export function isPending(approval: Approval, now: number): boolean {
  return approval.state === 'pending' && Date.parse(approval.expiresAt) > now;
}

/** `Approved by you in the browser`; without the time, which stands beside it. */
export function answeredWords(approval: Approval, me: string | undefined, now: number): string | null {
  if (approval.state === 'pending') return Date.parse(approval.expiresAt) > now ? null : 'Expired without an answer';
  const { decision, resolvedBy } = approval;
  if (decision === null) {
    if (resolvedBy === null) return 'Withdrawn';
    return resolvedBy.surface === 'pane' ? 'Answered in its pane' : `Withdrawn ${surfaceWords(resolvedBy.surface)}`;
  }
  const verb = pastOf(approval, decision);
  if (resolvedBy === null) return verb;
  const words = `${verb} by ${resolvedBy.user === me ? 'you' : resolvedBy.user} ${surfaceWords(resolvedBy.surface)}`;
  return `${words}${decision === 'approve' ? runsWhen(approval) : ''}`;
}

function pastOf(approval: Approval, decision: 'approve' | 'reject'): string {
  if (asksForTrust(approval)) return decision === 'approve' ? 'Trusted' : 'Not trusted';
  return decision === 'approve' ? 'Approved' : 'Rejected';
}

/** A yes to a tool call is no run: its caller waits for a while only, and nothing says whether it still did. A run waits until it is answered. */
function runsWhen(approval: Approval): string {
  const { source, kind, agentId, requestedAt, resolvedAt } = approval;
  if (source !== 'executor' || (kind !== 'tool_call' && kind !== 'file_change')) return '';
  if (agentId !== null) return '; it runs when the bot asks';
  if (ofRun(approval)) return '';
  const waited = resolvedAt === null ? 0 : Date.parse(resolvedAt) - Date.parse(requestedAt);
  if (waited <= maxApprovalWaitSeconds * 1000) return '; it runs when the program asks';
  return `; it runs once if the program asks again within ${approvalGoodFor} minutes`;
}
