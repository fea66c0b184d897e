/**
 * The phone's port to a carrier, in the phone's own words: its consumer defines it. One adapter speaks Telnyx's wire; the simulator speaks the same
 * wire from the other side. Nothing here retries: the caller that pays for a step guards it ({@link import('./paid-steps.ts')}).
 */
import type { PortDetails } from '../../../contracts/phone/number.ts';
import type { NumberType, PortMessagingState, PortState } from '../../../contracts/phone/values.ts';

/**
 * Why the carrier did not do it.
 *
 * `details`: an error in the person's input; `fields` names it in the carrier's words. `service`: on our side or the carrier's: money, level, key,
 * rate, outage. `unknown`: it may have been done: no answer, or a broken one. `taken`: the number is no longer for sale. `opted_out`: the carrier's
 * own list says STOP. `destination`: that number cannot be reached from here. `content`: the words of the text. `not_found`, `gone` (a call that has
 * ended), `wrong_pin`.
 */
export type CarrierFaultKind =
  | 'details'
  | 'service'
  | 'unknown'
  | 'taken'
  | 'opted_out'
  | 'destination'
  | 'content'
  | 'not_found'
  | 'gone'
  | 'wrong_pin';

export class CarrierFault extends Error {
  readonly kind: CarrierFaultKind;
  /** The carrier's own code, for example `40300`; `''` if it gave none. */
  readonly code: string;
  readonly fields: readonly string[];
  /** Seconds, if the carrier said so. */
  readonly retryAfter: number | null;

  constructor(
    kind: CarrierFaultKind,
    message: string,
    more: { code?: string; fields?: readonly string[]; retryAfter?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.name = 'CarrierFault';
    this.kind = kind;
    this.code = more.code ?? '';
    this.fields = more.fields ?? [];
    this.retryAfter = more.retryAfter ?? null;
  }
}

/** The connection failed, so nothing was done. The carrier's codes are numbers, the system's are words. */
export const isUnreached = ({ kind, code }: CarrierFault): boolean => kind === 'service' && !/^\d+$/.test(code);

export interface CarrierOffer {
  readonly e164: string;
  readonly type: NumberType;
  readonly locality: string | null;
  /** `1.00 USD`. */
  readonly monthlyCost: string | null;
  /** Once, when it is bought. */
  readonly upfrontCost: string | null;
}

export interface SearchAsked {
  readonly country: string;
  readonly type: NumberType;
  readonly areaCode?: string | undefined;
  readonly locality?: string | undefined;
  readonly limit: number;
}

export interface NumberOrder {
  readonly orderId: string;
  readonly state: 'pending' | 'done' | 'failed';
  /** Why it failed. */
  readonly reason: string | null;
}

/** One for each number, so that the carrier's own opt-out list is the number's. */
interface ProfileAsked {
  /** Unique; finds it again. */
  readonly name: string;
  /** The relay address, whole. */
  readonly webhookUrl: string;
  readonly destinations: readonly string[];
}

export interface CarrierNumbers {
  search(asked: SearchAsked): Promise<readonly CarrierOffer[]>;
  /** `key` comes back as customer_reference. Throws `taken`. */
  order(asked: { readonly e164: string; readonly profileId: string; readonly key: string }): Promise<NumberOrder>;
  findOrder(key: string): Promise<NumberOrder | null>;
  readOrder(orderId: string): Promise<NumberOrder>;
  /** For a number that is ours. */
  find(e164: string): Promise<{ readonly id: string; readonly status: string } | null>;
  /** The last monthly cost of each number: `1.00 USD` by number. Includes ported numbers, which no search prices. */
  monthlyCosts(now: number): Promise<ReadonlyMap<string, string>>;
  /** Gives it up: its monthly fee ends. Succeeds if it is gone already. */
  release(numberId: string): Promise<void>;
  createProfile(asked: ProfileAsked): Promise<{ readonly id: string }>;
  findProfile(name: string): Promise<{ readonly id: string } | null>;
  /** The carrier's automatic answers to STOP, START and HELP. */
  setAutoResponses(profileId: string, words: { stop: string; start: string; help: string }): Promise<void>;
  assignProfile(numberId: string, profileId: string): Promise<void>;
  deleteProfile(profileId: string): Promise<void>;
}

export interface CarrierPortOrder {
  readonly orderId: string;
  readonly e164s: readonly string[];
  readonly state: PortState;
  readonly messaging: PortMessagingState;
  readonly problems: readonly { readonly code: string; readonly text: string }[];
  /** RFC 3339, or null. */
  readonly readyOn: string | null;
}

export interface CarrierPorts {
  check(e164: string): Promise<{ readonly portable: boolean; readonly reason: string | null }>;
  /** Drafts; the carrier may split them. `key` is the customer_reference. */
  create(asked: { readonly e164: string; readonly key: string }): Promise<readonly CarrierPortOrder[]>;
  findByKey(key: string): Promise<readonly CarrierPortOrder[]>;
  read(orderId: string): Promise<CarrierPortOrder>;
  /** Documents are uploaded first. */
  update(
    orderId: string,
    given: { readonly details: PortDetails; readonly profileId: string; readonly webhookUrl: string },
  ): Promise<CarrierPortOrder>;
  confirm(orderId: string): Promise<CarrierPortOrder>;
  cancel(orderId: string): Promise<void>;
}

/** In the words of the carriers' registry, if it has some. */
export interface BrandAsked {
  readonly entityType: string;
  readonly displayName: string;
  readonly companyName?: string;
  readonly ein?: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly email: string;
  readonly phone?: string;
  readonly mobilePhone?: string;
  readonly street?: string;
  readonly city?: string;
  readonly state?: string;
  readonly postalCode?: string;
  readonly country: string;
  readonly website?: string;
  readonly vertical: string;
  readonly stockSymbol?: string;
  readonly stockExchange?: string;
  readonly businessContactEmail?: string;
  readonly webhookUrl: string;
  /** Identifies this filing: it finds the result after a time-out, and never an earlier brand of the same business. */
  readonly key?: string;
}

export interface Brand {
  readonly brandId: string;
  /** `pending` also for unknown words. `failed`: the business's own details; see `problems`. */
  readonly state: 'pending' | 'cleared' | 'failed';
  readonly problems: readonly { readonly fields: readonly string[]; readonly text: string }[];
}

export interface CampaignAsked {
  readonly brandId: string;
  readonly useCase: string;
  readonly subUseCases: readonly string[];
  readonly description: string;
  readonly messageFlow: string;
  readonly samples: readonly string[];
  readonly helpMessage: string;
  readonly optInMessage: string;
  readonly optOutMessage: string;
  readonly helpKeywords: readonly string[];
  readonly optInKeywords: readonly string[];
  readonly optOutKeywords: readonly string[];
  readonly termsUrl: string;
  readonly privacyUrl: string;
  /** Unique: a second filing with it is refused, and it finds the first one again. */
  readonly key: string;
  readonly webhookUrl: string;
}

export interface Campaign {
  readonly campaignId: string;
  readonly state: 'pending' | 'approved' | 'failed' | 'blocked';
  readonly reason: string | null;
}

export type Assignment = {
  readonly state: 'none' | 'pending' | 'assigned' | 'failed';
  readonly campaignId: string | null;
  readonly reason: string | null;
};

export interface TollFreeAsked {
  readonly e164: string;
  readonly businessName: string;
  readonly website: string;
  readonly street: string;
  readonly city: string;
  /** Its whole name. */
  readonly state: string;
  readonly postalCode: string;
  readonly country: string;
  readonly ein: string;
  readonly contactFirstName: string;
  readonly contactLastName: string;
  readonly contactEmail: string;
  readonly contactPhone: string;
  readonly monthlyMessages: number;
  /** In the registry's words, as for a campaign. */
  readonly useCase: string;
  readonly summary: string;
  readonly sample: string;
  readonly messageFlow: string;
  readonly optInUrl: string;
  readonly helpMessage: string;
  readonly optInMessage: string;
  readonly termsUrl: string;
  readonly privacyUrl: string;
  readonly webhookUrl: string;
}

type TollFreeCorrected = Omit<TollFreeAsked, 'ein'> & { readonly ein: string | null };

export interface TollFreeRequest {
  readonly requestId: string;
  readonly state: 'pending' | 'verified' | 'rejected';
  readonly reason: string | null;
}

export interface CarrierRegistry {
  createBrand(asked: BrandAsked): Promise<Brand>;
  /** By `key`; without one, by name and mobile or EIN among those that have not failed. */
  findBrand(asked: BrandAsked): Promise<Brand | null>;
  readBrand(brandId: string): Promise<Brand>;
  /** Updates a verified one in place; the fields that it was verified by (name, EIN, form, mobile) are sent as the registry has them. */
  correctBrand(brandId: string, asked: BrandAsked): Promise<Brand>;
  /** `{pin}` in `code` stands for the code. */
  sendCode(brandId: string, words: { readonly code: string; readonly success: string }): Promise<void>;
  /** Throws `wrong_pin`, also for an expired one. */
  checkCode(brandId: string, pin: string): Promise<void>;
  createCampaign(asked: CampaignAsked): Promise<Campaign>;
  findCampaign(asked: { readonly brandId: string; readonly key: string }): Promise<Campaign | null>;
  readCampaign(campaignId: string): Promise<Campaign>;
  /** Updates in place: samples, flow and help; puts it back into review. */
  correctCampaign(campaignId: string, asked: CampaignAsked): Promise<Campaign>;
  appealCampaign(campaignId: string, reason: string): Promise<void>;
  /** Its monthly fee ends. Succeeds if it is gone already. */
  endCampaign(campaignId: string): Promise<void>;
  assign(e164: string, campaignId: string): Promise<Assignment>;
  readAssignment(e164: string): Promise<Assignment>;
  unassign(e164: string): Promise<void>;
  createTollFree(asked: TollFreeAsked): Promise<TollFreeRequest>;
  findTollFree(e164: string): Promise<TollFreeRequest | null>;
  readTollFree(requestId: string): Promise<TollFreeRequest>;
  /** Without an EIN: keeps the one that the carrier has for this request. */
  correctTollFree(requestId: string, asked: TollFreeCorrected): Promise<TollFreeRequest>;
  endTollFree(requestId: string): Promise<void>;
}

export interface CarrierTexts {
  /** `parts` as the carrier counts them. Not repeatable: a fault of kind `unknown` may have sent it. `tag` comes back with receipts. */
  send(asked: {
    readonly from: string;
    readonly to: string;
    readonly text: string;
    readonly profileId: string;
    readonly tag: string;
  }): Promise<{ readonly carrierId: string; readonly parts: number }>;
  /** The outcome of an unanswered text; null: it was not sent, or that is unknown. */
  findSent(asked: {
    readonly from: string;
    readonly to: string;
    readonly tag: string;
    readonly since: number;
  }): Promise<{ readonly carrierId: string; readonly parts: number } | null>;
  /** Who said STOP to the number of this profile, as far as the carrier knows. */
  optOuts(
    profileId: string,
  ): Promise<readonly { readonly e164: string; readonly keyword: string; readonly at: number }[]>;
}

export interface CarrierCalls {
  /** The same `key` makes the same call. `linkTo`: the leg on whose behalf it is made. Events carry `clientState` in base64. */
  dial(asked: {
    readonly from: string;
    readonly to: string;
    readonly key: string;
    readonly linkTo?: string;
    readonly clientState: string;
    readonly timeoutSeconds: number;
    readonly detectVoicemail: boolean;
    readonly webhookUrl: string;
  }): Promise<{ readonly legId: string; readonly sessionId: string }>;
  answer(legId: string, key: string): Promise<void>;
  hangup(legId: string, key: string): Promise<void>;
  /** Hold music. */
  hold(legId: string, key: string): Promise<void>;
  resume(legId: string, key: string): Promise<void>;
  /** Stops the bot's current speech. The speaker itself must stay silent until `unmute`: the carrier mutes no single leg. */
  mute(legId: string, key: string): Promise<void>;
  unmute(legId: string, key: string): Promise<void>;
  speak(legId: string, text: string, key: string): Promise<void>;
  /** Says `text` and waits for this many keys; the result comes as an event of the leg. */
  ask(legId: string, text: string, digits: number, key: string): Promise<void>;
  dtmf(legId: string, digits: string, key: string): Promise<void>;
  bridge(legId: string, withLegId: string, key: string): Promise<void>;
  /** Cold: the carrier dials and bridges. */
  transfer(legId: string, asked: { readonly to: string; readonly from: string; readonly key: string }): Promise<void>;
  /** Whether that leg still exists. */
  isAlive(legId: string): Promise<boolean>;
}

/**
 * A carrier, in parts that can be implemented one by one. Each call tries once and fails with {@link CarrierFault}.
 *
 * @example
 * ```ts
 * import { type Carrier, CarrierFault } from './port.ts';
 *
 * // The texts of a carrier with an API of its own; `api` posts JSON.
 * export function createTexts(api: (path: string, body: unknown) => Promise<Response>): Carrier['texts'] {
 *   return {
 *     async send({ from, to, text, tag }) {
 *       const answer = await api('/messages', { from, to, text, tag }).catch((cause) => {
 *         // Nobody knows whether it was sent: the caller asks `findSent` and never sends blindly again.
 *         throw new CarrierFault('unknown', 'The carrier did not answer.', { cause });
 *       });
 *       if (answer.status === 422) throw new CarrierFault('destination', await answer.text());
 *       if (!answer.ok) throw new CarrierFault('service', await answer.text());
 *       const { id, parts } = (await answer.json()) as { id: string; parts: number };
 *       return { carrierId: id, parts };
 *     },
 *     async findSent({ tag }) {
 *       const answer = await api('/messages/find', { tag });
 *       return answer.ok ? ((await answer.json()) as { carrierId: string; parts: number }) : null;
 *     },
 *     optOuts: async () => [],
 *   };
 * }
 * ```
 */
export interface Carrier {
  /** The name in search results, `telnyx` or `simulator`. */
  readonly name: 'telnyx' | 'simulator';
  readonly numbers: CarrierNumbers;
  readonly ports: CarrierPorts;
  readonly registry: CarrierRegistry;
  readonly texts: CarrierTexts;
  readonly calls: CarrierCalls;
}
