/** The lease of a step that is under way: what renewed it last, when it runs out and what happens then, as data and in words. */
import { z } from 'zod';
import { Time } from '../common/values.ts';

/** What renews a lease, in words. */
export const leaseRenewals = {
  begun: 'the step was handed over',
  output: 'new output',
  hook: 'a hook of its program',
  transcript: 'its transcript',
  tool: 'a tool call',
  model: 'a request to its model',
  typing: 'somebody typed',
  report: 'a report on the step',
  restart: 'its bot was restarted',
} as const;
export type LeaseRenewal = keyof typeof leaseRenewals;

export const leaseStates = ['running', 'paused', 'run_out'] as const;

export const NodeLease = z
  .strictObject({
    heldBy: z.string().meta({ description: 'Address of the bot; "shell" for a command.' }),
    state: z.enum(leaseStates).meta({
      description:
        'paused: its bot starts, waits for a person or a limit, or cannot be read. run_out: a person is needed.',
    }),
    renewedAt: Time,
    renewedBy: z.enum(Object.keys(leaseRenewals) as [LeaseRenewal, ...LeaseRenewal[]]),
    nudgeAt: Time.nullable().meta({
      description: 'When a bot that is silent at its prompt gets its one message; null: none will be sent.',
    }),
    nudged: z.boolean().meta({ description: 'The one message was sent.' }),
    runsOutAt: Time.nullable().meta({ description: 'Null: never, or not while it is paused or has run out.' }),
  })
  .meta({ id: 'NodeLease' });
export type NodeLease = z.infer<typeof NodeLease>;

/** What is known of its last sign of activity, and what happens next; a sentence or two each. */
export function leaseWords(lease: NodeLease, now: number): { readonly last: string; readonly next: string } {
  const ago = now - Date.parse(lease.renewedAt);
  const when = ago < 10_000 ? 'just now' : `${spanOf(ago)} ago`;
  return { last: `Renewed ${when}: ${leaseRenewals[lease.renewedBy]}.`, next: nextOf(lease, now) };
}

function nextOf({ heldBy, state, nudgeAt, nudged, runsOutAt }: NodeLease, now: number): string {
  if (state === 'run_out') return 'It has run out, and the step needs you.';
  if (state === 'paused') {
    return 'Its time does not run while the bot starts, asks you, waits for a limit or cannot be read.';
  }
  if (runsOutAt === null) return 'It never runs out: the template sets no time.';
  const then = `It runs out ${inTime(Date.parse(runsOutAt) - now)} without activity. Then Gantry looks what is there, and the step needs you.`;
  if (heldBy === 'shell') return then;
  if (nudged) return `Gantry has asked the bot once how far it is. ${then}`;
  if (nudgeAt === null) return then;
  return `${then} Before that, ${inTime(Date.parse(nudgeAt) - now)}, Gantry asks the bot once, if it is at its prompt.`;
}

const inTime = (ms: number): string => (ms < 1000 ? 'at any moment' : `in ${spanOf(ms)}`);

/** `40 seconds`, `20 minutes`, `3 hours`. */
function spanOf(ms: number): string {
  const many = (n: number, unit: string) => `${n} ${unit}${n === 1 ? '' : 's'}`;
  if (ms < 120_000) return many(Math.round(ms / 1000), 'second');
  return ms < 7_200_000 ? many(Math.round(ms / 60_000), 'minute') : many(Math.round(ms / 3_600_000), 'hour');
}
