/**
 * The backbone with its route for computers. Each event that a computer forwards is checked against the registry on its
 * own, so that a bad one is refused without holding up the rest. Must not know who reads.
 */

import type { RouteAnswer } from '../../contracts/common/route.ts';
import type { NotifiableEvent } from '../../contracts/events/registry.ts';
import { findNotifiable } from '../../contracts/events/registry.ts';
import { ForwardedEvent, forwardEvents } from '../../contracts/events/routes.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import { type BackboneDeps, createEventBackbone, type EventBackbone, type NewEvent } from './backbone.ts';

export type { EventBackbone } from './backbone.ts';
export { eventMigrations } from './migrations.ts';

type Refusal = RouteAnswer<typeof forwardEvents>['refused'][number];
type Checked =
  | { readonly event: Pick<NewEvent, 'type' | 'sourceId' | 'occurredAt' | 'data'> }
  | { readonly refused: Refusal };

interface Events {
  readonly backbone: EventBackbone;
  readonly routes: readonly BoundRoute[];
  /** Removes what is older than the retention. */
  forgetOld(now: number): Promise<void>;
}

/** As long as approvals, which events refer to. */
const retentionMs = 90 * 24 * 60 * 60_000;

export function createEvents(deps: BackboneDeps): Events {
  const backbone = createEventBackbone(deps);
  return {
    backbone,
    routes: [
      bind(forwardEvents, async ({ principal, body }) => {
        // The authenticator of devices always names the computer that signed.
        const from = { userId: principal.userId, computerId: principal.computerId ?? '' };
        const checked = body.events.map(check);
        const accepted = await deps.store.write(function* (tx) {
          const events = checked.flatMap((one) => ('event' in one ? [one.event] : []));
          if (events.length > 0) yield* backbone.forwarded(tx, from.computerId);
          let fresh = 0;
          for (const event of events) if (yield* backbone.emit(tx, { ...from, ...event })) fresh += 1;
          return fresh;
        });
        return { body: { accepted, refused: checked.flatMap((one) => ('refused' in one ? [one.refused] : [])) } };
      }),
    ],
    forgetOld: (now) => backbone.forget(now - retentionMs),
  };
}

function check(given: unknown, index: number): Checked {
  const parsed = ForwardedEvent.safeParse(given);
  if (!parsed.success) {
    const id = (given as { id?: unknown } | null)?.id;
    const message = sentence(parsed.error.issues);
    return { refused: { index, id: typeof id === 'string' ? id.slice(0, 200) : null, error: 'bad_event', message } };
  }
  const { id, type, at, data } = parsed.data;
  const known = findNotifiable(type);
  if (known === null || known.cloudOnly) {
    const message = `${JSON.stringify(type)} is not an event type that a computer forwards.`;
    return { refused: { index, id, error: 'unknown_event', message } };
  }
  const payload = known.payload.safeParse(data);
  if (!payload.success) {
    return { refused: { index, id, error: 'bad_payload', message: sentence(payload.error.issues) } };
  }
  // The registry has checked that the data fits its type.
  const checked = payload.data as NewEvent<NotifiableEvent>['data'];
  return { event: { type: known.type, sourceId: id, occurredAt: Date.parse(at), data: checked } };
}

function sentence(issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]): string {
  return `${issues
    .slice(0, 3)
    .map((issue) => [...issue.path.map(String), issue.message].join(': '))
    .join('; ')}.`;
}
