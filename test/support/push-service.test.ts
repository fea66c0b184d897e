import { afterAll, beforeAll, expect, test } from 'vitest';
import webpush from 'web-push';
import { type PushService, startPushService } from './push-service.ts';

const keys = webpush.generateVAPIDKeys();
let service: PushService;
beforeAll(async () => {
  service = await startPushService();
});
afterAll(() => service.close());

async function send(to: webpush.PushSubscription, text: string): Promise<number> {
  const details = webpush.generateRequestDetails(to, text, {
    TTL: 60,
    vapidDetails: { subject: 'mailto:a@example.com', ...keys },
  });
  const { status } = await fetch(details.endpoint, {
    method: 'POST',
    headers: details.headers as Record<string, string>,
    body: details.body as BodyInit,
  });
  return status;
}

test('what an independent sender encrypts arrives as it was written', async () => {
  const device = service.device();
  const words = `ö${'x'.repeat(3990)}\u0002`;
  expect(await send(device.subscription, words)).toBe(201);
  expect(await send(device.subscription, '{}')).toBe(201);
  expect(device.received).toEqual([words, '{}']);
});

test('a push that is too long is refused, one to a device that expired is gone, one to nobody is unknown', async () => {
  const device = service.device();
  expect(await send(device.subscription, 'x'.repeat(3994))).toBe(413);
  device.expire();
  expect(await send(device.subscription, 'late')).toBe(410);
  expect(await send({ ...device.subscription, endpoint: `${device.subscription.endpoint}0` }, 'lost')).toBe(404);
  service.answerNext({ status: 429, headers: { 'retry-after': '3' } });
  expect(await send(device.subscription, 'busy')).toBe(429);
  expect(device.received).toEqual([]);
});
