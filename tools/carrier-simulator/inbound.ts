/**
 * Texts from handsets to numbers of the account: the keywords, the carrier's own answers to them, its block list, and
 * the event that it posts.
 */
import { createHash } from 'node:crypto';
import type { MessagingInboundMessagePayload } from 'telnyx/resources/messages/messages';
import type { Reply, Route } from './exchange.ts';
import { holderOf } from './numbers.ts';
import { textsHaveCome } from './ports.ts';
import { helpWords, startWords, stopWords } from './profiles.ts';
import { notFound, refused } from './refusal.ts';
import type { SimText } from './state.ts';
import { countParts, type Texts } from './texts.ts';
import type { World } from './world.ts';

/** The carrier's documentation shows a digest of this length. */
const hashLength = 32;

/** One pixel. */
const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

/** The carrier's words for a profile without its own. */
const usual = {
  stop: 'You have successfully been unsubscribed. You will not receive any more messages from this number. Reply START to resubscribe.',
  start:
    'You have successfully been re-subscribed to messages from this number. Reply HELP for help. Reply STOP to unsubscribe. Msg&Data Rates May Apply.',
  info: 'Reply STOP to unsubscribe. Msg&Data Rates May Apply.',
} as const;

export interface Inbound {
  readonly routes: readonly Route[];
  /** Somebody texts a number. Returns its id. Throws if the number is nobody's here. */
  text(asked: { readonly from: string; readonly to: string; readonly text: string; readonly media?: boolean }): string;
}

export function createInbound(world: World, outbound: Texts): Inbound {
  const { state } = world;

  function text(asked: Parameters<Inbound['text']>[0]): string {
    const number = holderOf(state, asked.to);
    const profile =
      number?.status === 'active' && number.profileId !== null ? state.profiles[number.profileId] : undefined;
    if (profile === undefined || !textsHaveCome(state, asked.to))
      throw refused(400, '40008', 'Undeliverable', `No number ${asked.to} takes texts here.`);
    const id = world.id();
    const media = asked.media
      ? [{ url: `${world.origin()}/media/${id}.png`, content_type: 'image/png', size: picture.length }]
      : [];
    const kept: SimText = {
      id,
      direction: 'inbound',
      from: asked.from,
      to: asked.to,
      text: asked.text,
      ...countParts(asked.text),
      media,
      status: 'received',
      errors: [],
      profileId: profile.id,
      webhookUrl: profile.webhookUrl,
      tags: [],
      own: false,
      at: world.now(),
    };
    outbound.keep(kept);
    const keyword = keywordOf(profile.id, asked.text);
    if (keyword !== null) obey(keyword, kept, profile.id);
    if (profile.webhookUrl !== null)
      world.emit(profile.webhookUrl, 'message.received', { ...shape(kept, keyword?.op ?? null) });
    return id;
  }

  function keywordOf(profileId: string, said: string): { op: 'stop' | 'start' | 'info'; word: string } | null {
    const word = said.trim().toUpperCase();
    const own = state.autoResponses.find((one) => one.profileId === profileId && one.keywords.includes(word));
    if (own !== undefined) return { op: own.op, word };
    if (stopWords.includes(word)) return { op: 'stop', word };
    if (startWords.includes(word)) return { op: 'start', word };
    return helpWords.includes(word) ? { op: 'info', word } : null;
  }

  function obey(keyword: { op: 'stop' | 'start' | 'info'; word: string }, said: SimText, profileId: string): void {
    const { op, word } = keyword;
    const ofPair = (one: { profileId: string; from: string; to: string }) =>
      one.profileId === profileId && one.from === said.from && one.to === said.to;
    // A blocked sender gets no further reply.
    if (op === 'stop' && state.optOuts.some(ofPair)) return;
    if (op === 'stop') state.optOuts.push({ profileId, from: said.from, to: said.to, keyword: word, at: world.now() });
    if (op === 'start') state.optOuts = state.optOuts.filter((one) => !ofPair(one));
    const own = state.autoResponses.find((one) => one.profileId === profileId && one.op === op);
    outbound.sendOwn(said.to, said.from, own?.text ?? usual[op], profileId);
  }

  return {
    text,
    routes: [{ at: 'GET /media/:file', op: 'media', handle: pictureOf }],
  };

  function pictureOf({ params }: { params: Readonly<Record<string, string>> }): Reply {
    const id = (params.file ?? '').replace(/\.png$/, '');
    if (!state.texts.some((one) => one.id === id && one.media.length > 0)) throw notFound('media');
    return { status: 200, body: picture, type: 'image/png' };
  }
}

const said = { stop: 'STOP', start: 'START', info: 'HELP' } as const;

function shape(text: SimText, keyword: keyof typeof said | null): MessagingInboundMessagePayload {
  const lineType = text.from.startsWith('+') ? ('Wireless' as const) : ('' as const);
  return {
    id: text.id,
    record_type: 'message',
    direction: 'inbound',
    type: text.media.length > 0 ? 'MMS' : 'SMS',
    from: { phone_number: text.from, carrier: 'Simulated Mobile', line_type: lineType, status: 'received' },
    to: [{ phone_number: text.to, carrier: 'Telnyx', line_type: 'Wireless', status: 'webhook_delivered' }],
    cc: [],
    text: text.text,
    media: text.media.map((one) => ({
      ...one,
      hash_sha256: createHash('sha256').update(picture).digest('hex').slice(0, hashLength),
    })),
    parts: text.parts,
    encoding: text.encoding,
    errors: [],
    tags: [],
    ...(text.profileId === null ? {} : { messaging_profile_id: text.profileId }),
    ...(keyword === null ? {} : { autoresponse_type: said[keyword] }),
    received_at: text.at,
    sent_at: null,
    completed_at: null,
    cost: null,
    webhook_url: text.webhookUrl,
    webhook_failover_url: null,
  };
}
