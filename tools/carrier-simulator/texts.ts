/** Texts that an account sends: accepted or refused, on their way, their receipts. Inbound texts are in inbound.ts. */

import segments from 'sms-segments-calculator';
import type { DetailRecordListResponse } from 'telnyx/resources/detail-records';
import type { OutboundMessagePayload } from 'telnyx/resources/messages/messages';
import { endingOf } from './endings.ts';
import { type Call, data, optional, page, type Reply, type Route, required, texts } from './exchange.ts';
import type { JobHandlers } from './jobs.ts';
import { holderOf } from './numbers.ts';
import { placeOf } from './places.ts';
import { textsHaveCome } from './ports.ts';
import { notFound, refused } from './refusal.ts';
import type { SimNumber, SimText } from './state.ts';
import type { World } from './world.ts';

const maxParts = 10;
/** Dollars per part. */
const price = 0.004;
/** Limit of stored texts: all of them are in its file, which is written whole. */
const maxTexts = 5_000;

type Status = NonNullable<NonNullable<OutboundMessagePayload['to']>[number]['status']>;

export interface Texts {
  readonly routes: readonly Route[];
  readonly jobs: JobHandlers;
  /** One of the carrier's own: an answer to a keyword, a code. It reaches its phone at once. */
  sendOwn(from: string, to: string, text: string, profileId: string | null): void;
  keep(text: SimText): void;
}

export function countParts(text: string): { readonly parts: number; readonly encoding: string } {
  const counted = new segments.SegmentedMessage(text);
  return { parts: counted.segmentsCount, encoding: counted.encodingName };
}

export function createTexts(world: World): Texts {
  const { state } = world;

  function keep(text: SimText): void {
    state.texts.push(text);
    if (state.texts.length > maxTexts) state.texts.splice(0, state.texts.length - maxTexts);
  }

  function send({ body }: Call): Reply {
    const to = required(body, 'to');
    const from = required(body, 'from');
    const text = optional(body, 'text') ?? '';
    if (!/^\+[1-9]\d{7,14}$/.test(to)) throw refused(400, '40310', "Invalid 'to' address", `${to} is not valid.`);
    const sender = holderOf(state, from);
    if (sender === null || sender.status !== 'active' || sender.profileId === null)
      throw refused(400, '40305', "Invalid 'from' address", `${from} is not on a messaging profile of this account.`);
    if (!textsHaveCome(state, from))
      throw refused(400, '40320', 'Number not ready', `Messaging of ${from} has not been ported yet.`);
    const asked = optional(body, 'messaging_profile_id');
    if (asked !== undefined && asked !== sender.profileId)
      throw refused(
        400,
        '40305',
        "Invalid 'from' address",
        `${from} does not belong to the messaging profile ${asked}.`,
      );
    const profile = state.profiles[sender.profileId];
    if (profile === undefined || !profile.enabled)
      throw refused(400, '40312', 'Messaging profile is disabled', 'The messaging profile is disabled.');
    const country = to.startsWith('+1') ? placeOf(to.slice(2, 5)).country : '';
    if (!profile.destinations.includes(country))
      throw refused(400, '40309', 'Invalid destination region', `Messages to ${to} are not allowed by the profile.`);
    if (text === '') throw refused(422, '40316', 'No content provided', "Either 'text' or 'media_urls' is required.");
    const { parts, encoding } = countParts(text);
    if (parts > maxParts)
      throw refused(400, '40302', 'Message too large', `The message has ${parts} parts, more than 10.`);
    const blocked = state.optOuts.some((one) => one.profileId === profile.id && one.from === to && one.to === from);
    if (blocked || world.strikes('blocked', to) !== null)
      throw refused(
        400,
        '40300',
        'Blocked due to STOP message',
        `Messages cannot be sent from ${from} to ${to}: STOP.`,
      );
    const made: SimText = {
      id: world.id(),
      direction: 'outbound',
      from,
      to,
      text,
      parts,
      encoding,
      media: [],
      status: 'queued',
      errors: [],
      profileId: profile.id,
      webhookUrl: optional(body, 'webhook_url') ?? profile.webhookUrl,
      tags: texts(body, 'tags'),
      own: false,
      at: world.now(),
    };
    world.charge('text', price * parts, made.id);
    keep(made);
    world.later({ what: `text to ${to}: sent`, kind: 'text.sent', args: { id: made.id }, after: 500 });
    return data(shape(made));
  }

  function sent({ id = '' }: Record<string, string>): void {
    const text = state.texts.findLast((one) => one.id === id);
    if (text?.status !== 'queued') return;
    text.status = 'sent';
    world.emit(text.webhookUrl, 'message.sent', { ...shape(text) });
    const slow = endingOf(text.to)?.slowMs ?? 0;
    world.later({ what: `text to ${text.to}: arrives`, kind: 'text.arrived', args: { id }, after: 1_500 + slow });
  }

  function arrived({ id = '' }: Record<string, string>): void {
    const text = state.texts.findLast((one) => one.id === id);
    if (text?.status !== 'sent') return;
    const [status, error] = outcome(text);
    text.status = status;
    if (error !== null) text.errors.push(error);
    world.emit(text.webhookUrl, 'message.finalized', { ...shape(text), completed_at: world.now() });
  }

  function outcome(text: SimText): [Status, SimText['errors'][number] | null] {
    const struck = world.strikes('delivery', text.to);
    if (struck !== null) {
      const code = String(struck.given.code ?? '40008');
      return ['delivery_failed', { code, title: 'Undeliverable', detail: `The carrier did not accept it (${code}).` }];
    }
    if (world.strikes('delivery_unconfirmed', text.to) !== null) return ['delivery_unconfirmed', null];
    const sender = holderOf(state, text.from);
    const registered = sender === null ? null : registration(sender);
    if (registered !== null) return ['delivery_failed', registered];
    const ending = endingOf(text.to);
    if (ending?.status !== undefined) return [ending.status, ending.error ?? null];
    return ['delivered', null];
  }

  /** The networks' error for an unregistered sender. */
  function registration(sender: SimNumber): SimText['errors'][number] | null {
    if (sender.type === 'toll_free') {
      const verified = Object.values(state.tollFree).some(
        ({ asked, status, inUse }) =>
          (status === 'Verified' || inUse === true) &&
          (asked.phoneNumbers as { phoneNumber?: string }[] | undefined)?.some(
            (one) => one.phoneNumber === sender.e164,
          ),
      );
      return verified
        ? null
        : { code: '40329', title: 'Toll-free number not verified', detail: `${sender.e164} is not verified.` };
    }
    if (placeOf(sender.e164.slice(2, 5)).country === 'CA') return null;
    const assigned = state.assignments[sender.e164];
    const campaign = assigned === undefined ? undefined : state.campaigns[assigned.campaignId];
    const isUsable = campaign?.state === 'MNO_PROVISIONED' || campaign?.inUse === true;
    return assigned?.status === 'ASSIGNED' && isUsable && campaign.status === 'ACTIVE'
      ? null
      : { code: '40010', title: 'Message not sent', detail: `${sender.e164} is not registered for 10DLC.` };
  }

  function records(call: Call): Reply {
    const asked = (name: string) => call.query.get(`filter[${name}]`);
    if (asked('record_type') !== 'messaging')
      throw refused(400, '10015', 'Bad Request', 'filter[record_type] is messaging here.');
    const from = asked('cli');
    const to = asked('cld');
    const since = asked('created_at][gte') ?? '';
    const found = state.texts.filter(
      (one) =>
        !one.own &&
        (asked('direction') ?? one.direction) === one.direction &&
        (from === null || one.from === from) &&
        (to === null || one.to === to) &&
        one.at >= since,
    );
    // Newest first, as the list is read.
    found.reverse();
    return page(
      call,
      found.map(
        (one): DetailRecordListResponse.MessageDetailRecord => ({
          record_type: 'message_detail_record',
          uuid: one.id,
          cli: one.from,
          cld: one.to,
          direction: one.direction,
          message_type: one.media.length > 0 ? 'MMS' : 'SMS',
          parts: one.parts,
          ...(one.profileId === null ? {} : { profile_id: one.profileId }),
          ...(one.webhookUrl === null ? {} : { delivery_status_webhook_url: one.webhookUrl }),
          delivery_status: one.status,
          tags: one.tags.join(','),
          created_at: one.at,
        }),
      ),
    );
  }

  return {
    routes: [
      { at: 'POST /messages', op: 'texts.send', handle: send },
      {
        at: 'GET /messages/:id',
        op: 'texts.read',
        handle: ({ params }) => {
          const found = state.texts.findLast(({ id }) => id === params.id);
          if (found === undefined) throw notFound('message');
          return data(shape(found));
        },
      },
      { at: 'GET /detail_records', op: 'texts.records', handle: records },
    ],
    jobs: { 'text.sent': sent, 'text.arrived': arrived },
    keep,
    sendOwn(from, to, text, profileId) {
      keep({
        id: world.id(),
        direction: 'outbound',
        from,
        to,
        text,
        ...countParts(text),
        media: [],
        status: 'delivered',
        errors: [],
        profileId,
        webhookUrl: null,
        tags: [],
        own: true,
        at: world.now(),
      });
    },
  };
}

const costOf = ({ parts }: SimText) => (price * parts).toFixed(4);

function shape(text: SimText): OutboundMessagePayload {
  return {
    id: text.id,
    record_type: 'message',
    direction: 'outbound',
    type: 'SMS',
    from: { phone_number: text.from, carrier: 'Telnyx', line_type: 'Wireless' },
    to: [{ phone_number: text.to, status: text.status as Status, carrier: 'Simulated Mobile', line_type: 'Wireless' }],
    text: text.text,
    parts: text.parts,
    encoding: text.encoding,
    ...(text.profileId === null ? {} : { messaging_profile_id: text.profileId }),
    webhook_url: text.webhookUrl,
    media: [],
    tags: [...text.tags],
    errors: text.errors,
    received_at: text.at,
    sent_at: text.status === 'queued' ? null : text.at,
    completed_at: null,
    cost: text.direction === 'outbound' && !text.own ? { amount: costOf(text), currency: 'USD' } : null,
  };
}
