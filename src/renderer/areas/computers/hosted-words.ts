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

export function hostedEventWords({ type, data }: HostedEvent): string {
  const words = plain[type];
  const { toolset, member, message, reason, input } = data;
  const shown = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
  const what = typeof member === 'string' ? actionWords(String(toolset), member, shown) : null;
  const why = [message, reason].find((one) => typeof one === 'string');
  return [what === null ? words : `${words}: ${what}`, ...(why === undefined ? [] : [why])].join('. ');
}
