/** The factory event stream. Envelope `{type, at, data}`; ids are ledger ids. */
import { z } from 'zod';
import { Approval } from '../approvals/approval.ts';
import { Time } from '../common/values.ts';
import { AgentState, HarnessName, PaneRef } from './agent.ts';
import { Delivery } from './delivery.ts';
import { NodeCauseName, NodeStatus } from './node.ts';

/** Data by event type. Types of later parts are added here with the part that raises them. */
export const factoryEvents = {
  /** Live only: never has an id, never replayed. */
  'agent.state': z.strictObject({ agentId: z.string(), state: AgentState, pane: PaneRef.nullable() }),
  delivery: Delivery,
  'team.changed': z.strictObject({
    team: z.string(),
    change: z.enum(['up', 'down', 'file', 'invalid']),
    agents: z.array(z.string()),
  }),
  /** A bot was started again with another account, because of a usage limit. */
  'agent.account': z.strictObject({
    agentId: z.string(),
    program: HarnessName,
    from: z.string().meta({ description: '"default": its person’s own sign-in.' }),
    to: z.string(),
    resumed: z.boolean().meta({ description: 'It continues the same conversation; otherwise it began a new one.' }),
    paidBy: z.enum(['subscription', 'key']).nullable().meta({ description: 'The new account; null: unknown.' }),
  }),
  /** Files that decide what may run wait for their person's yes, or were answered. */
  'trust.changed': z.strictObject({ waits: z.array(z.string()) }),
  'node.status': z.strictObject({
    dagId: z.string(),
    nodeId: z.string(),
    title: z.string().optional().meta({ description: 'Of the step; absent in events of older versions.' }),
    cause: NodeCauseName,
    status: NodeStatus,
  }),
  'proof.recorded': z.strictObject({
    dagId: z.string(),
    nodeId: z.string(),
    title: z.string().optional().meta({ description: 'Of the step; absent in events of older versions.' }),
    outcome: z.enum(['proven', 'rejected']),
  }),
  /** Only in the cloud API's stream, with separate ids (`approvalEventId`), never replayed. */
  'approval.requested': Approval,
  'approval.resolved': Approval,
} as const;

export type FactoryEventType = keyof typeof factoryEvents;
export type FactoryEventData<T extends FactoryEventType> = z.infer<(typeof factoryEvents)[T]>;

export const EventEnvelope = z
  .strictObject({ type: z.string(), at: Time, data: z.unknown() })
  .meta({ id: 'EventEnvelope' });
export type EventEnvelope = z.infer<typeof EventEnvelope>;

/** Event `reset` instead of a partial replay when a cursor is unknown or from another engine: re-read everything. */
export const ResetEvent = z
  .strictObject({ type: z.literal('reset'), at: Time, data: z.strictObject({ reason: z.string() }) })
  .meta({ id: 'ResetEvent' });

/** Event `closing`: the last one of any stream when its server stops. */
export const ClosingEvent = z.strictObject({ reason: z.string() });
