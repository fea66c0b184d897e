/**
 * Texts on their way from a thread to the cloud: an outbox a conversation, each sent once (the cloud knows it by its key). Owns what the cloud's
 * answers mean to the sender. Must not know carriers.
 */
import { sendText } from '../../contracts/phone/texts.ts';
import { maxTextLength } from '../../contracts/phone/values.ts';
import type { LaneItem, LaneOutcome, Lanes } from '../../kit/lane/lane.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { PhoneNumbers } from './numbers.ts';
import type { ChannelOut, OutgoingEnd, OutgoingText } from './ports.ts';

export interface OutgoingDeps {
  readonly openLanes: (worker: {
    send(item: LaneItem, signal: AbortSignal): Promise<LaneOutcome>;
    onExpired(tx: Tx, item: LaneItem): void;
  }) => Lanes;
  readonly numbers: PhoneNumbers;
  /** As this computer's device; `idempotencyKey`: the same one is sent once. */
  readonly call: (request: {
    readonly method: string;
    readonly path: string;
    readonly body: unknown;
    readonly idempotencyKey: string;
    readonly signal: AbortSignal;
  }) => Promise<{ readonly status: number; readonly body: unknown }>;
  readonly clock: { now(): number };
}

interface Outgoing extends ChannelOut {
  wake(): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** One text: its delivery has as many as it was cut into. */
interface Piece extends OutgoingText {
  readonly place: number;
  readonly of: number;
}

/** How long an answer to a text is useful. */
const retentionMs = 24 * 60 * 60_000;

export function createOutgoing({ openLanes, numbers, call, clock }: OutgoingDeps): Outgoing {
  const listeners: Parameters<ChannelOut['onMoved']>[0][] = [];
  const lanes = openLanes({ send, onExpired });

  function moved(tx: Tx, deliveryId: string, end: OutgoingEnd): void {
    for (const listener of listeners) listener(tx, deliveryId, end);
  }

  function end(piece: Piece, state: OutgoingEnd['state'], detail: string): LaneOutcome {
    const which = piece.of === 1 ? '' : ` (text ${piece.place} of ${piece.of})`;
    const commit = (tx: Tx) => moved(tx, piece.deliveryId, { state, detail: `${detail}${which}` });
    if (state !== 'failed') return { to: 'done', ...(piece.place === piece.of && { commit }) };
    return {
      to: 'dead',
      reason: detail,
      commit(tx) {
        commit(tx);
        // The remaining pieces make no sense without it.
        for (let place = piece.place + 1; place <= piece.of; place += 1)
          lanes.remove(tx, idOf(piece.deliveryId, place));
      },
    };
  }

  /** The bot of the thread must have the number now: after a move its old conversations stay, the number does not. */
  async function isOurs({ channel, botId }: Piece, signal: AbortSignal): Promise<boolean> {
    const ours = async () => {
      const number = await numbers.known(channel.numberId);
      return number !== null && number.botId === botId;
    };
    if (await ours()) return true;
    await numbers.read(signal);
    return ours();
  }

  async function send(item: LaneItem, signal: AbortSignal): Promise<LaneOutcome> {
    const piece = item.body as Piece;
    if (!(await isOurs(piece, signal))) return end(piece, 'failed', 'the number no longer belongs to this bot');
    const { numberId, peer } = piece.channel;
    const { method, path } = sendText;
    const body = { numberId, to: peer, text: piece.text };
    const answer = await call({ method, path, body, idempotencyKey: item.id, signal });
    if (answer.status === 200) {
      const { messageId, parts } = answer.body as { messageId: string; parts: number };
      return end(piece, 'best_effort', `sent as a text message (${messageId}, parts: ${parts})`);
    }
    const said = answer.body as { error?: unknown; message?: unknown } | null;
    const why = typeof said?.message === 'string' ? said.message : `the cloud answered ${answer.status}`;
    // Only this text uses the key: its first request was cut off, and asking again would never end.
    if (said?.error === 'idempotency_conflict') {
      return end(piece, 'best_effort', 'the connection to the cloud broke: whether it was sent is unknown');
    }
    // 401: a clock that is off. 502: the carrier refused this text, and 503 with that name: there is no carrier.
    const lasting = answer.status === 502 || said?.error === 'phone_not_configured' || said?.error === 'daily_limit';
    const again = [401, 408, 409, 425, 429].includes(answer.status) || answer.status >= 500;
    return again && !lasting ? { to: 'retry', reason: why } : end(piece, 'failed', why);
  }

  function onExpired(tx: Tx, item: LaneItem): void {
    const { deliveryId } = item.body as Piece;
    moved(tx, deliveryId, { state: 'failed', detail: 'the cloud could not be reached for 24 hours' });
  }

  return {
    onMoved: (listener) => void listeners.push(listener),
    append(tx, text) {
      const pieces = piecesOf(text.text);
      const { numberId, peer } = text.channel;
      if (pieces.length === 0) {
        moved(tx, text.deliveryId, { state: 'failed', detail: 'it has no text' });
        return;
      }
      pieces.forEach((piece, index) => {
        const place = index + 1;
        lanes.append(tx, {
          lane: `${numberId}/${peer}`,
          id: idOf(text.deliveryId, place),
          body: { ...text, text: piece, place, of: pieces.length } satisfies Piece,
          deadline: clock.now() + retentionMs,
        });
      });
      moved(tx, text.deliveryId, { state: 'queued', detail: 'on its way as a text message' });
    },
    wake: () => lanes.wake(),
    start: () => lanes.start(),
    close: () => lanes.close(),
  };
}

const idOf = (deliveryId: string, place: number) => (place === 1 ? deliveryId : `${deliveryId}.${place}`);

/**
 * Ten parts hold 1,530 characters of the seven-bit GSM alphabet (153 a part) and 670 of any other (67 a part). A character of
 * several units, such as a family emoji, is not split between two parts, so up to ten units of each part may stay empty.
 */
const maxPlainLength = 1_530;
const maxOtherLength = 560;
/** An answer of more is no text message. */
export const maxPieces = 4;

/** Characters that every carrier writes in seven bits; any other makes the whole text use its other alphabet. */
const plain = /^[\n\r\x20-\x5a\x61-\x7a_@£$¥èéùìòÇØøÅåÆæßÉÄÖÑÜ§¿äöñüà¡]*$/;

/** Texts that carriers take, in order; the last ends with an ellipsis where the rest was left out. Empty for a blank text. */
export function piecesOf(text: string): readonly string[] {
  const said = text.trim();
  if (said === '') return [];
  const isPlain = plain.test(said);
  const maxLength = Math.min(maxTextLength, isPlain ? maxPlainLength : maxOtherLength);
  // The one letter would cost the whole text its alphabet.
  const ellipsis = isPlain ? '...' : '…';
  const pieces: string[] = [];
  let rest = said;
  while (rest.length > maxLength && pieces.length < maxPieces - 1) {
    const at = cutAt(rest, maxLength);
    pieces.push(rest.slice(0, at).trimEnd());
    rest = rest.slice(at).trimStart();
  }
  const left = () => rest.slice(0, cutAt(rest, maxLength - ellipsis.length)).trimEnd();
  pieces.push(rest.length > maxLength ? `${left()}${ellipsis}` : rest);
  return pieces;
}

/** After a paragraph, a sentence or a word of the second half; never within a character of two units. */
function cutAt(text: string, maxLength: number): number {
  const head = text.slice(0, maxLength);
  for (const mark of ['\n\n', '\n', '. ', ' ']) {
    const at = head.lastIndexOf(mark);
    if (at > maxLength / 2) return at + mark.length;
  }
  const last = head.charCodeAt(maxLength - 1);
  return last >= 0xd800 && last <= 0xdbff ? maxLength - 1 : maxLength;
}
