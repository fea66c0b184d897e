/** All state of the simulated carrier, as plain data: stored, exported and imported unchanged. */
import { newPrivateKey } from './signature.ts';

export const speeds = ['instant', 'realistic', 'paused'] as const;
export type Speed = (typeof speeds)[number];

export interface SimNumber {
  readonly id: string;
  readonly e164: string;
  readonly type: 'local' | 'toll_free';
  status: 'purchase-pending' | 'port-pending' | 'active' | 'deleted' | 'ported-out';
  profileId: string | null;
  connectionId: string | null;
  readonly source: 'number_order' | 'port_request';
  readonly reference: string | null;
  readonly boughtAt: string;
  tags: string[];
}

export interface SimOrder {
  readonly id: string;
  readonly e164s: readonly string[];
  readonly reference: string | null;
  readonly profileId: string | null;
  readonly connectionId: string | null;
  status: 'pending' | 'success' | 'failure';
  readonly createdAt: string;
}

export interface SimProfile {
  readonly id: string;
  name: string;
  webhookUrl: string | null;
  failoverUrl: string | null;
  destinations: string[];
  enabled: boolean;
  readonly createdAt: string;
}

export interface SimAutoResponse {
  readonly id: string;
  readonly profileId: string;
  op: 'start' | 'stop' | 'info';
  keywords: string[];
  text: string;
  country: string;
  readonly createdAt: string;
}

interface SimOptOut {
  readonly profileId: string;
  /** The person who said it. */
  readonly from: string;
  /** The number that received it. */
  readonly to: string;
  readonly keyword: string;
  readonly at: string;
}

export interface SimText {
  readonly id: string;
  readonly direction: 'inbound' | 'outbound';
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly parts: number;
  readonly encoding: string;
  readonly media: readonly { readonly url: string; readonly content_type: string; readonly size: number }[];
  status: string;
  errors: { code: string; title: string; detail: string }[];
  readonly profileId: string | null;
  readonly webhookUrl: string | null;
  readonly tags: readonly string[];
  /** The carrier's automatic answers, and its own texts. */
  readonly own: boolean;
  readonly at: string;
}

export interface SimBrand {
  readonly id: string;
  readonly tcrId: string;
  /** As submitted, and corrected. */
  asked: Record<string, unknown>;
  status: 'OK' | 'REGISTRATION_PENDING' | 'REGISTRATION_FAILED';
  identity: 'VERIFIED' | 'UNVERIFIED' | 'SELF_DECLARED' | 'VETTED_VERIFIED';
  reasons: { fields: string[]; description: string; category: string }[];
  /** For a sole proprietor. */
  code: { pin: string; reference: string; sentAt: number; tries: number; verifiedAt: number | null } | null;
  readonly createdAt: string;
}

export interface SimCampaign {
  /** Networks continue to deliver while a change of an active one is reviewed. */
  inUse?: boolean;
  readonly id: string;
  readonly tcrId: string;
  readonly brandId: string;
  asked: Record<string, unknown>;
  state: string;
  status: 'ACTIVE' | 'EXPIRED' | 'DORMANT';
  reason: string | null;
  readonly createdAt: string;
}

export interface SimAssignment {
  readonly e164: string;
  campaignId: string;
  status: 'PENDING_ASSIGNMENT' | 'ASSIGNED' | 'FAILED_ASSIGNMENT' | 'PENDING_UNASSIGNMENT' | 'FAILED_UNASSIGNMENT';
  reason: string | null;
  readonly createdAt: string;
}

export interface SimTollFree {
  readonly id: string;
  /** It was verified once: the number keeps texting while a change is reviewed. */
  inUse?: boolean;
  asked: Record<string, unknown>;
  status:
    | 'In Progress'
    | 'Waiting For Telnyx'
    | 'Waiting For Vendor'
    | 'Waiting For Customer'
    | 'Verified'
    | 'Rejected';
  reason: string | null;
  readonly createdAt: string;
}

export interface SimPort {
  readonly id: string;
  e164s: string[];
  readonly reference: string | null;
  state:
    | 'draft'
    | 'in-process'
    | 'submitted'
    | 'exception'
    | 'foc-date-confirmed'
    | 'ported'
    | 'cancelled'
    | 'cancel-pending';
  messaging:
    | 'not_applicable'
    | 'pending'
    | 'activating'
    | 'exception'
    | 'canceled'
    | 'partial_port_complete'
    | 'ported';
  problems: { code: string; description: string }[];
  /** End user, documents, configuration: as submitted. */
  asked: Record<string, unknown>;
  /** A PIN that the other carrier has refused, and will refuse again. */
  refusedPin: string | null;
  readyOn: string | null;
  readonly createdAt: string;
}

export interface SimLeg {
  /** call_control_id */
  readonly id: string;
  readonly legId: string;
  readonly sessionId: string;
  /** From the carrier's side: `incoming` comes from a handset, `outgoing` goes to one. */
  readonly direction: 'incoming' | 'outgoing';
  readonly from: string;
  readonly to: string;
  readonly connectionId: string;
  readonly webhookUrl: string | null;
  clientState: string | null;
  state: 'ringing' | 'talking' | 'held' | 'ended';
  bridgedWith: string | null;
  /** The leg that it was dialled for by `transfer`: bridged once it answers. */
  readonly transferOf: string | null;
  /** It waits for keys: how many, and those pressed. */
  gathering: { id: string; most: number; pressed: string } | null;
  readonly detect: boolean;
  readonly heard: string[];
  cause: string | null;
  /** Ids of commands that were carried out. */
  readonly commands: string[];
  readonly startedAt: string;
  answeredAt: string | null;
  endedAt: string | null;
}

interface SimHandset {
  readonly e164: string;
  name: string;
}

interface Charge {
  readonly at: string;
  /** `brand`, `campaign`, `number`, … */
  readonly what: string;
  readonly amount: number;
  readonly ref: string;
}

/** A later job of the carrier. `dueAt` counts in its own time, milliseconds. */
export interface Job {
  readonly id: string;
  readonly kind: string;
  /** For people. */
  readonly what: string;
  readonly args: Readonly<Record<string, string>>;
  readonly dueAt: number;
  /** Waits its time even at the instant speed: a person's patience, not the carrier's. */
  readonly patient: boolean;
}

export interface Posting {
  readonly id: string;
  readonly eventId: string;
  readonly type: string;
  readonly url: string;
  readonly body: string;
  attempt: number;
  state: 'waiting' | 'held' | 'delivered' | 'given-up';
  readonly as: 'good' | 'forged' | 'old' | 'changed';
  answer: string | null;
  readonly at: string;
}

export interface SimFault {
  readonly id: string;
  readonly name: string;
  /** Where it strikes: an operation, an event's type, or its subject. */
  readonly on: string | null;
  times: number;
  readonly given: Readonly<Record<string, unknown>>;
}

interface LogLine {
  readonly at: string;
  readonly what: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface State {
  readonly v: 1;
  privateKey: string;
  seed: string;
  sequence: number;
  speed: Speed;
  /** The carrier's own clock: how far it is ahead, and where it stands still. */
  ahead: number;
  frozenAt: number | null;
  webhookUrl: string | null;
  account: { balance: number; level: number };
  charges: Charge[];
  numbers: Record<string, SimNumber>;
  orders: Record<string, SimOrder>;
  profiles: Record<string, SimProfile>;
  autoResponses: SimAutoResponse[];
  optOuts: SimOptOut[];
  texts: SimText[];
  brands: Record<string, SimBrand>;
  campaigns: Record<string, SimCampaign>;
  assignments: Record<string, SimAssignment>;
  tollFree: Record<string, SimTollFree>;
  ports: Record<string, SimPort>;
  documents: Record<string, { name: string; size: number }>;
  legs: Record<string, SimLeg>;
  handsets: SimHandset[];
  jobs: Job[];
  postings: Posting[];
  faults: SimFault[];
  log: LogLine[];
}

/** The people at the start, with reserved numbers (555-01xx belong to nobody). */
const people: readonly SimHandset[] = [
  { e164: '+12025550101', name: 'Ada' },
  { e164: '+12025550102', name: 'Ben' },
  { e164: '+12025550104', name: 'Chloe' },
];

export function emptyState(): State {
  return {
    v: 1,
    privateKey: newPrivateKey(),
    seed: '',
    sequence: 0,
    speed: 'realistic',
    ahead: 0,
    frozenAt: null,
    webhookUrl: null,
    account: { balance: 10_000, level: 2 },
    charges: [],
    numbers: {},
    orders: {},
    profiles: {},
    autoResponses: [],
    optOuts: [],
    texts: [],
    brands: {},
    campaigns: {},
    assignments: {},
    tollFree: {},
    ports: {},
    documents: {},
    legs: {},
    handsets: people.map((person) => ({ ...person })),
    jobs: [],
    postings: [],
    faults: [],
    log: [],
  };
}
