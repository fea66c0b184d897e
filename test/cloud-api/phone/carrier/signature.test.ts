/** Our check of the carrier's signature against that of the carrier's own client, and against what the simulator signs. */
import { randomBytes } from 'node:crypto';
import Telnyx from 'telnyx';
import { expect, test } from 'vitest';
import { isSigned, readPublicKey } from '../../../../src/cloud-api/phone/carrier/telnyx/signature.ts';
import { startSimulator } from '../../../support/phone/simulator.ts';
import { eventText, newKey } from '../webhooks/support.ts';

const telnyx = new Telnyx({ apiKey: 'KEY', publicKey: null });

async function both(publicKey: string, body: string, headers: Record<string, string>) {
  const ours = isSigned(readPublicKey(publicKey)!, headers, Buffer.from(body), Date.now());
  const theirs = await telnyx.webhooks.unwrap(body, { headers, key: publicKey }).then(
    () => true,
    () => false,
  );
  return [ours, theirs];
}

test('what the carrier’s own client believes we believe, and nothing else', async () => {
  const key = newKey();
  const text = eventText('evt_1', 'message.received', { text: 'Grüße | 👍🏽 \u2028' });
  const now = Date.now();
  const good = key.headers(text, now);
  expect(await both(key.publicKey, text, good)).toEqual([true, true]);
  expect(await both(key.publicKey, text, key.headers(text, now - 295_000))).toEqual([true, true]);
  const bad: [string, Record<string, string>][] = [
    [text.replace('Gr', 'gr'), good],
    [`${text}\n`, good],
    [text, newKey().headers(text, now)],
    [text, key.headers(text, now - 310_000)],
    [text, key.headers(text, now + 310_000)],
    [text, { ...good, 'telnyx-timestamp': `${Number(good['telnyx-timestamp']) + 1}` }],
    [text, { ...good, 'telnyx-signature-ed25519': randomBytes(64).toString('base64') }],
    [text, { ...good, 'telnyx-signature-ed25519': '' }],
    [text, { ...good, 'telnyx-timestamp': 'soon' }],
  ];
  for (const [body, headers] of bad)
    expect([headers, await both(key.publicKey, body, headers)]).toEqual([headers, [false, false]]);
});

test('the simulator signs as the carrier does', async () => {
  await using simulated = await startSimulator();
  const { sim } = simulated;
  const text = eventText('evt_1');
  const seconds = Math.floor(Date.now() / 1000);
  const headers = { 'telnyx-timestamp': String(seconds), 'telnyx-signature-ed25519': sim.sign(seconds, text) };
  expect(await both(sim.publicKey, text, headers)).toEqual([true, true]);
});

test('what is no key of 32 bytes is none', () => {
  for (const key of ['', 'x', '!!!!', Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64')]) {
    expect(readPublicKey(key)).toBe(null);
  }
});
