/**
 * Texts of numbers: inbound, outbound, opt-outs, and the person's own phone. Composes its parts. Must not know how numbers are bought or registered.
 */
import type { Op, SharedReader } from '../../../kit/store/shared-store.ts';
import type { ApprovalService } from '../../approvals/index.ts';
import type { EventBackbone } from '../../events/backbone.ts';
import type { PaidSteps } from '../carrier/paid-steps.ts';
import { defaultCountries } from '../e164.ts';
import type { PartDeps, PhonePart } from '../part.ts';
import type {
  CarrierEvent,
  CarrierEventReader,
  Consents,
  HeldNumber,
  InviteProofs,
  Keep,
  NumberHooks,
  Numbers,
  OnStop,
  OptOuts,
} from '../ports.ts';
import type { Replies } from '../registration/replies.ts';
import { followApprovals } from './approval-texts.ts';
import { readInbound, readReceipt } from './carrier-events.ts';
import { createInbound } from './inbound.ts';
import { createOptOuts } from './opt-outs.ts';
import { createOutbound, type OutboundDeps } from './outbound.ts';
import { createOwnPhones } from './own-phone.ts';
import { takeReceipt } from './receipts.ts';
import { reconcileOptOuts } from './reconcile.ts';
import { createRelay, type RelayDeps } from './relay.ts';
import { listRoutes, ownRoutes } from './routes.ts';
import { sendRoute } from './send.ts';
import { createStops } from './stop.ts';
import { cancelWaiting } from './store.ts';

export { phoneTextMigrations } from './migrations.ts';

export interface Texts extends PhonePart {
  readonly optOuts: OptOuts;
  /** The phone that this person has confirmed as their own; null: none. */
  readonly ownPhone: (tx: SharedReader, userId: string) => Op<{ readonly e164: string } | null>;
  readonly hooks: NumberHooks;
  readonly readers: readonly CarrierEventReader[];
  wake(computerId: string): void;
  forgetOld(now: number): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createTexts(
  given: Pick<PartDeps, 'store' | 'clock' | 'ids' | 'log' | 'call' | 'openLanes' | 'fees'> &
    Pick<RelayDeps, 'isLinked' | 'pushDirectly'> & {
      readonly carrier: Pick<PartDeps['carrier'], 'texts'>;
      readonly steps: Pick<PaidSteps, 'run'>;
      readonly numbers: Numbers;
      readonly consents: Pick<Consents, 'basisFor'>;
      readonly invites: Pick<InviteProofs, 'prove'>;
      /** Called in the transaction of each STOP. */
      readonly onStop: readonly OnStop[];
      /** The number's answers to STOP, START and HELP. */
      readonly replies: (number: HeldNumber) => Promise<Replies>;
      readonly limits: OutboundDeps['limits'];
      readonly events: Pick<EventBackbone, 'emit' | 'follow'>;
      readonly approvals: Pick<ApprovalService, 'check' | 'resolve'>;
      readonly admits?: (userId: string) => boolean | Promise<boolean>;
      /** Countries that texts may go to; default US and Canada. */
      readonly countries?: readonly string[];
      /** How long to wait for the carrier's answer; a slower text stays queued. */
      readonly patienceMs?: number;
    },
): Texts {
  const { log, numbers } = given;
  const deps = { ...given, texts: given.carrier.texts, countries: given.countries ?? defaultCountries };
  const optOuts = createOptOuts(deps);
  const stops = createStops({ optOuts, onStop: deps.onStop });
  const own = createOwnPhones({ ...deps, admits: deps.admits ?? (() => true) });
  const blocked: OutboundDeps['blocked'] = (tx, { numberId, peer }, evidence, at) =>
    stops.apply(tx, { numberId, peer, action: 'stop', source: 'carrier', evidence, at });
  const outbound = createOutbound({ ...deps, optOuts, blocked });
  const relay = createRelay(deps);
  const takeText = createInbound({ ...deps, optOuts, stops, own, outbound, relay });
  let stopFollowing = () => {};

  async function received(event: CarrierEvent): Promise<Keep | undefined> {
    const text = readInbound(event);
    if (text === null) {
      log.warn('A text of the carrier cannot be read.', { event: event.id });
      return undefined;
    }
    const number = await numberOf(event, text.to);
    // A valid signature over another number's text: all numbers of an account share the key.
    if (number === null || !text.to.includes(number.e164)) {
      log.warn('A text came for a number that nobody has here.', { event: event.id });
      return undefined;
    }
    return takeText(text, number);
  }

  async function numberOf({ numberId }: CarrierEvent, to: readonly string[]): Promise<HeldNumber | null> {
    if (numberId !== null) return numbers.find(numberId);
    for (const e164 of to) {
      const number = await numbers.byE164(e164);
      if (number !== null) return number;
    }
    return null;
  }

  const reader: CarrierEventReader = {
    prefix: 'message.',
    subject(event) {
      const text = event.type === 'message.received' ? readInbound(event) : null;
      if (text !== null) return `${event.numberId ?? text.to[0]}/${text.from}`;
      return String(event.payload.id ?? event.id);
    },
    async take(event) {
      if (event.type === 'message.received') return received(event);
      const receipt = readReceipt(event);
      if (receipt !== null) await takeReceipt({ ...deps, blocked }, receipt, event.numberId);
      return undefined;
    },
  };

  return {
    optOuts,
    ownPhone: own.confirmed,
    routes: [
      sendRoute({ ...deps, optOuts, outbound }),
      ...listRoutes({ ...deps, optOuts, stops, own }),
      ...ownRoutes({ ...deps, optOuts, stops, own }),
    ],
    readers: [reader],
    hooks: {
      *released(tx, { id }) {
        yield* cancelWaiting(tx, id, null, 'The number was released before it was sent.');
        yield* own.released(tx, id);
      },
    },
    wake: (computerId) => relay.wake(computerId),
    async forgetOld(now) {
      await own.forgetOld(now);
      await reconcileOptOuts({ ...deps, optOuts, stops });
    },
    async start() {
      await outbound.start();
      await relay.start();
      stopFollowing = followApprovals({ ...deps, own, optOuts, outbound });
    },
    async close() {
      stopFollowing();
      await Promise.all([outbound.close(), relay.close()]);
    },
  };
}
