/** The interface of each part of the phone, the dependencies that every part gets, and the usual limits. Must not know which parts there are. */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { BoundRoute, OwnerLookups } from '../../kit/http/types.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { LaneItem, SharedLaneOutcome, SharedLanes } from '../../kit/lane/lane.ts';
import type { Log } from '../../kit/log/log.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import type { Asked, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import type { ApprovalService } from '../approvals/index.ts';
import type { EventBackbone } from '../events/backbone.ts';
import type { Notifications } from '../notifications/index.ts';
import type { RecordUsage } from '../usage/index.ts';
import type { Carrier } from './carrier/port.ts';
import type { Fees } from './fees.ts';
import type { CarrierEventReader, NumberHooks } from './ports.ts';

export interface CallLimits {
  /** Simultaneous calls of one person, in both directions. */
  readonly maxConcurrent: number;
  /** Calls out of one number in 24 hours, including those that transfers make. */
  readonly perDay: number;
  readonly maxCallMs: number;
}

export const defaultCallLimits: CallLimits = { maxConcurrent: 5, perDay: 100, maxCallMs: 4 * 60 * 60_000 };

/** How many texts a number may send; a sole proprietor's limits are lower. */
export interface TextLimits {
  readonly perDay: number;
  /** Null: as fast as the carrier accepts them. */
  readonly perMinute: number | null;
}

export interface NumberLimits {
  readonly standard: TextLimits;
  readonly soleProprietor: TextLimits;
}

/** In any 24 hours. Settings can change these. */
export const numberLimits: NumberLimits = {
  standard: { perDay: 1000, perMinute: null },
  soleProprietor: { perDay: 200, perMinute: 15 },
};

export interface PhonePart {
  readonly routes: readonly BoundRoute[];
  readonly owners?: OwnerLookups;
  readonly hooks?: NumberHooks;
  readonly readers?: readonly CarrierEventReader[];
  /** The computer answers again: sends its waiting rows at once. */
  wake?(computerId: string): void;
  pairingEnded?(computerId: string): Promise<void>;
  /** Once a day over all replicas. */
  forgetOld?(now: number): Promise<void>;
  start?(): Promise<void> | void;
  close?(): Promise<void> | void;
}

/** Calls a computer's runtime as the cloud, signed with its device's key. Throws if the runtime cannot be reached. */
export type CallComputer = (
  computerId: string,
  request: { readonly method: string; readonly path: string; readonly body: unknown; readonly signal: AbortSignal },
) => Promise<{ readonly status: number; readonly body: unknown }>;

/** Lanes with a name of their own over the phone's store. */
export type OpenPhoneLanes = (how: {
  readonly name: string;
  readonly send: (item: LaneItem, signal: AbortSignal) => Promise<SharedLaneOutcome>;
  readonly onExpired?: (tx: SharedTx, item: LaneItem) => Asked<unknown>;
  readonly gate?: (lane: string) => string | null;
  readonly backoffMs?: readonly number[];
  readonly parallel?: number;
}) => SharedLanes;

/** The result of {@link Computers.find}. `hosted`: a hosted computer, which holds no bots of the person. */
interface FoundComputer {
  readonly id: string;
  readonly kind: 'runtime' | 'hosted';
}

interface PhoneComputers {
  /** By any of its ids; null: unknown, or another person's. */
  find(userId: string, id: string): Promise<FoundComputer | null>;
  /** The person who has a computer now; null: nobody. */
  ownerOf(computerId: string): Promise<string | null>;
}

export interface PhoneDeps {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Seals relay addresses, EINs and the data for ports. */
  readonly sealer: Sealer;
  /** Address of the pages that people open, without a slash at the end. */
  readonly origin: string;
  /** Address at which the carrier reaches this cloud, without a slash at the end. */
  readonly webhookOrigin: string;
  /** The carrier's Ed25519 key, base64 of 32 bytes. */
  readonly publicKey: string;
  /** The client address of a request, also behind a proxy. */
  readonly addressOf: (request: IncomingMessage) => string;
  readonly users: { find(userId: string): Promise<{ readonly plan: string; readonly name: string } | null> };
  readonly computers: PhoneComputers;
  readonly call: CallComputer;
  readonly openLanes: OpenPhoneLanes;
  readonly events: Pick<EventBackbone, 'emit' | 'follow'>;
  readonly pushDirectly: Notifications['pushDirectly'];
  /** Whether a computer is linked, at any replica. */
  readonly isLinked: (computerId: string) => boolean | Promise<boolean>;
  readonly approvals: Pick<ApprovalService, 'check' | 'resolve'>;
  /** Adds the carrier's fees to the person's usage. */
  readonly recordUsage: RecordUsage;
  /** Whether this person may act at all. */
  readonly admits: (userId: string) => boolean | Promise<boolean>;
  /** Default: `numberLimits`. */
  readonly textLimits?: NumberLimits;
  /** Absent: the defaults. */
  readonly callLimits?: CallLimits;
}

/** For a part that is only made if there is a carrier. */
export interface PartDeps extends Omit<PhoneDeps, 'recordUsage'> {
  readonly carrier: Carrier;
  readonly fees: Fees;
}
