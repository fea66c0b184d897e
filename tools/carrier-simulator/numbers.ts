/** Numbers for sale, ordered, held and given up, on the carrier's wire. Numbers are from reserved ranges (555-01xx) that belong to nobody. */
import type { AvailablePhoneNumberListResponse } from 'telnyx/resources/available-phone-numbers';
import type { ChargesBreakdownRetrieveResponse } from 'telnyx/resources/charges-breakdown';
import type { NumberOrderWithPhoneNumbers } from 'telnyx/resources/number-orders';
import type { PhoneNumberDeleteResponse, PhoneNumberDetailed } from 'telnyx/resources/phone-numbers/phone-numbers';
import { type Call, data, type Json, ok, optional, page, type Reply, type Route, required } from './exchange.ts';
import type { JobHandlers } from './jobs.ts';
import { placeOf, places, prices, tollFreeCodes } from './places.ts';
import { notFound, refused } from './refusal.ts';
import type { SimNumber, SimOrder, State } from './state.ts';
import type { World } from './world.ts';

const reference = /^\+1(\d{3})555(\d{4})$/;

export function createNumbers(world: World): { routes: readonly Route[]; jobs: JobHandlers } {
  const { state } = world;

  /** Neither held, nor in an unfinished order. */
  function isFree(e164: string): boolean {
    const isOrdered = Object.values(state.orders).some((one) => one.status === 'pending' && one.e164s.includes(e164));
    return !isOrdered && holderOf(state, e164) === null;
  }

  function search({ query }: Call): Reply {
    const asked = (name: string) => query.get(`filter[${name}]`);
    const country = asked('country_code') ?? 'US';
    const type = asked('phone_number_type') ?? 'local';
    const limit = Math.max(1, Math.min(250, Number(asked('limit') ?? 20) || 20));
    const code = asked('national_destination_code');
    const locality = asked('locality')?.toLowerCase();
    const codes =
      type === 'toll_free'
        ? tollFreeCodes.filter((one) => code === null || one === code)
        : codesOf(country, code, locality);
    const found: AvailablePhoneNumberListResponse.Data[] = [];
    for (let last = 150; last < 200 && found.length < limit; last += 1)
      for (const one of codes) {
        const e164 = `+1${one}5550${last}`;
        if (found.length < limit && isFree(e164)) found.push(offer(e164, type as 'local' | 'toll_free'));
      }
    found.sort((a, b) => (a.phone_number as string).localeCompare(b.phone_number as string));
    return ok({
      data: found,
      meta: { total_results: found.length, best_effort_results: 0 },
    } satisfies AvailablePhoneNumberListResponse);
  }

  function order({ body }: Call): Reply {
    const asked = Array.isArray(body.phone_numbers) ? (body.phone_numbers as Json[]) : [];
    const e164s = asked.map((one) => required(one, 'phone_number'));
    if (e164s.length === 0)
      throw refused(422, '10004', 'Missing required parameter', 'phone_numbers is required.', {
        pointer: '/phone_numbers',
      });
    const profileId = optional(body, 'messaging_profile_id') ?? null;
    if (profileId !== null && state.profiles[profileId] === undefined)
      throw refused(422, '85005', 'Invalid messaging profile', `Messaging profile ${profileId} does not exist.`);
    for (const e164 of e164s) {
      if (!reference.test(e164))
        throw refused(400, '85000', 'Number not found', `Number ${e164} must be searched for before it is ordered.`);
      if (!isFree(e164) || world.strikes('number_taken', e164) !== null)
        throw refused(400, '85001', 'Number not available', `Number ${e164} is no longer available for purchase.`);
    }
    for (const e164 of e164s) world.charge('number', prices(typeOf(e164)).upfront, e164);
    const made: SimOrder = {
      id: world.id(),
      e164s,
      reference: optional(body, 'customer_reference') ?? null,
      profileId,
      connectionId: optional(body, 'connection_id') ?? null,
      status: 'pending',
      createdAt: world.now(),
    };
    state.orders[made.id] = made;
    world.later({ what: `order of ${e164s.join(', ')}`, kind: 'order.done', args: { id: made.id }, after: 2_000 });
    return data(orderShape(state, made));
  }

  function complete({ id = '' }: Record<string, string>): void {
    const made = state.orders[id];
    if (made === undefined || made.status !== 'pending') return;
    const failed = world.strikes('order_fails', made.e164s[0]) !== null;
    made.status = failed ? 'failure' : 'success';
    if (failed) {
      for (const e164 of made.e164s) world.charge('number refunded', -prices(typeOf(e164)).upfront, e164);
    } else for (const e164 of made.e164s) addNumber(world, e164, { ...made, source: 'number_order', status: 'active' });
    world.emit(null, 'number_order.complete', { ...orderShape(state, made) });
  }

  function held(call: Call): SimNumber {
    const found = state.numbers[call.params.id as string];
    if (found === undefined || found.status === 'deleted') throw notFound('phone number');
    return found;
  }

  function list(call: Call): Reply {
    const e164 = call.query.get('filter[phone_number]');
    const status = call.query.get('filter[status]');
    const all = Object.values(state.numbers).filter(
      (number) =>
        number.status !== 'deleted' &&
        (e164 === null || number.e164.includes(e164)) &&
        (status === null || number.status === status),
    );
    return page(call, all.map(numberShape));
  }

  function release(call: Call): Reply {
    const number = held(call);
    number.status = 'deleted';
    number.profileId = null;
    const { id, tags, created_at, purchased_at, phone_number } = numberShape(number);
    const left = { id, record_type: 'phone_number', status: 'deleted' as const, tags, created_at, purchased_at };
    return data({ ...left, phone_number } satisfies PhoneNumberDeleteResponse.Data);
  }

  function change(call: Call): Reply {
    const number = held(call);
    if (call.body.connection_id !== undefined) number.connectionId = optional(call.body, 'connection_id') || null;
    if (Array.isArray(call.body.tags)) number.tags = call.body.tags.map(String);
    return data(numberShape(number));
  }

  function assign(call: Call): Reply {
    const number = held(call);
    const profileId = optional(call.body, 'messaging_profile_id');
    if (profileId !== undefined) {
      if (profileId !== '' && state.profiles[profileId] === undefined) throw notFound('messaging profile');
      number.profileId = profileId || null;
    }
    return data(messagingShape(number));
  }

  /** The monthly cost of each held number. */
  function charges({ query }: Call): Reply {
    const [start, end] = [query.get('start_date') ?? '', query.get('end_date') ?? ''];
    const days = (Date.parse(end) - Date.parse(start)) / (24 * 60 * 60_000);
    if (!(days > 0 && days <= 31))
      throw refused(400, '10015', 'Bad Request', 'The dates are at most 31 days apart.', { pointer: '/end_date' });
    const owner = { service_owner_email: 'simulated@example.com', service_owner_user_id: 'simulated' };
    const results = Object.values(state.numbers)
      .filter(({ status }) => status === 'active')
      .map(({ e164, type }) => ({
        tn: e164,
        charge_type: 'number',
        ...owner,
        services: [{ name: 'Phone number', cost: prices(type).monthly.toFixed(2), cost_type: 'MRC' }],
      }));
    return data({
      currency: 'USD',
      start_date: start,
      end_date: end,
      results,
      user_email: owner.service_owner_email,
      user_id: owner.service_owner_user_id,
    } satisfies ChargesBreakdownRetrieveResponse['data']);
  }

  return {
    routes: [
      { at: 'GET /available_phone_numbers', op: 'numbers.search', handle: search },
      { at: 'POST /number_orders', op: 'numbers.order', handle: order },
      {
        at: 'GET /number_orders',
        op: 'numbers.orders',
        handle: (call) => {
          const wanted = call.query.get('filter[customer_reference]');
          const all = Object.values(state.orders).filter((one) => wanted === null || one.reference === wanted);
          return page(
            call,
            all.map((one) => orderShape(state, one)),
          );
        },
      },
      {
        at: 'GET /number_orders/:id',
        op: 'numbers.readOrder',
        handle: ({ params }) => {
          const made = state.orders[params.id as string];
          if (made === undefined) throw notFound('number order');
          return data(orderShape(state, made));
        },
      },
      { at: 'GET /phone_numbers', op: 'numbers.list', handle: list },
      { at: 'GET /phone_numbers/:id', op: 'numbers.read', handle: (call) => data(numberShape(held(call))) },
      { at: 'PATCH /phone_numbers/:id', op: 'numbers.change', handle: change },
      { at: 'DELETE /phone_numbers/:id', op: 'numbers.release', handle: release },
      {
        at: 'GET /phone_numbers/:id/messaging',
        op: 'numbers.messaging',
        handle: (call) => data(messagingShape(held(call))),
      },
      { at: 'PATCH /phone_numbers/:id/messaging', op: 'numbers.assign', handle: assign },
      { at: 'GET /charges_breakdown', op: 'numbers.charges', handle: charges },
    ],
    jobs: { 'order.done': complete },
  };
}

/** The current holder, in any state but given up. */
export function holderOf(state: State, e164: string): SimNumber | null {
  return (
    Object.values(state.numbers).find(
      (number) => number.e164 === e164 && number.status !== 'deleted' && number.status !== 'ported-out',
    ) ?? null
  );
}

export function typeOf(e164: string): 'local' | 'toll_free' {
  return tollFreeCodes.includes(e164.slice(2, 5)) ? 'toll_free' : 'local';
}

export function addNumber(
  world: World,
  e164: string,
  from: {
    reference: string | null;
    profileId: string | null;
    connectionId: string | null;
    source: SimNumber['source'];
    status: SimNumber['status'];
  },
): SimNumber {
  const number: SimNumber = {
    id: world.id(),
    e164,
    type: typeOf(e164),
    status: from.status,
    profileId: from.profileId,
    connectionId: from.connectionId,
    source: from.source,
    reference: from.reference,
    boughtAt: world.now(),
    tags: [],
  };
  world.state.numbers[number.id] = number;
  return number;
}

function codesOf(country: string, code: string | null, locality: string | undefined): string[] {
  if (country !== 'US' && country !== 'CA') return [];
  if (code !== null && locality === undefined)
    return /^[2-9]\d\d$/.test(code) && !tollFreeCodes.includes(code) && placeOf(code).country === country ? [code] : [];
  return places
    .filter((place) => place.country === country)
    .filter((place) => code === null || place.code === code)
    .filter((place) => locality === undefined || place.city.toLowerCase() === locality)
    .map((place) => place.code);
}

function offer(e164: string, type: 'local' | 'toll_free'): AvailablePhoneNumberListResponse.Data {
  const { city, state, country } = placeOf(e164.slice(2, 5));
  const price = prices(type);
  return {
    record_type: 'available_phone_number',
    phone_number: e164,
    vanity_format: '',
    best_effort: false,
    quickship: true,
    reservable: true,
    region_information:
      type === 'toll_free'
        ? [{ region_type: 'country_code', region_name: 'US' }]
        : [
            { region_type: 'country_code', region_name: country },
            { region_type: 'state', region_name: state },
            { region_type: 'rate_center', region_name: city.toUpperCase() },
            { region_type: 'location', region_name: city },
          ],
    cost_information: {
      monthly_cost: price.monthly.toFixed(2),
      upfront_cost: price.upfront.toFixed(2),
      currency: 'USD',
    },
    features: [{ name: 'sms' }, { name: 'mms' }, { name: 'voice' }],
  };
}

function orderShape(state: State, made: SimOrder): NumberOrderWithPhoneNumbers {
  return {
    id: made.id,
    record_type: 'number_order',
    status: made.status,
    phone_numbers_count: made.e164s.length,
    phone_numbers: made.e164s.map((e164) => ({
      id: holderOf(state, e164)?.id ?? made.id,
      record_type: 'number_order_phone_number',
      phone_number: e164,
      phone_number_type: typeOf(e164),
      country_code: placeOf(e164.slice(2, 5)).country,
      status: made.status,
      requirements_met: true,
      requirements_status: 'approved',
      regulatory_requirements: [],
    })),
    requirements_met: true,
    ...(made.reference === null ? {} : { customer_reference: made.reference }),
    ...(made.profileId === null ? {} : { messaging_profile_id: made.profileId }),
    ...(made.connectionId === null ? {} : { connection_id: made.connectionId }),
    created_at: made.createdAt,
    updated_at: made.createdAt,
  };
}

function numberShape(number: SimNumber): PhoneNumberDetailed {
  return {
    id: number.id,
    record_type: 'phone_number',
    phone_number: number.e164,
    phone_number_type: number.type,
    country_iso_alpha2: placeOf(number.e164.slice(2, 5)).country,
    status: number.status,
    tags: number.tags,
    messaging_profile_id: number.profileId,
    connection_id: number.connectionId,
    customer_reference: number.reference,
    deletion_lock_enabled: false,
    external_pin: null,
    source_type: number.source,
    purchased_at: number.boughtAt,
    created_at: number.boughtAt,
    updated_at: number.boughtAt,
  };
}

function messagingShape(number: SimNumber) {
  return {
    id: number.id,
    record_type: 'messaging_settings',
    phone_number: number.e164,
    messaging_profile_id: number.profileId,
    country_code: placeOf(number.e164.slice(2, 5)).country,
    type: number.type === 'toll_free' ? 'toll-free' : 'long-code',
    traffic_type: 'A2P',
    messaging_product: 'A2P',
    eligible_messaging_products: ['A2P'],
    features: { sms: { domestic_two_way: true, international_inbound: false, international_outbound: false } },
    health: { message_count: 0, inbound_outbound_ratio: 0, success_ratio: 0, spam_ratio: 0 },
    tags: number.tags,
    created_at: number.boughtAt,
    updated_at: number.boughtAt,
  };
}
