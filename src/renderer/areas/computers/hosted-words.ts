/** What happened to a hosted computer, in words. Pure. */
import type { HostedEvent } from '../../../contracts/hosted-computers/computer.ts';
import { actionWords } from './run-words.ts';

const plain: Readonly<Record<HostedEvent['type'], string>> = {
  'computer.created': 'Created',
  'computer.started': 'Started',
  'computer.sleeping': 'Went to sleep',
  'computer.woken': 'Woke up',
  'computer.stopped': 'Stopped',
  'computer.deleted': 'Deleted',
  'computer.failed': 'The computer failed',
  'action.completed': 'Done',
  'action.failed': 'Failed',
  'action.denied': 'Not allowed',
  'approval.required': 'Asks for approval',
  'approval.resolved': 'Approval answered',
  'control.taken': 'Control taken',
  'control.released': 'Control given back',
  'spend_cap.reached': 'Spend cap reached',
};

/** Of members whose words need what was handed in: events of hosted computers do not have it. */
const withoutInput: Readonly<Record<string, string>> = {
  find: 'Look for an element',
  form_input: 'Fill in a field',
  hold_key: 'Hold keys',
  key: 'Press keys',
  navigate: 'Open a page',
  scroll: 'Scroll',
  type: 'Type',
  wait: 'Wait',
};

export function hostedEventWords({ type, data }: HostedEvent): string {
  const words = plain[type];
  const { toolset, member, message, reason } = data;
  const what = typeof member === 'string' ? (withoutInput[member] ?? actionWords(String(toolset), member, {})) : null;
  const why = [message, reason].find((one) => typeof one === 'string');
  return [what === null ? words : `${words}: ${what}`, ...(why === undefined ? [] : [why])].join('. ');
}
