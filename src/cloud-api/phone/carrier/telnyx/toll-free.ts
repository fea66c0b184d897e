/** Verification of toll-free numbers on the carrier's wire: flat answers. */
import type { RequestCreateParams } from 'telnyx/resources/messaging-tollfree/verification/requests';
import { CarrierFault, type CarrierRegistry, type TollFreeAsked, type TollFreeRequest } from '../port.ts';
import { first, inner, needed, type TelnyxClient, unlessGone } from './client.ts';
import { withoutSecrets } from './faults.ts';

/** The meaning of each of its words; any other means under review. "Waiting For Customer": the person must act. */
const tollFreeStates: Readonly<Record<string, TollFreeRequest['state']>> = {
  Verified: 'verified',
  Rejected: 'rejected',
  'Waiting For Customer': 'rejected',
};

/** The carrier's steps of texts per month. */
const volumes = [
  ...[[10, '10'] as const, [100, '100'] as const, [1_000, '1,000'] as const, [10_000, '10,000'] as const],
  ...[[100_000, '100,000'] as const, [250_000, '250,000'] as const, [500_000, '500,000'] as const],
  ...[[750_000, '750,000'] as const, [1_000_000, '1,000,000'] as const, [5_000_000, '5,000,000'] as const],
];

const volumeOf = (monthly: number) => volumes.find(([max]) => monthly <= max)?.[1] ?? '10,000,000+';

/** The registry's use cases in this one's words. */
const useCases: Readonly<Record<string, RequestCreateParams['useCase']>> = {
  '2FA': '2FA',
  ACCOUNT_NOTIFICATION: 'App Notifications',
  DELIVERY_NOTIFICATION: 'Courier Services & Deliveries',
  FRAUD_ALERT: 'Fraud Alerts',
  HIGHER_EDUCATION: 'General School Updates',
  MARKETING: 'General Marketing',
  MIXED: 'Mixed',
  POLLING_VOTING: 'Surveys',
  PUBLIC_SERVICE_ANNOUNCEMENT: 'Public Works',
  SECURITY_ALERT: 'System Alerts',
};

function bodyOf(asked: TollFreeAsked): RequestCreateParams {
  return {
    businessName: asked.businessName,
    corporateWebsite: asked.website,
    businessAddr1: asked.street,
    businessCity: asked.city,
    businessState: asked.state,
    businessZip: asked.postalCode,
    businessContactFirstName: asked.contactFirstName,
    businessContactLastName: asked.contactLastName,
    businessContactEmail: asked.contactEmail,
    businessContactPhone: asked.contactPhone,
    businessRegistrationNumber: asked.ein,
    businessRegistrationType: 'EIN',
    businessRegistrationCountry: asked.country,
    messageVolume: volumeOf(asked.monthlyMessages),
    phoneNumbers: [{ phoneNumber: asked.e164 }],
    useCase: useCases[asked.useCase] ?? 'Conversational / Alerts',
    useCaseSummary: asked.summary.slice(0, 500),
    productionMessageContent: asked.sample.slice(0, 1000),
    optInWorkflow: asked.messageFlow.slice(0, 500),
    optInWorkflowImageURLs: [{ url: asked.optInUrl }],
    additionalInformation: `Opt-in page: ${asked.optInUrl}`,
    helpMessageResponse: asked.helpMessage,
    optInConfirmationResponse: asked.optInMessage,
    privacyPolicyURL: asked.privacyUrl,
    termsAndConditionURL: asked.termsUrl,
    webhookUrl: asked.webhookUrl,
  };
}

interface WireRequest {
  readonly id?: string;
  readonly verificationRequestId?: string;
  readonly verificationStatus?: string;
  readonly reason?: string;
}

function requestOf(wire: WireRequest): TollFreeRequest {
  return {
    requestId: needed(wire.id ?? wire.verificationRequestId, 'the id of a verification'),
    state: tollFreeStates[wire.verificationStatus ?? ''] ?? 'pending',
    reason: wire.reason === undefined || wire.reason === '' ? null : withoutSecrets(wire.reason, []),
  };
}

type TollFree = Pick<
  CarrierRegistry,
  'createTollFree' | 'findTollFree' | 'readTollFree' | 'correctTollFree' | 'endTollFree'
>;

export function createTelnyxTollFree({ ask }: TelnyxClient): TollFree {
  const read = (requestId: string) =>
    ask({ asked: 'other', reads: true }, (telnyx) =>
      telnyx.messagingTollfree.verification.requests.retrieve(requestId),
    ).then(inner);

  /** A correction sends the whole form again, and the EIN of a verified business is not stored here. */
  async function einOf(requestId: string): Promise<string> {
    const { businessRegistrationNumber } = await read(requestId);
    if (businessRegistrationNumber) return businessRegistrationNumber;
    throw new CarrierFault('details', 'The carrier does not show the EIN that the number was verified with.', {
      fields: ['businessRegistrationNumber'],
    });
  }

  return {
    async createTollFree(asked) {
      const answer = await ask({ asked: 'form', secrets: [asked.ein] }, (telnyx) =>
        telnyx.messagingTollfree.verification.requests.create(bodyOf(asked)),
      );
      return requestOf(inner(answer));
    },

    async findTollFree(e164) {
      const found = await ask({ asked: 'other', reads: true }, (telnyx) =>
        first(telnyx.messagingTollfree.verification.requests.list({ phone_number: e164, page: 1, page_size: 20 })),
      );
      const one = found.find(({ phoneNumbers }) => phoneNumbers.some(({ phoneNumber }) => phoneNumber === e164));
      return one === undefined ? null : requestOf(one);
    },

    readTollFree: async (requestId) => requestOf(await read(requestId)),

    async correctTollFree(requestId, given) {
      const asked = { ...given, ein: given.ein ?? (await einOf(requestId)) };
      const answer = await ask({ asked: 'form', secrets: [asked.ein] }, (telnyx) =>
        telnyx.messagingTollfree.verification.requests.update(requestId, bodyOf(asked)),
      );
      return requestOf({ ...inner(answer), id: requestId });
    },

    async endTollFree(requestId) {
      try {
        await unlessGone(
          ask({ asked: 'form' }, (telnyx) => telnyx.messagingTollfree.verification.requests.delete(requestId)),
        );
      } catch (error) {
        // A settled request cannot be withdrawn, and costs nothing.
        if (!(error instanceof CarrierFault && error.kind === 'details')) throw error;
      }
    },
  };
}
