/** Brands, their codes, campaigns and the numbers linked to them, on the registry's wire: flat answers. */
import type { TelnyxBrand } from 'telnyx/resources/messaging-10dlc/brand';
import type { TelnyxCampaignCsp } from 'telnyx/resources/messaging-10dlc/campaign';
import type { Assignment, Brand, BrandAsked, Campaign, CampaignAsked, CarrierRegistry } from '../port.ts';
import { CarrierFault } from '../port.ts';
import { first, inner, needed, type TelnyxClient, unlessGone } from './client.ts';
import { withoutSecrets } from './faults.ts';
import { createTelnyxTollFree } from './toll-free.ts';

/** What each status of a campaign means. Every other status is still under review. */
const campaignStates: Readonly<Record<string, Campaign['state']>> = {
  MNO_PROVISIONED: 'approved',
  TCR_FAILED: 'failed',
  TELNYX_FAILED: 'failed',
  MNO_REJECTED: 'failed',
  TCR_SUSPENDED: 'blocked',
  TCR_EXPIRED: 'blocked',
};

/** The meaning of a number's status; one that could not be removed is still assigned. */
const assignmentStates: Readonly<Record<string, Assignment['state']>> = {
  ASSIGNED: 'assigned',
  FAILED_UNASSIGNMENT: 'assigned',
  PENDING_ASSIGNMENT: 'pending',
  FAILED_ASSIGNMENT: 'failed',
  PENDING_UNASSIGNMENT: 'none',
};

/** An unknown status counts as still under review: nobody is refused over what we cannot read. */
function brandState({ status, identityStatus }: Pick<TelnyxBrand, 'status' | 'identityStatus'>): Brand['state'] {
  if (status === 'REGISTRATION_FAILED') return 'failed';
  if (status !== 'OK') return 'pending';
  if (identityStatus === 'VERIFIED' || identityStatus === 'VETTED_VERIFIED') return 'cleared';
  return identityStatus === 'UNVERIFIED' ? 'failed' : 'pending';
}

type Problems = Brand['problems'];

/** Its documentation says a text; its events contain lists. */
function problemsOf(reasons: unknown): Problems {
  if (typeof reasons === 'string') return reasons.trim() === '' ? [] : [{ fields: [], text: reasons }];
  if (!Array.isArray(reasons)) return [];
  return reasons.flatMap((reason) => {
    if (typeof reason === 'string') return problemsOf(reason);
    const { fields, description } = (reason ?? {}) as { fields?: unknown; description?: unknown };
    if (typeof description !== 'string') return [];
    return [{ fields: Array.isArray(fields) ? fields.map(String) : [], text: description }];
  });
}

const reasonOf = (reasons: unknown) =>
  problemsOf(reasons)
    .map(({ text }) => withoutSecrets(text, []))
    .join(' ') || null;

/** The registry stores no reference of ours in a brand: the address of its events carries it. */
const webhookOf = ({ webhookUrl, key }: BrandAsked) =>
  key === undefined ? webhookUrl : `${webhookUrl}?ref=${encodeURIComponent(key)}`;

/** Omits the fields that a sole proprietor does not have. */
function brandBody(asked: BrandAsked) {
  const { key: _key, webhookUrl: _url, ein, companyName, ...rest } = asked;
  const business = asked.entityType === 'SOLE_PROPRIETOR' ? {} : { ein, companyName };
  const given = { ...rest, ...business, webhookURL: webhookOf(asked) };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== ''));
}

const digits = (text: string | undefined) => text?.replace(/\D/g, '') ?? '';

/** Whether it is the wanted one: by our key, otherwise by its business. */
function isAsked(brand: TelnyxBrand, asked: BrandAsked): boolean {
  if (asked.key !== undefined) return brand.webhookURL === webhookOf(asked);
  if (brand.status === 'REGISTRATION_FAILED' || brand.displayName !== asked.displayName) return false;
  return asked.ein === undefined
    ? digits(brand.mobilePhone) !== '' && digits(brand.mobilePhone) === digits(asked.mobilePhone)
    : digits(brand.ein) === digits(asked.ein);
}

const keywordsOf = (words: readonly string[]) => words.map((word) => word.replaceAll(' ', '')).join(',');

function samplesOf(samples: readonly string[]) {
  return Object.fromEntries(samples.slice(0, 5).map((sample, index) => [`sample${index + 1}`, sample]));
}

function campaignBody(asked: CampaignAsked) {
  return {
    brandId: asked.brandId,
    usecase: asked.useCase,
    ...(asked.subUseCases.length === 0 ? {} : { subUsecases: [...asked.subUseCases] }),
    description: asked.description,
    messageFlow: asked.messageFlow,
    ...samplesOf(asked.samples),
    helpMessage: asked.helpMessage,
    optinMessage: asked.optInMessage,
    optoutMessage: asked.optOutMessage,
    helpKeywords: keywordsOf(asked.helpKeywords),
    optinKeywords: keywordsOf(asked.optInKeywords),
    optoutKeywords: keywordsOf(asked.optOutKeywords),
    subscriberOptin: true,
    subscriberOptout: true,
    subscriberHelp: true,
    embeddedLink: true,
    embeddedPhone: true,
    embeddedLinkSample: asked.termsUrl,
    privacyPolicyLink: asked.privacyUrl,
    termsAndConditionsLink: asked.termsUrl,
    termsAndConditions: true,
    numberPool: false,
    ageGated: false,
    directLending: false,
    autoRenewal: true,
    referenceId: asked.key,
    webhookURL: asked.webhookUrl,
  };
}

function campaignOf(wire: Partial<TelnyxCampaignCsp>): Campaign {
  const state =
    wire.status === 'DORMANT'
      ? 'blocked'
      : (campaignStates[wire.campaignStatus ?? ''] ?? (wire.submissionStatus === 'FAILED' ? 'failed' : 'pending'));
  return { campaignId: needed(wire.campaignId, 'a campaign id'), state, reason: reasonOf(wire.failureReasons) };
}

/** The carrier replaces `@OTP_PIN@` with the code. */
const withPin = (words: string) =>
  words.includes('{pin}') ? words.replaceAll('{pin}', '@OTP_PIN@') : `${words} @OTP_PIN@`;

export function createTelnyxRegistry(client: TelnyxClient): CarrierRegistry {
  const { ask } = client;

  /** The reasons, field by field; a failure counts even if none is given. */
  async function feedbackOf(brandId: string): Promise<Problems> {
    try {
      const { category } = await ask({ asked: 'other', reads: true }, (telnyx) =>
        telnyx.messaging10dlc.brand.getFeedback(brandId),
      ).then(inner);
      return (category ?? []).map(({ fields, description, displayName }) => ({
        fields,
        text: withoutSecrets(description || displayName, []),
      }));
    } catch (error) {
      if (error instanceof CarrierFault && error.kind === 'not_found') return [];
      throw error;
    }
  }

  async function brandOf(wire: TelnyxBrand): Promise<Brand> {
    const brandId = needed(wire.brandId, 'a brand id');
    const state = brandState(wire);
    if (state !== 'failed') return { brandId, state, problems: [] };
    const said = await feedbackOf(brandId);
    const own = problemsOf(wire.failureReasons).map(({ fields, text }) => ({ fields, text: withoutSecrets(text, []) }));
    return { brandId, state, problems: said.length > 0 ? said : own };
  }

  const readBrand = (brandId: string) =>
    ask({ asked: 'other', reads: true }, (telnyx) => telnyx.messaging10dlc.brand.retrieve(brandId)).then(inner);

  const readCampaign = (campaignId: string) =>
    ask({ asked: 'other', reads: true }, (telnyx) => telnyx.messaging10dlc.campaign.retrieve(campaignId)).then(inner);

  return {
    ...createTelnyxTollFree(client),

    async createBrand(asked) {
      const answer = await ask({ asked: 'form', secrets: [asked.ein] }, (telnyx) =>
        telnyx.messaging10dlc.brand.create(brandBody(asked) as never),
      );
      return brandOf(inner(answer));
    },

    async findBrand(asked) {
      const listed = await ask({ asked: 'other', reads: true }, (telnyx) =>
        first(telnyx.messaging10dlc.brand.list({ displayName: asked.displayName, sort: '-createdAt' }), 50),
      );
      for (const { brandId } of listed) {
        if (brandId === undefined) continue;
        const brand = await readBrand(brandId);
        if (isAsked(brand, asked)) return brandOf(brand);
      }
      return null;
    },

    readBrand: async (brandId) => brandOf(await readBrand(brandId)),

    async correctBrand(brandId, asked) {
      // An update replaces the whole record, and verified fields cannot change.
      const { entityType, country, companyName, ein } = await readBrand(brandId);
      const { mobilePhone: _, ...body } = brandBody({ ...asked, entityType, country, companyName, ein } as BrandAsked);
      const answer = await ask({ asked: 'form', secrets: [ein] }, (telnyx) =>
        telnyx.messaging10dlc.brand.update(brandId, body as never),
      );
      return brandOf({ ...inner(answer), brandId });
    },

    async sendCode(brandId, { code, success }) {
      await ask({ asked: 'form' }, (telnyx) =>
        telnyx.messaging10dlc.brand.triggerSMSOtp(brandId, { pinSms: withPin(code), successSms: success }),
      );
    },

    async checkCode(brandId, pin) {
      await ask({ asked: 'code', secrets: [pin] }, (telnyx) =>
        telnyx.messaging10dlc.brand.verifySMSOtp(brandId, { otpPin: pin }),
      );
    },

    async createCampaign(asked) {
      const answer = await ask({ asked: 'campaign' }, (telnyx) =>
        telnyx.messaging10dlc.campaignBuilder.submit(campaignBody(asked)),
      );
      return campaignOf(inner(answer));
    },

    async findCampaign({ brandId, key }) {
      const listed = await ask({ asked: 'other', reads: true }, (telnyx) =>
        first(telnyx.messaging10dlc.campaign.list({ brandId })),
      );
      const found = listed.find(({ referenceId }) => referenceId === key);
      return found === undefined ? null : campaignOf(found as Partial<TelnyxCampaignCsp>);
    },

    readCampaign: async (campaignId) => campaignOf(await readCampaign(campaignId)),

    async correctCampaign(campaignId, { samples, messageFlow, helpMessage, webhookUrl }) {
      const answer = await ask({ asked: 'campaign' }, (telnyx) =>
        telnyx.messaging10dlc.campaign.update(campaignId, {
          ...samplesOf(samples),
          messageFlow,
          helpMessage,
          webhookURL: webhookUrl,
          autoRenewal: true,
        }),
      );
      return campaignOf({ ...inner(answer), campaignId });
    },

    async appealCampaign(campaignId, reason) {
      await ask({ asked: 'campaign' }, (telnyx) =>
        telnyx.messaging10dlc.campaign.submitAppeal(campaignId, { appeal_reason: reason }),
      );
    },

    async endCampaign(campaignId) {
      await unlessGone(ask({ asked: 'other' }, (telnyx) => telnyx.messaging10dlc.campaign.deactivate(campaignId)));
    },

    async assign(e164, campaignId) {
      const answer = await ask({ asked: 'other' }, (telnyx) =>
        telnyx.messaging10dlc.phoneNumberCampaigns.create({ phoneNumber: e164, campaignId }),
      );
      return assignmentOf(inner(answer));
    },

    async readAssignment(e164) {
      try {
        const answer = await ask({ asked: 'other', reads: true }, (telnyx) =>
          telnyx.messaging10dlc.phoneNumberCampaigns.retrieve(e164),
        );
        return assignmentOf(inner(answer));
      } catch (error) {
        if (error instanceof CarrierFault && error.kind === 'not_found') return unassigned;
        throw error;
      }
    },

    async unassign(e164) {
      await unlessGone(ask({ asked: 'other' }, (telnyx) => telnyx.messaging10dlc.phoneNumberCampaigns.delete(e164)));
    },
  };
}

const unassigned: Assignment = { state: 'none', campaignId: null, reason: null };

interface WireAssignment {
  readonly campaignId?: string;
  readonly telnyxCampaignId?: string;
  readonly assignmentStatus?: string;
  readonly failureReasons?: string;
}

function assignmentOf(wire: WireAssignment): Assignment {
  const state = assignmentStates[wire.assignmentStatus ?? ''] ?? 'pending';
  if (state === 'none') return unassigned;
  // `campaignId` may be the registry's own.
  return { state, campaignId: wire.telnyxCampaignId ?? wire.campaignId ?? null, reason: reasonOf(wire.failureReasons) };
}
