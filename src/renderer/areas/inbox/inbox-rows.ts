/** Questions of the inbox: which match a text, and in which groups they stand. Pure. */

import type { Approval, ApprovalSource } from '../../../contracts/approvals/approval.ts';
import { type Group, groupRows, saysAll } from '../../base/found-rows.ts';

export const groupings = { none: 'No groups', bot: 'By bot', team: 'By team', kind: 'By kind' } as const;
export type Grouping = keyof typeof groupings;

const kinds: Readonly<Record<ApprovalSource, string>> = {
  workflow: 'Gates of runs',
  gate: 'Asked before acting',
  executor: 'Actions on a computer',
  run: 'Computer-use runs',
  automation: 'Automations',
  harness: 'Asked by an agent program',
};

interface Asker {
  readonly address: string;
  readonly team: string;
}
type AskerOf = (agentId: string | null) => Asker | undefined;

/** Whether every word of the text stands somewhere in the question: who asks, its title, its command, its details. */
export function matchesText(approval: Approval, text: string, askerOf: AskerOf): boolean {
  const { title, summary, details = [], reason, note, agentId } = approval;
  return saysAll([title, summary, reason, note, askerOf(agentId)?.address, ...details.map((one) => one.text)], text);
}

/** In the order of their names; within a group the order stays. */
export function groupQuestions(
  approvals: readonly Approval[],
  grouping: Grouping,
  askerOf: AskerOf,
): readonly Group<Approval>[] {
  return groupRows(approvals, grouping === 'none' ? null : (one) => groupOf(one, grouping, askerOf));
}

function groupOf({ agentId, source }: Approval, grouping: Exclude<Grouping, 'none'>, askerOf: AskerOf): string {
  if (grouping === 'kind') return kinds[source];
  const asker = askerOf(agentId);
  if (asker === undefined) return agentId === null ? 'Not asked by a bot' : 'Bots that are gone';
  return grouping === 'bot' ? asker.address : asker.team;
}
