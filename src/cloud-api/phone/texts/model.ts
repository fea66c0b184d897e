/** A text as stored, its transitions, and its wire shape. Pure. Must not know SQL or the carrier. */
import type { Media, TextMessage, textStatuses } from '../../../contracts/phone/texts.ts';
import { iso } from '../../../kit/clock/clock.ts';

export type TextStatus = (typeof textStatuses)[number];

/** The service's own texts, and the reason for each. */
export type ServiceKind = 'stop' | 'start' | 'help' | 'own' | 'approval';

/** Times in milliseconds since the epoch. */
export interface TextRow {
  readonly id: string;
  readonly numberId: string;
  readonly userId: string;
  /** The number's own E.164. */
  readonly ours: string;
  /** The other side. */
  readonly peer: string;
  readonly direction: 'in' | 'out';
  readonly text: string;
  /** JSON of {@link Media}. */
  readonly media: string;
  readonly parts: number;
  readonly status: TextStatus;
  readonly reason: string | null;
  /** The carrier's error code of a failure. */
  readonly code: string | null;
  readonly by: 'person' | 'bot' | 'service' | null;
  readonly kind: ServiceKind | null;
  readonly botId: string | null;
  readonly botName: string | null;
  /** The computer that receives it, or that requested it. */
  readonly computerId: string | null;
  readonly carrierKey: string | null;
  /** 1: it may mean STOP. */
  readonly unclear: number;
  readonly at: number;
  readonly saidAt: number;
  readonly leftAt: number | null;
  readonly relayedAt: number | null;
}

/**
 * The moves of an outbound text, by status. Carriers' receipts come late, twice and out of order: a final status stays, except `unconfirmed`, which
 * only says that the outcome is unknown.
 */
export const textMoves: Readonly<Record<TextStatus, readonly TextStatus[]>> = {
  received: [],
  kept_back: [],
  queued: ['sending', 'failed', 'cancelled'],
  sending: ['queued', 'sent', 'delivered', 'unconfirmed', 'failed', 'cancelled'],
  sent: ['delivered', 'unconfirmed', 'failed'],
  unconfirmed: ['delivered', 'failed'],
  delivered: [],
  failed: [],
  cancelled: [],
};

export const statusesBefore = (to: TextStatus): TextStatus[] =>
  (Object.keys(textMoves) as TextStatus[]).filter((from) => textMoves[from].includes(to));

/** Texts that go out although their recipient said STOP: the confirmation, and what they asked for. */
export const exemptKinds: readonly ServiceKind[] = ['stop', 'help'];

export const isExempt = ({ by, kind }: Pick<TextRow, 'by' | 'kind'>): boolean =>
  by === 'service' && kind !== null && exemptKinds.includes(kind);

/** The code appears only on the person's own phone: keys and programs read this list, too. */
const withoutCode = (text: string) => text.replace(/\b(YES|NO) \d{6}\b/g, '$1 ······');

export function toMessage(row: TextRow): TextMessage {
  const inward = row.direction === 'in';
  return {
    id: row.id,
    numberId: row.numberId,
    direction: row.direction,
    from: inward ? row.peer : row.ours,
    to: inward ? row.ours : row.peer,
    text: row.kind === 'approval' ? withoutCode(row.text) : row.text,
    media: JSON.parse(row.media) as Media[],
    parts: row.parts,
    status: row.status,
    reason: row.reason,
    by: row.by,
    botId: row.botId,
    at: iso(row.at),
  };
}
