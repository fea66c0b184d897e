/**
 * Direct pushes of messages from a channel address. Only a computer that has never forwarded an event gets them, since the sink pushes the events of
 * any other; while the sink is not working, every computer gets them. Follows the preference of `message.received`; the limits are the sink's.
 */
import type { EventData } from '../../contracts/events/registry.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { Op, SharedReader, SharedTx } from '../../kit/store/shared-store.ts';
import { buildNotification, messageTag } from './build.ts';
import type { Pace } from './pace.ts';
import type { PreferenceStore } from './preferences.ts';
import type { PushQueue } from './push-queue.ts';
import type { QuietStore } from './quiet.ts';

export interface DirectMessage {
  readonly userId: string;
  /** The computer that the message was relayed to. */
  readonly computerId: string;
  readonly message: EventData<'message.received'>;
}

/** `left`: the sink will push it. `unreachable`: there is no device. */
type DirectOutcome = 'pushed' | 'left' | 'off' | 'unreachable';

/** In the transaction that records the relayed message, so that it is pushed once. */
export type PushDirectly = (tx: SharedTx, message: DirectMessage) => Op<DirectOutcome>;

const deviceRetentionMs = 24 * 60 * 60_000;
const triedMs = 12 * 60 * 60_000;

export function createDirectPush(deps: {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly forwards: (tx: SharedReader, computerId: string) => Op<boolean>;
  readonly sinkWorks: () => boolean;
  readonly preferences: Pick<PreferenceStore, 'enabled'>;
  readonly quiet: Pick<QuietStore, 'holdsBack'>;
  readonly pace: Pace;
  readonly pushQueue: Pick<PushQueue, 'queue'>;
  readonly pushConfigured: boolean;
}): PushDirectly {
  const { clock, pace } = deps;
  return function* (tx, { userId, computerId, message }) {
    if (deps.sinkWorks() && (yield* deps.forwards(tx, computerId))) return 'left';
    if (!(yield* deps.preferences.enabled(tx, userId, 'message.received'))) return 'off';
    if (!deps.pushConfigured) return 'unreachable';
    const held = { userId, type: 'message.received', botId: message.botId ?? null } as const;
    if (yield* deps.quiet.holdsBack(tx, held)) return 'off';
    const payload = buildNotification({ type: 'message.received', data: message });
    const now = clock.now();
    const times = { until: now + deviceRetentionMs, deadline: now + triedMs };
    const id = deps.ids.next('direct');
    const push = { id, eventId: null, userId, payload, ...times };
    if ((yield* deps.pushQueue.queue(tx, push)) === 0) return 'unreachable';
    yield* pace.told(tx, userId, messageTag(message), true);
    return 'pushed';
  };
}
