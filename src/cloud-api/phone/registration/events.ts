/** The carrier reports a change of a business, a campaign or a number: only ever a reason to read its state. */
import type { CarrierEvent, CarrierEventReader } from '../ports.ts';
import type { Advance } from './advance.ts';
import type { RegistrationStore } from './store.ts';

const prefixes = ['10dlc.', 'toll_free'] as const;

export function createReaders({
  registrations,
  advance,
  now,
}: {
  readonly registrations: Pick<RegistrationStore, 'about' | 'lookAgain'>;
  readonly advance: Advance['advance'];
  readonly now: () => number;
}): readonly CarrierEventReader[] {
  return prefixes.map((prefix) => ({
    prefix,
    subject: (event) => {
      const { brandId, campaignId, requestId, e164 } = namedIn(event);
      return brandId ?? campaignId ?? requestId ?? e164 ?? prefix;
    },
    // The rest is the carrier's words, which repeat the EIN.
    keep: (payload) => Object.fromEntries(Object.entries(payload).filter(([name]) => names.has(name))),
    async take(event) {
      for (const row of await registrations.about(namedIn(event))) {
        // If this program ends now, another process looks.
        await registrations.lookAgain(row.id, now());
        await advance(row.id);
      }
    },
  }));
}

/** The fields by which an event names its subject, in both shapes that the carrier uses. */
const requestNames = ['verificationRequestId', 'verification_request_id', 'requestId', 'id'] as const;
const numberNames = ['phoneNumber', 'phone_number'] as const;
const names: ReadonlySet<string> = new Set([
  ...['brandId', 'campaignId', 'phoneNumbers'],
  ...requestNames,
  ...numberNames,
]);

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
    requestId: word(...requestNames),
    e164: word(...numberNames) ?? (typeof listed === 'string' ? listed : undefined),
  };
}
