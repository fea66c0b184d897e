/**
 * Push in this browser: its permission, its subscription, and the registered device that it is. Must not know how it is shown. A push wakes the
 * service worker (service-worker.ts).
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { Api } from './api.ts';
import { readJson, writeJson } from './settings.ts';

/** Chromium without its vendor's service never answers a subscription; ms. */
const subscribeLimit = 10_000;

export type PushState =
  /** The page is not reached over https or on this computer itself: browsers give it no worker. */
  'insecure' | 'unsupported' | 'denied' | 'off' | 'on';

export interface BrowserPush {
  state(): Promise<PushState>;
  /** Id of this browser's registered device; null: it is not registered here. */
  deviceId(): string | null;
  turnOn(): Promise<void>;
  turnOff(): Promise<void>;
}

interface Surroundings {
  readonly secure: boolean;
  readonly worker: ServiceWorkerContainer | undefined;
  readonly notification: Pick<typeof Notification, 'permission' | 'requestPermission'> | undefined;
  readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
  readonly userAgent: string;
}

const deviceKey = 'gantry.push-device';

export function createBrowserPush(
  api: Pick<Api, 'notifications'>,
  { secure, worker, notification, storage, userAgent }: Surroundings,
  limit = subscribeLimit,
): BrowserPush {
  const deviceId = (): string | null => {
    const kept = readJson(storage, deviceKey);
    return typeof kept === 'string' ? kept : null;
  };

  return {
    deviceId,
    async state() {
      if (!secure) return 'insecure';
      if (worker === undefined || notification === undefined) return 'unsupported';
      if (notification.permission === 'denied') return 'denied';
      const registration = await worker.getRegistration('/');
      if (registration === undefined) return 'off';
      if (registration.pushManager === undefined) return 'unsupported';
      const subscription = await registration.pushManager.getSubscription();
      return subscription !== null && deviceId() !== null ? 'on' : 'off';
    },
    async turnOn() {
      if (worker === undefined || notification === undefined) throw noSupport();
      if ((await notification.requestPermission()) !== 'granted') {
        throw new AppError(
          'refused',
          'This browser blocks notifications from this page.',
          'Allow them in the site settings (left of the address), then try again.',
        );
      }
      const { publicKey } = await api.notifications.getPushKey();
      await worker.register('/sw.js', { scope: '/' });
      const { pushManager } = await worker.ready;
      if (pushManager === undefined) throw noSupport();
      const before = await pushManager.getSubscription();
      // A subscription with another key cannot be used, and a second one is refused while it is there.
      if (before !== null && !sameKey(before.options.applicationServerKey, publicKey)) await before.unsubscribe();
      const subscription = await inTime(
        pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytesOf(publicKey) }),
        limit,
      );
      const { endpoint, keys } = subscription.toJSON();
      const device = await api.notifications.addPushDevice({
        body: {
          endpoint: endpoint ?? '',
          keys: { p256dh: keys?.p256dh ?? '', auth: keys?.auth ?? '' },
          name: deviceName(userAgent),
        },
      });
      writeJson(storage, deviceKey, device.id);
    },
    async turnOff() {
      const id = deviceId();
      storage.removeItem(deviceKey);
      const registration = await worker?.getRegistration('/');
      await (await registration?.pushManager?.getSubscription())?.unsubscribe();
      if (id !== null) await api.notifications.removePushDevice({ params: { id } });
    },
  };
}

const noSupport = (): AppError =>
  new AppError(
    'refused',
    'This browser does not support push notifications.',
    'Use another browser, or install this page as an app first.',
  );

async function inTime(asked: Promise<PushSubscription>, limit: number): Promise<PushSubscription> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new AppError(
          'timeout',
          `The push service of this browser did not answer within ${limit / 1000} s.`,
          'Chromium builds without their vendor’s push service never get an answer: use Chrome, Edge, Firefox or Safari. ' +
            'While a tab is open, notifications still appear here.',
        ),
      );
    }, limit);
  });
  try {
    return await Promise.race([asked, late]);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError(
      'transport',
      `The push service of this browser refused the request: ${cause instanceof Error ? cause.message : String(cause)}`,
      'Check that this computer is online and that nothing blocks the service, then try again.',
      { cause },
    );
  } finally {
    clearTimeout(timer);
  }
}

export function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replace(/-/g, '+').replace(/_/g, '/'));
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

function sameKey(key: ArrayBuffer | null, publicKey: string): boolean {
  if (key === null) return false;
  const wanted = bytesOf(publicKey);
  const has = new Uint8Array(key);
  return has.length === wanted.length && has.every((byte, at) => byte === wanted[at]);
}

/** `Firefox on Linux`: enough to tell one's devices apart. */
export function deviceName(userAgent: string): string {
  const browsers = [
    ['Edg/', 'Edge'],
    ['Firefox/', 'Firefox'],
    ['Chrome/', 'Chrome'],
    ['Safari/', 'Safari'],
  ] as const;
  const systems = [
    ['Android', 'Android'],
    ['iPhone', 'iPhone'],
    ['iPad', 'iPad'],
    ['Mac OS', 'macOS'],
    ['Windows', 'Windows'],
    ['Linux', 'Linux'],
  ] as const;
  const browser = browsers.find(([mark]) => userAgent.includes(mark))?.[1] ?? 'Browser';
  const system = systems.find(([mark]) => userAgent.includes(mark))?.[1];
  return system === undefined ? browser : `${browser} on ${system}`;
}
