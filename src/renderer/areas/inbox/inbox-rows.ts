/** Questions of the inbox: which match a text, and in which groups they stand. Pure. */

import type { Approval, ApprovalSource } from '../../../contracts/approvals/approval.ts';
import { byName } from '../../../contracts/common/by-name.ts';

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

interface QuestionGroup {
  readonly name: string;
  readonly approvals: readonly Approval[];
}

/** Whether every word of the text stands somewhere in the question: who asks, its title, its command, its details. */
export function matchesText(approval: Approval, text: string, askerOf: AskerOf): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const { title, summary, details = [], reason = '', note, agentId } = approval;
  const said = [title, summary, reason, note ?? '', askerOf(agentId)?.address ?? '', ...details.map((one) => one.text)];
  const whole = said.join('\n').toLowerCase();
  return words.every((word) => whole.includes(word));
}

/** In the order of their names; within a group the order stays. */
export function groupQuestions(
  approvals: readonly Approval[],
  grouping: Grouping,
  askerOf: AskerOf,
): readonly QuestionGroup[] {
  if (grouping === 'none') return [{ name: '', approvals }];
  const groups = new Map<string, Approval[]>();
  for (const one of approvals) {
    const name = groupOf(one, grouping, askerOf);
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return [...groups].map(([name, list]) => ({ name, approvals: list })).sort((a, b) => byName(a.name, b.name));
}

function groupOf({ agentId, source }: Approval, grouping: Exclude<Grouping, 'none'>, askerOf: AskerOf): string {
  if (grouping === 'kind') return kinds[source];
  const asker = askerOf(agentId);
  if (asker === undefined) return agentId === null ? 'Not asked by a bot' : 'Bots that are gone';
  return grouping === 'bot' ? asker.address : asker.team;
}
