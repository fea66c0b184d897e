/** Numbers and their messaging profiles on the carrier's wire. */
import { iso } from '../../../../kit/clock/clock.ts';
import type { CarrierNumbers, CarrierOffer, NumberOrder } from '../port.ts';
import { first, inner, needed, type TelnyxClient, unlessGone } from './client.ts';

/** The keywords that the carrier answers itself. Its own three cannot be removed. */
const keywords = {
  stop: ['STOP', 'STOPALL', 'STOP ALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT'],
  start: ['START', 'UNSTOP'],
  info: ['HELP', 'INFO'],
} as const;

/** The countries of senders: each has its own answers, and the carrier has no entry for all. */
const countries = ['US', 'CA'] as const;

const dayMs = 24 * 60 * 60_000;

const orderStates = { pending: 'pending', success: 'done', failure: 'failed' } as const;

interface WireOrder {
  readonly id?: string | undefined;
  readonly status?: string | undefined;
  readonly phone_numbers?: readonly WireOrdered[] | undefined;
}

interface WireOrdered {
  readonly status?: string | undefined;
  readonly requirements_status?: string | undefined;
}

function orderOf(wire: WireOrder): NumberOrder {
  const state = orderStates[wire.status as keyof typeof orderStates] ?? 'pending';
  const why = wire.phone_numbers?.map(({ status, requirements_status }) => requirements_status ?? status);
  return {
    orderId: needed(wire.id, 'an order id'),
    state,
    reason:
      state === 'failed' ? `The carrier could not get the number (${why?.join(', ') || 'no reason given'}).` : null,
  };
}

/** The most important first: a bought number is not bought again. */
const best = (orders: readonly NumberOrder[]) =>
  orders.find(({ state }) => state === 'done') ?? orders.find(({ state }) => state === 'pending') ?? orders[0] ?? null;

export function createTelnyxNumbers({ ask }: TelnyxClient, connectionId: string): CarrierNumbers {
  const numberOf = (e164: string) =>
    ask({ asked: 'other', reads: true }, async (telnyx) => {
      const found = await first(telnyx.phoneNumbers.list({ filter: { phone_number: e164 } }));
      const ours = found.filter((one) => one.phone_number === e164 && one.status !== 'deleted');
      return ours.find(({ status }) => status === 'active') ?? ours[0] ?? null;
    });

  return {
    async search({ country, type, areaCode, locality, limit }) {
      const { data = [] } = await ask({ asked: 'search', reads: true }, (telnyx) =>
        telnyx.availablePhoneNumbers.list({
          filter: {
            country_code: country,
            phone_number_type: type,
            ...(areaCode === undefined ? {} : { national_destination_code: areaCode }),
            ...(locality === undefined ? {} : { locality }),
            features: ['sms', 'voice'],
            limit,
            best_effort: false,
          },
        }),
      );
      return data.flatMap((one): CarrierOffer[] => {
        if (one.phone_number === undefined || one.best_effort === true) return [];
        const region = (name: string) => one.region_information?.find(({ region_type }) => region_type === name);
        const { monthly_cost, upfront_cost, currency } = one.cost_information ?? {};
        const money = (amount?: string) => (amount === undefined ? null : `${amount} ${currency ?? 'USD'}`);
        return [
          {
            e164: one.phone_number,
            type,
            locality: (region('location') ?? region('rate_center'))?.region_name ?? null,
            monthlyCost: money(monthly_cost),
            upfrontCost: money(upfront_cost),
          },
        ];
      });
    },

    async order({ e164, profileId, key }) {
      const answer = await ask({ asked: 'order' }, (telnyx) =>
        telnyx.numberOrders.create({
          phone_numbers: [{ phone_number: e164 }],
          messaging_profile_id: profileId,
          connection_id: connectionId,
          customer_reference: key,
        }),
      );
      return orderOf(inner(answer));
    },

    async findOrder(key) {
      const found = await ask({ asked: 'other', reads: true }, (telnyx) =>
        first(telnyx.numberOrders.list({ filter: { customer_reference: key } })),
      );
      return best(
        found.filter(({ customer_reference }) => customer_reference === key).map((one) => orderOf(one as WireOrder)),
      );
    },

    async readOrder(orderId) {
      const answer = await ask({ asked: 'other', reads: true }, (telnyx) => telnyx.numberOrders.retrieve(orderId));
      return orderOf(inner(answer));
    },

    async find(e164) {
      const found = await numberOf(e164);
      return found === null ? null : { id: needed(found.id, 'the id of a number'), status: found.status ?? '' };
    },

    async monthlyCosts(now) {
      // At most 31 days; the last one is excluded.
      const day = (days: number) => iso(now + days * dayMs).slice(0, 'yyyy-mm-dd'.length);
      const answer = await ask({ asked: 'other', reads: true }, (telnyx) =>
        telnyx.chargesBreakdown.retrieve({ start_date: day(-30), end_date: day(1) }),
      );
      const { currency, results = [] } = inner(answer);
      const costs = results.map(({ tn, services }): [string, string] => {
        const monthly = services.filter(({ cost_type }) => cost_type === 'MRC');
        const cost = monthly.reduce((sum, one) => sum + Math.round(Number(one.cost) * 10_000), 0) / 10_000;
        return [`+${tn.replace(/\D/g, '')}`, `${cost.toFixed(2)} ${currency}`];
      });
      return new Map(costs.filter(([, cost]) => /^\d/.test(cost)));
    },

    async release(numberId) {
      await unlessGone(ask({ asked: 'other' }, (telnyx) => telnyx.phoneNumbers.delete(numberId)));
    },

    async createProfile({ name, webhookUrl, destinations }) {
      const answer = await ask({ asked: 'other' }, (telnyx) =>
        telnyx.messagingProfiles.create({
          name,
          whitelisted_destinations: [...destinations],
          webhook_url: webhookUrl,
          webhook_api_version: '2',
          enabled: true,
        }),
      );
      return { id: needed(inner(answer).id, 'the id of a profile') };
    },

    async findProfile(name) {
      const found = await ask({ asked: 'other', reads: true }, (telnyx) =>
        first(telnyx.messagingProfiles.list({ filter: { name } })),
      );
      // The filter matches part of the name and ignores case.
      const same = found.find((one) => one.name === name);
      return same === undefined ? null : { id: needed(same.id, 'the id of a profile') };
    },

    async setAutoResponses(profileId, words) {
      const { data } = await ask({ asked: 'other', reads: true }, (telnyx) =>
        telnyx.messagingProfiles.autorespConfigs.list(profileId),
      );
      const texts = { stop: words.stop, start: words.start, info: words.help } as const;
      const wanted = countries.flatMap((country) =>
        (['stop', 'start', 'info'] as const).map((op) => ({
          op,
          keywords: [...keywords[op]],
          resp_text: texts[op],
          country_code: country,
        })),
      );
      for (const config of wanted) {
        const there = data.find((one) => one.op === config.op && one.country_code === config.country_code);
        await ask({ asked: 'other' }, async (telnyx) => {
          const { autorespConfigs } = telnyx.messagingProfiles;
          if (there === undefined) await autorespConfigs.create(profileId, config);
          else await autorespConfigs.update(there.id, { ...config, profile_id: profileId });
        });
      }
    },

    async assignProfile(numberId, profileId) {
      await ask({ asked: 'other' }, (telnyx) =>
        telnyx.phoneNumbers.messaging.update(numberId, { messaging_profile_id: profileId }),
      );
    },

    async deleteProfile(profileId) {
      await unlessGone(ask({ asked: 'other' }, (telnyx) => telnyx.messagingProfiles.delete(profileId)));
    },
  };
}
