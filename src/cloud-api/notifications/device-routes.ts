/** The routes of devices: register, list, remove, test. */
import { AppError } from '../../contracts/common/errors.ts';
import {
  addPushDevice,
  getPushKey,
  listPushDevices,
  type PushPayload,
  removePushDevice,
  testPush,
} from '../../contracts/notifications/push.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Egress } from '../../kit/egress/egress.ts';
import { type BoundRoute, bind, type Principal } from '../../kit/http/types.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import type { Device, DeviceStore } from './devices.ts';
import type { PushKeys } from './push-keys.ts';
import type { Pusher, PushResult } from './pusher.ts';

/** A test that arrives an hour later proves nothing. */
const testRetentionMs = 60_000;
const testPayload: PushPayload = {
  type: 'test',
  title: 'Gantry can reach this device',
  body: 'This is a test. Notifications from your bots look like this.',
  url: '/',
  tag: 'test',
  data: { event: 'test', botId: null, threadId: null },
};

export function deviceRoutes(deps: {
  readonly devices: DeviceStore;
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly keys: PushKeys | null;
  readonly pusher: Pusher | null;
  readonly egress: Pick<Egress, 'refusal'>;
  readonly notConfigured: () => AppError;
}): BoundRoute[] {
  const { devices, store, clock, keys, pusher, egress, notConfigured } = deps;

  /** Notes its outcome, like that of any other push. */
  async function tell(
    device: Device,
    push: Pusher,
  ): Promise<{ outcome: 'sent' | 'gone' | 'refused' | 'too_large' | 'unreachable'; detail: string | null }> {
    const result: PushResult = await push.push(device, testPayload, {
      until: clock.now() + testRetentionMs,
      urgent: true,
    });
    const outcome = result.outcome === 'retry' ? 'unreachable' : result.outcome;
    await store.write((tx) =>
      outcome === 'gone' ? devices.remove(tx, device.id) : devices.note(tx, device.id, outcome),
    );
    return { outcome, detail: 'detail' in result ? result.detail : null };
  }

  return [
    bind(getPushKey, () => {
      if (keys === null) throw notConfigured();
      return { body: { publicKey: keys.publicKey } };
    }),
    bind(listPushDevices, async ({ principal }) => ({ body: { devices: await devices.list(principal.userId) } })),
    bind(addPushDevice, async ({ principal, body }) => {
      const refused = egress.refusal(body.endpoint);
      if (refused !== null) {
        throw new AppError('usage', `body.endpoint: ${refused.fact}`, refused.action, { wireCode: 'bad_request' });
      }
      const { endpoint, keys: given, name = 'Browser' } = body;
      return {
        body: await devices.add(principal.userId, {
          endpoint,
          keys: given,
          name,
          answers: isInPerson(principal),
          sessionId: principal.sessionId ?? null,
        }),
      };
    }),
    bind(removePushDevice, async ({ params }) => {
      await store.write((tx) => devices.remove(tx, params.id));
      return { body: undefined };
    }),
    bind(testPush, async ({ principal, body }) => {
      const device = await devices.get(body.deviceId);
      if (device === null || device.userId !== principal.userId) {
        const fact = `There is no device ${JSON.stringify(body.deviceId)}.`;
        throw new AppError('not_found', fact, 'List them: GET /api/v1/push/subscriptions', {
          wireCode: 'device_not_found',
        });
      }
      if (pusher === null) throw notConfigured();
      return { body: await tell(device, pusher) };
    }),
  ];
}

/** Keys and access tokens may not answer approvals, so a device that one of them registered gets no buttons. */
const isInPerson = ({ kind, via }: Principal) => kind !== 'key' && via !== 'oidc';
