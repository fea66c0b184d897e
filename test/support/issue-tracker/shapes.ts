/** The tracker's events: their names, their arguments, their payloads, and the wrong payloads that it can be set to send. */
import type { DeliveryFault } from './faults.ts';
import type { Happening } from './issues.ts';
import type { Message } from './webhook.ts';

export type Arguments = Readonly<Record<string, unknown>>;

export interface EventShape {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly payloadSchema: Readonly<Record<string, unknown>>;
}

const inputSchema = {
  type: 'object',
  properties: {
    project: { type: 'string', minLength: 1, title: 'Project' },
    labels: { type: 'array', items: { type: 'string' }, title: 'Labels that it has all of' },
    fromNumber: { type: 'number', title: 'Only issues from this number on' },
  },
  required: ['project'],
  additionalProperties: false,
};

const issue = {
  type: 'object',
  properties: {
    number: { type: 'integer', minimum: 1 },
    project: { type: 'string' },
    title: { type: 'string' },
    body: { type: 'string' },
    labels: { type: 'array', items: { type: 'string' } },
    author: { type: 'string' },
    state: { enum: ['open', 'closed'] },
    url: { type: 'string', format: 'uri' },
  },
  required: ['number', 'project', 'title', 'state', 'url'],
};

const comment = {
  type: 'object',
  properties: { author: { type: 'string' }, text: { type: 'string' } },
  required: ['author', 'text'],
};

const payload = (more: Readonly<Record<string, unknown>> = {}) => ({
  type: 'object',
  properties: { issue, ...more },
  required: ['issue', ...Object.keys(more)],
});

/** In the order of their names. */
export const ownEvents: readonly EventShape[] = [
  { name: 'issue.closed', description: 'An issue was closed.', inputSchema, payloadSchema: payload() },
  {
    name: 'issue.commented',
    description: 'Somebody commented on an issue.',
    inputSchema,
    payloadSchema: payload({ comment }),
  },
  { name: 'issue.opened', description: 'An issue was opened.', inputSchema, payloadSchema: payload() },
];

/** Labels asked for must all be there. */
export function matches(asked: { readonly name: string; readonly args: Arguments }, happening: Happening): boolean {
  const { project, labels, fromNumber } = asked.args;
  if (asked.name !== happening.name || (project !== undefined && project !== happening.project)) return false;
  if (Array.isArray(labels) && !labels.every((label) => happening.labels.includes(String(label)))) return false;
  const number = (happening.data.issue as { number?: number } | undefined)?.number;
  return typeof fromNumber !== 'number' || (number !== undefined && number >= fromNumber);
}

/** Bytes: one more than the draft lets a delivery have, with what is around it. */
const tooMuch = 262_144;

/** The message of an event, with what is armed wrong about it. */
export function withFault(
  fault: DeliveryFault | undefined,
  of: {
    readonly subscriptionId: string;
    readonly url: string;
    readonly happening: Happening;
    readonly cursor: string;
    readonly seconds: number;
    readonly sign: (id: string, seconds: number, body: string) => string;
  },
): Message {
  const { happening, cursor } = of;
  const { eventId, name, timestamp, data } = happening;
  const envelope: Record<string, unknown> = { eventId, name, timestamp, data, cursor };
  if (fault === 'oversize') envelope.data = { ...data, filler: 'x'.repeat(tooMuch) };
  if (fault === 'wrong_name') envelope.name = 'issue.exploded';
  if (fault === 'bad_data') envelope.data = { issue: { number: 'seven' } };
  if (fault === 'bad_time') envelope.timestamp = 'yesterday';
  const shift = fault === 'stale' ? -301 : fault === 'from_the_future' ? 360 : 0;
  const seconds = of.seconds + shift;
  const id = fault === 'wrong_id' ? `evt_${'0'.repeat(24)}` : eventId;
  const body = JSON.stringify(envelope);
  const right = of.sign(id, seconds, body);
  return {
    url: of.url,
    subscriptionId: of.subscriptionId,
    id,
    seconds,
    body: fault === 'reserialised' ? JSON.stringify(envelope, null, 1) : body,
    signature: fault === 'unsigned' ? undefined : fault === 'wrong_signature' ? of.sign(id, seconds + 1, body) : right,
  };
}
