/** What happened to a hosted computer, in words. Pure. */
import type { HostedEvent } from '../../../contracts/hosted-computers/computer.ts';
import { actionWords } from './run-words.ts';

const plain: Readonly<Record<HostedEvent['type'], string>> = {
  'computer.created': 'It was made',
  'computer.started': 'It started',
  'computer.sleeping': 'It fell asleep',
  'computer.woken': 'It woke',
  'computer.stopped': 'It stopped',
  'computer.deleted': 'It was deleted',
  'computer.failed': 'It could not go on',
  'action.completed': 'Done',
  'action.failed': 'Failed',
  'action.denied': 'Not allowed',
  'approval.required': 'It asks you',
  'approval.resolved': 'It was answered',
  'control.taken': 'Control was taken',
  'control.released': 'Control was given back',
  'spend_cap.reached': 'The spend cap is reached',
};

/** Of members whose words need what was handed in: events of hosted computers do not have it. */
const withoutInput: Readonly<Record<string, string>> = {
  find: 'Look for an element',
  form_input: 'Fill a field in',
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
