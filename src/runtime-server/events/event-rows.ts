/** Reads rows of the ledger as events. Each row is written together with the state that it describes. */
import type { FactoryEventData, FactoryEventType } from '../../contracts/factory/events.ts';
import type { LedgerRow } from '../../kit/ledger/ledger.ts';

type FactoryEvent = {
  readonly [T in LedgerEventType]: { readonly type: T; readonly at: string; readonly data: FactoryEventData<T> };
}[LedgerEventType];
/** States are live only, and approvals belong to the cloud API. */
type LedgerEventType = Exclude<FactoryEventType, 'agent.state' | 'approval.requested' | 'approval.resolved'>;

/** Ledger types that become events: the event they become, and its data in the row's body. */
const eventOf: Readonly<Record<string, { type: LedgerEventType; data: (body: LedgerRow['body']) => unknown }>> = {
  'delivery.accepted': { type: 'delivery', data: (body) => body.delivery },
  delivery: { type: 'delivery', data: (body) => body.delivery },
  'team.changed': { type: 'team.changed', data: (body) => body.change },
  'agent.account_changed': { type: 'agent.account', data: (body) => body.change },
  'trust.changed': { type: 'trust.changed', data: (body) => body.change },
  'node.status': {
    type: 'node.status',
    data: ({ dagId, nodeId, title, cause, status }) => ({ dagId, nodeId, title, cause, status }),
  },
  'proof.recorded': {
    type: 'proof.recorded',
    data: ({ dagId, nodeId, title, outcome }) => ({ dagId, nodeId, title, outcome }),
  },
};
export const eventRowTypes: readonly string[] = Object.keys(eventOf);

/** The event of a ledger row, or null for a row without one. This program wrote the row, so its body is valid. */
export function eventOfRow(row: LedgerRow): FactoryEvent | null {
  const event = eventOf[row.type];
  return event === undefined ? null : ({ type: event.type, at: row.at, data: event.data(row.body) } as FactoryEvent);
}
