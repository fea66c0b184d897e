/** The carrier says that something changed with a business, a campaign or a number: a reason to look, and never more than that. */
import type { CarrierEvent, CarrierEventReader } from '../ports.ts';
import type { Advance } from './advance.ts';
import type { RegistrationStore } from './store.ts';

export interface EventsDeps {
  readonly registrations: Pick<RegistrationStore, 'about' | 'lookAgain'>;
  readonly advance: Advance['advance'];
  readonly now: () => number;
}

const prefixes = ['10dlc.', 'toll_free'] as const;

export function createReaders({ registrations, advance, now }: EventsDeps): readonly CarrierEventReader[] {
  return prefixes.map((prefix) => ({
    prefix,
    subject: (event) => {
      const { brandId, campaignId, requestId, e164 } = namedIn(event);
      return brandId ?? campaignId ?? requestId ?? e164 ?? prefix;
    },
    async take(event) {
      for (const row of await registrations.about(namedIn(event))) {
        // Should this program end now, another looks.
        await registrations.lookAgain(row.id, now());
        await advance(row.id);
      }
    },
  }));
}

/** Its words are the carrier's, in two shapes (phone.md 2.0, 2.7). */
function namedIn({ payload }: CarrierEvent) {
  const word = (...names: readonly string[]): string | undefined => {
    const found = names.map((name) => payload[name]).find((value) => typeof value === 'string' && value !== '');
    return found as string | undefined;
  };
  const [number] = Array.isArray(payload.phoneNumbers) ? (payload.phoneNumbers as unknown[]) : [];
  const listed = (number as { phoneNumber?: unknown } | undefined)?.phoneNumber;
  return {
    brandId: word('brandId'),
    campaignId: word('campaignId'),
    requestId: word('verificationRequestId', 'verification_request_id', 'requestId', 'id'),
    e164: word('phoneNumber', 'phone_number') ?? (typeof listed === 'string' ? listed : undefined),
  };
}
