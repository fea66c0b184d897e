/** Texts on the carrier's wire. */
import { iso } from '../../../../kit/clock/clock.ts';
import { CarrierFault, type CarrierTexts } from '../port.ts';
import { first, inner, needed, type TelnyxClient } from './client.ts';

/** How many records of texts are searched for an unanswered one. */
const maxRecords = 250;
/** Its clock may be behind ours. */
const clocksApartMs = 5 * 60_000;

interface TextRecord {
  readonly uuid?: string;
  readonly parts?: number;
  readonly cli?: string;
  readonly cld?: string;
  readonly tags?: string;
  readonly delivery_status_webhook_url?: string;
}

export function createTelnyxTexts({ ask }: TelnyxClient, receiptsUrl: string | undefined): CarrierTexts {
  /** The wire has no field for the tag: the address of its receipts carries it. */
  const receiptsOf = (tag: string) =>
    receiptsUrl === undefined ? {} : { webhook_url: `${receiptsUrl}?tag=${encodeURIComponent(tag)}` };

  return {
    async send({ from, to, text, profileId, tag }) {
      const answer = await ask({ asked: 'text' }, (telnyx) =>
        telnyx.messages.send({
          from,
          to,
          text,
          messaging_profile_id: profileId,
          type: 'SMS',
          use_profile_webhooks: true,
          ...receiptsOf(tag),
        }),
      );
      const { id, parts } = inner(answer);
      return { carrierId: needed(id, 'the id of a text'), parts: parts ?? 1 };
    },

    async findSent({ from, to, tag, since }) {
      if (receiptsUrl === undefined) {
        throw new CarrierFault('unknown', 'Without an address for receipts nobody can tell whether it was sent.');
      }
      const found = await ask({ asked: 'other', reads: true }, (telnyx) =>
        first(
          telnyx.detailRecords.list({
            filter: {
              record_type: 'messaging',
              direction: 'outbound',
              cli: from,
              cld: to,
              created_at: { gte: iso(since - clocksApartMs) },
            },
            sort: ['-created_at'],
          } as Parameters<typeof telnyx.detailRecords.list>[0]),
          maxRecords,
        ),
      );
      const ours = `tag=${encodeURIComponent(tag)}`;
      const sent = (found as readonly TextRecord[]).find(
        ({ delivery_status_webhook_url: url, tags }) =>
          url?.split(/[?&]/).includes(ours) === true || tags?.split(',').includes(tag) === true,
      );
      return sent?.uuid === undefined ? null : { carrierId: sent.uuid, parts: sent.parts ?? 1 };
    },

    async optOuts(profileId) {
      const [said, ours] = await Promise.all([
        ask({ asked: 'other', reads: true }, (telnyx) =>
          first(telnyx.messagingOptouts.list({ filter: { messaging_profile_id: profileId } }), 10_000),
        ),
        ask({ asked: 'other', reads: true }, (telnyx) => first(telnyx.messagingProfiles.listPhoneNumbers(profileId))),
      ]);
      // Its documentation contradicts itself on which of the two sent STOP: it is the one that is not ours.
      const numbers = new Set(ours.map((one) => one.phone_number));
      return said.flatMap(({ from, to, keyword, created_at }) => {
        const e164 = from !== undefined && numbers.has(from) ? to : from;
        if (e164 === undefined) return [];
        const at = Date.parse(created_at ?? '');
        return [{ e164, keyword: keyword ?? '', at: Number.isNaN(at) ? 0 : at }];
      });
    },
  };
}
