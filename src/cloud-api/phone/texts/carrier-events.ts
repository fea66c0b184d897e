/** Reads the carrier's events of texts, leniently, because another party writes these payloads. Pure. */
import { z } from 'zod';
import type { Media } from '../../../contracts/phone/texts.ts';
import { kindOfTextError } from '../carrier/telnyx/faults.ts';
import { microUsdOf } from '../fees.ts';
import type { CarrierEvent } from '../ports.ts';

const text = z.string().nullish();
/** Its cost; null: the carrier does not say, or not yet. */
const Cost = z.looseObject({ amount: text, currency: text }).nullish().catch(null);
const microUsdIn = (cost: z.infer<typeof Cost>) => microUsdOf(cost?.amount, cost?.currency ?? undefined);

const numbers = z.array(z.looseObject({ phone_number: z.string() }));
const Attached = z.looseObject({ url: z.string().max(4000), content_type: text, size: z.number().nullish() });
const maxMedia = 50;

/** Who wrote what to whom; no other field is worth losing a text over. */
const Inbound = z.looseObject({
  id: z.string().min(1).max(200),
  from: z.looseObject({ phone_number: z.string().min(1).max(40) }),
  to: numbers.min(1),
  // For a text to a group: the other recipients.
  cc: numbers.nullish().catch(null),
  text,
  media: z.array(z.unknown()).nullish().catch(null),
  parts: z.number().nullish().catch(null),
  received_at: text.catch(null),
  autoresponse_type: text.catch(null),
  cost: Cost,
});

export interface InboundText {
  readonly carrierId: string;
  /** A number, a short code or an alphanumeric sender. */
  readonly from: string;
  readonly to: readonly string[];
  readonly text: string;
  readonly media: readonly Media[];
  readonly parts: number;
  /** When it was sent, milliseconds since the epoch; never later than it arrived. */
  readonly saidAt: number;
  /** The carrier has answered this keyword itself. */
  readonly isAnswered: boolean;
  /** Millionths of a dollar; null: not given. */
  readonly microUsd: number | null;
}

/** Null: the event cannot be read. */
export function readInbound(event: CarrierEvent): InboundText | null {
  const parsed = Inbound.safeParse(event.payload);
  if (!parsed.success) return null;
  const { id, from, to, cc, parts, received_at: receivedAt, autoresponse_type: answered } = parsed.data;
  const said = Date.parse(receivedAt ?? '');
  const saidAt = Math.min(Number.isNaN(said) ? event.occurredAt : said, event.receivedAt);
  const media = (parsed.data.media ?? []).flatMap((one) => mediumIn(one) ?? []).slice(0, maxMedia);
  return {
    carrierId: id,
    from: from.phone_number,
    to: [...to, ...(cc ?? [])].map((one) => one.phone_number),
    // Drops characters that a database cannot store.
    text: (parsed.data.text ?? '').replaceAll('\u0000', ''),
    media,
    parts: Number.isSafeInteger(parts) ? (parts as number) : 1,
    saidAt,
    isAnswered: (answered ?? '') !== '',
    microUsd: microUsdIn(parsed.data.cost),
  };
}

function mediumIn(attached: unknown): Media | null {
  const { success, data } = Attached.safeParse(attached);
  if (!success) return null;
  const size = Number.isSafeInteger(data.size) ? (data.size as number) : null;
  return { url: data.url, contentType: data.content_type ?? null, size };
}

const Receipt = z.looseObject({
  id: z.string().min(1).max(200),
  direction: text,
  to: z.array(z.looseObject({ status: text })).nullish(),
  tags: z.array(z.string()).nullish(),
  webhook_url: text,
  parts: z.number().nullish(),
  errors: z
    .array(z.looseObject({ code: z.union([z.string(), z.number()]).nullish(), title: text, detail: text }))
    .nullish(),
  cost: Cost,
});

export interface TextReceipt {
  readonly carrierId: string;
  readonly tags: readonly string[];
  readonly status: 'sent' | 'delivered' | 'unconfirmed' | 'failed';
  readonly parts: number | null;
  readonly code: string;
  readonly said: string;
  /** The carrier blocked it because its recipient said STOP. */
  readonly isBlocked: boolean;
  /** Milliseconds since the epoch; never later than it arrived. */
  readonly at: number;
  /** Millionths of a dollar; null: not given. */
  readonly microUsd: number | null;
}

const statusOf: Readonly<Record<string, TextReceipt['status']>> = {
  queued: 'sent',
  sending: 'sent',
  sent: 'sent',
  delivered: 'delivered',
  delivery_unconfirmed: 'unconfirmed',
  sending_failed: 'failed',
  delivery_failed: 'failed',
  expired: 'failed',
};

/** Null: it reports nothing about an outbound text. */
export function readReceipt(event: CarrierEvent): TextReceipt | null {
  const parsed = Receipt.safeParse(event.payload);
  if (!parsed.success || parsed.data.direction === 'inbound') return null;
  const { id, to, tags, webhook_url: url, parts, errors } = parsed.data;
  const status = statusOf[to?.[0]?.status ?? ''];
  if (status === undefined) return null;
  const error = errors?.[0];
  const code = String(error?.code ?? '');
  const words = { code, title: error?.title ?? '', detail: error?.detail ?? '' };
  return {
    carrierId: id,
    tags: [...(tags ?? []), ...tagsIn(url ?? '')],
    status,
    parts: Number.isSafeInteger(parts) && (parts as number) > 0 ? (parts as number) : null,
    code,
    said: error?.detail ?? error?.title ?? 'It was not delivered.',
    isBlocked: status === 'failed' && kindOfTextError(words) === 'opted_out',
    at: Math.min(event.occurredAt, event.receivedAt),
    microUsd: microUsdIn(parsed.data.cost),
  };
}

/** The wire has no field of ours: the address of a text's receipts carries its tag. */
function tagsIn(url: string): string[] {
  return URL.canParse(url) ? new URL(url).searchParams.getAll('tag') : [];
}
