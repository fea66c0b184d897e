import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readInbound, readReceipt } from '../../../../src/cloud-api/phone/texts/carrier-events.ts';
import { deliveryReason } from '../../../../src/cloud-api/phone/texts/delivery-errors.ts';
import { phoneTextMigrations } from '../../../../src/cloud-api/phone/texts/migrations.ts';
import { type TextStatus, textMoves } from '../../../../src/cloud-api/phone/texts/model.ts';
import { partsOf, tooLong } from '../../../../src/cloud-api/phone/texts/parts.ts';
import { addText, findText, moveText } from '../../../../src/cloud-api/phone/texts/store.ts';
import { textStatuses } from '../../../../src/contracts/phone/texts.ts';
import { engines } from '../../../support/engines.ts';

const at = 1_760_000_000_000;

describe.each(engines)('the status of a text, on $name', ({ place }) => {
  test('goes only where the table lets it, from every status to every other', async () => {
    const store = await (await place()).open(phoneTextMigrations);
    for (const from of textStatuses) {
      for (const to of textStatuses) {
        const id = `text_${from}_${to}`;
        const about = {
          id,
          numberId: 'n',
          userId: 'u',
          ours: '+1',
          peer: '+2',
          direction: 'out',
          text: '',
          media: '[]',
        } as const;
        const rest = {
          reason: null,
          code: null,
          by: 'bot',
          kind: null,
          botId: null,
          botName: null,
          computerId: null,
        } as const;
        const moved = await store.write(function* (tx) {
          yield* addText(tx, {
            ...about,
            ...rest,
            parts: 1,
            status: from,
            carrierKey: null,
            unclear: 0,
            at,
            saidAt: at,
          });
          return yield* moveText(tx, id, to, { reason: 'moved' });
        });
        expect([from, to, moved]).toEqual([from, to, textMoves[from].includes(to)]);
        const row = await store.read((tx) => findText(tx, id));
        expect([row?.status, row?.reason]).toEqual(moved ? [to, 'moved'] : [from, null]);
      }
    }
  });
});

test('what has ended goes nowhere, and nothing goes back to the queue once it was sent', () => {
  const ended: readonly TextStatus[] = ['received', 'kept_back', 'delivered', 'failed', 'cancelled'];
  for (const status of ended) expect(textMoves[status]).toEqual([]);
  for (const status of ['sent', 'unconfirmed'] as const) expect(textMoves[status]).not.toContain('queued');
});

describe('events of the carrier', () => {
  const event = (payload: unknown, type = 'message.received') => ({
    id: 'e1',
    type,
    occurredAt: at,
    receivedAt: at + 500,
    numberId: null,
    payload: payload as Record<string, unknown>,
  });
  const good = { id: 'c1', from: { phone_number: '+12025550199' }, to: [{ phone_number: '+14165550150' }], text: 'Hi' };

  test('are read or left alone, whatever stands in them', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.constantFrom('id', 'from', 'to', 'text', 'media', 'errors', 'received_at', 'parts'),
        (junk, field) => {
          for (const payload of [junk, { ...good, [field]: junk }]) {
            readInbound(event(payload));
            readReceipt(event(payload, 'message.finalized'));
          }
        },
      ),
    );
  });

  test('were said no later than they came, by whatever clock', () => {
    const saidAt = (received_at: unknown) => readInbound(event({ ...good, received_at }))?.saidAt;
    expect(saidAt('2099-01-01T00:00:00Z')).toBe(at + 500);
    expect(saidAt(new Date(at - 1000).toISOString())).toBe(at - 1000);
    expect([saidAt('yesterday'), saidAt(undefined), saidAt(null)]).toEqual([at, at, at]);
  });

  test('name a text by its tag, also within the address of its receipts', () => {
    const receipt = { id: 'c1', direction: 'outbound', to: [{ status: 'delivered' }], tags: ['text_1'] };
    const webhook_url = 'https://cloud.example/hooks?tag=text_2';
    expect(readReceipt(event({ ...receipt, webhook_url }, 'message.finalized'))?.tags).toEqual(['text_1', 'text_2']);
    expect(readReceipt(event({ ...receipt, to: [{ status: 'a new word' }] }, 'message.finalized'))).toBeNull();
    expect(readReceipt(event({ ...receipt, direction: 'inbound' }, 'message.finalized'))).toBeNull();
  });
});

describe('the length of a text', () => {
  test.each([
    ['a'.repeat(160), 1],
    ['a'.repeat(161), 2],
    ['€'.repeat(80), 1],
    ['€'.repeat(81), 2],
    ['🙂'.repeat(35), 1],
    ['🙂'.repeat(36), 2],
  ])('%j is counted as carriers do', (text, parts) => {
    expect(partsOf(text)).toBe(parts);
  });

  test('ends with 1,600 characters or ten parts, whichever is first', () => {
    expect(tooLong('a'.repeat(1530))).toBeNull();
    expect(tooLong('a'.repeat(1531))).toContain('parts');
    expect(tooLong('a'.repeat(1601))).toBe('The text has 1601 characters; the limit is 1600.');
    expect(tooLong('ж'.repeat(670))).toBeNull();
    expect(tooLong('ж'.repeat(671))).toContain('parts');
    expect(tooLong('[]'.repeat(500))).toContain('14 parts');
  });
});

test('a failure is told in words, with the code where there is one', () => {
  expect(deliveryReason('40010', 'x')).toBe(
    'The number is not registered for texting there yet. See its registration. (40010)',
  );
  expect(deliveryReason('49999', 'Something new')).toBe('Something new. (49999)');
  expect(deliveryReason('', 'Nobody is there.')).toBe('Nobody is there.');
});
