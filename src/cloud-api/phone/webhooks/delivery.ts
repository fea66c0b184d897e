/**
 * Delivers the carrier's events to their readers: one lane for each subject, in order, for 24 hours. Owns retries and giving up; must not know
 * signatures, or what an event means.
 */
import type { Clock } from '../../../kit/clock/clock.ts';
import type { LaneItem, SharedLaneOutcome } from '../../../kit/lane/lane.ts';
import { createReceipts, type Receipts, type Seen } from '../../../kit/receipts/receipts.ts';
import type { Op, SharedStore, SharedTx } from '../../../kit/store/shared-store.ts';
import type { PhoneDeps } from '../part.ts';
import type { CarrierEvent, CarrierEventReader } from '../ports.ts';

/** Waits after the 1st, 2nd … attempt; the last one repeats. */
const readingBackoffMs = [1_000, 5_000, 15_000, 60_000, 300_000];
const retentionMs = 24 * 60 * 60_000;
/** Limit for one subject, so that senders cannot fill the disk. */
const maxWaiting = 10_000;
/** From this attempt on, a failing event is logged. */
const toldFrom = 3;

export interface Delivery {
  /** The reader by the beginning of its type; null: nobody reads it. */
  readerOf(type: string): CarrierEventReader | null;
  /** Its lane within its subject. */
  laneOf(reader: CarrierEventReader, event: CarrierEvent): string;
  isFull(lane: string): boolean;
  /** Resolves once its receipt and the row that delivers it are durable. */
  take(lane: string, id: string, event: CarrierEvent): Promise<Seen>;
  forgetOld: Receipts['forgetOld'];
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createDelivery({
  store,
  clock,
  readers,
  openLanes,
  log,
}: Pick<PhoneDeps, 'openLanes' | 'log'> & {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly readers: readonly CarrierEventReader[];
}): Delivery {
  const lanes = openLanes({ name: 'webhooks', send, onExpired, backoffMs: readingBackoffMs });
  const receipts = createReceipts(store, 'phone_webhook_receipt', lanes);

  const readerOf = (type: string) => readers.find(({ prefix }) => type.startsWith(prefix)) ?? null;

  async function send({ body, attempt }: LaneItem, signal: AbortSignal): Promise<SharedLaneOutcome> {
    const event = body as CarrierEvent;
    try {
      const commit = await readerOf(event.type)?.take(event, signal);
      return typeof commit === 'function' ? { to: 'done', commit } : { to: 'done' };
    } catch (error) {
      // The error's words are left out: they may quote the event.
      if (attempt >= toldFrom && !signal.aborted) {
        log.warn('An event of the carrier does not get through; it is brought again.', { ...nameOf(event), attempt });
      }
      throw error;
    }
  }

  function* onExpired(tx: SharedTx, { id, body }: LaneItem): Op<void> {
    // Nobody read it, so it counts as new when it is sent again.
    yield* tx.run('DELETE FROM phone_webhook_receipt WHERE id = ?', id);
    tx.afterCommit(() =>
      log.error('An event of the carrier was given up after 24 hours.', nameOf(body as CarrierEvent)),
    );
  }

  return {
    readerOf,
    laneOf: (reader, event) => `${reader.prefix} ${reader.subject(event)}`,
    isFull: (lane) => lanes.depth(lane) >= maxWaiting,
    take(lane, id, event) {
      const now = clock.now();
      return receipts.take({ receipt: { id, seen_at: now }, item: { lane, body: event, deadline: now + retentionMs } });
    },
    forgetOld: receipts.forgetOld,
    start: () => lanes.start(),
    close: () => lanes.close(),
  };
}

const nameOf = ({ id, type, numberId }: CarrierEvent) => ({ id, type, numberId });
