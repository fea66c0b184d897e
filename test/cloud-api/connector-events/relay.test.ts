/** Events on their way from a server's post to the computer, through the real cloud API, its lanes and a real engine's door. */
import { expect, test } from 'vitest';
import { waitFor } from '../../runtime-server/engine.ts';
import { newSecret, startConnectorPair, sub } from './support.ts';

test('what a server posts is brought to the computer once and in order, as it was signed', async () => {
  const pair = await startConnectorPair();
  const secret = newSecret();
  const path = await pair.register(secret);
  expect((await pair.send(path, secret, 'evt_1', { cursor: 'c1' })).json).toEqual({ status: 'accepted' });
  for (let count = 2; count <= 80; count += 1) {
    expect((await pair.send(path, secret, `evt_${count}`)).status).toBe(202);
  }
  const again = await pair.send(path, secret, 'evt_1', { cursor: 'c2' });
  expect([again.status, again.json]).toEqual([202, { status: 'duplicate' }]);
  await waitFor(
    async () => pair.eventIds(),
    (ids) => ids.length === 80,
  );
  expect(pair.eventIds()).toEqual(Array.from({ length: 80 }, (_, index) => `evt_${index + 1}`));
  expect(pair.delivered[0]).toEqual({
    subscriptionKey: sub,
    event: { eventId: 'evt_1', name: 'issue.opened', timestamp: '2026-01-02T03:04:05Z', data: { n: 1 }, cursor: 'c1' },
    receivedAt: expect.any(String),
  });
});
