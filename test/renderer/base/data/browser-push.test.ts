import { describe, expect, test } from 'vitest';
import { bytesOf, createBrowserPush, deviceName } from '../../../../src/renderer/base/data/browser-push.ts';

const publicKey = 'BEl62iUYgUivxIkv69yViEuiBIa-Ib9-SkvMeAtA3LFgDzkrxZJjSgSnfckjBJuBkr3qBUYIHBQFLXYp5Nksh8U';

interface Given {
  readonly permission?: NotificationPermission;
  readonly asked?: NotificationPermission;
  readonly secure?: boolean;
  readonly worker?: boolean;
  readonly subscribe?: () => Promise<unknown>;
  readonly before?: { readonly key: string } | null;
}

/** A browser and a server that remember what they were told. */
function surroundings(given: Given = {}) {
  const told: string[] = [];
  const kept = new Map<string, string>();
  let subscribed = given.before != null;
  const subscription = {
    options: { applicationServerKey: bytesOf(given.before?.key ?? publicKey).buffer },
    toJSON: () => ({ endpoint: 'https://push.example/1', keys: { p256dh: 'p', auth: 'a' } }),
    unsubscribe: async () => {
      told.push('unsubscribe');
      subscribed = false;
      return true;
    },
  };
  const pushManager = {
    getSubscription: async () => (subscribed ? subscription : null),
    subscribe:
      given.subscribe ??
      (async () => {
        told.push('subscribe');
        subscribed = true;
        return subscription;
      }),
  };
  const worker = {
    getRegistration: async () => (told.includes('register') || subscribed ? { pushManager } : undefined),
    register: async (path: string) => void told.push('register', path),
    ready: Promise.resolve({ pushManager }),
  };
  const notifications = {
    getPushKey: async () => ({ publicKey }),
    addPushDevice: async ({ body }: { body: unknown }) => {
      told.push(JSON.stringify(body));
      return { id: 'device_1' };
    },
    removePushDevice: async ({ params }: { params: { id: string } }) => void told.push(`remove ${params.id}`),
  };
  const push = createBrowserPush(
    { notifications } as never,
    {
      secure: given.secure ?? true,
      worker: given.worker === false ? undefined : (worker as never),
      notification: {
        permission: given.permission ?? 'default',
        requestPermission: async () => given.asked ?? 'granted',
      } as never,
      storage: {
        getItem: (key) => kept.get(key) ?? null,
        setItem: (key, value) => void kept.set(key, value),
        removeItem: (key) => void kept.delete(key),
      },
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    },
    20,
  );
  return { push, told };
}

describe('what this browser allows is said as it is', () => {
  test.each<[Given, string]>([
    [{ secure: false }, 'insecure'],
    [{ worker: false }, 'unsupported'],
    [{ permission: 'denied' }, 'denied'],
    [{}, 'off'],
    // Subscribed by an earlier person of this browser: nobody here knows which device that was.
    [{ before: { key: publicKey } }, 'off'],
  ])('%j is %s', async (given, state) => {
    expect(await surroundings(given).push.state()).toBe(state);
  });
});

test('switching on asks, registers the worker, subscribes with the server’s key and names the device; switching off takes it back', async () => {
  const { push, told } = surroundings();
  await push.turnOn();
  expect(told).toEqual([
    'register',
    '/sw.js',
    'subscribe',
    JSON.stringify({
      endpoint: 'https://push.example/1',
      keys: { p256dh: 'p', auth: 'a' },
      name: 'Firefox on Linux',
    }),
  ]);
  expect([await push.state(), push.deviceId()]).toEqual(['on', 'device_1']);
  await push.turnOff();
  expect(told.slice(-2)).toEqual(['unsubscribe', 'remove device_1']);
  expect([await push.state(), push.deviceId()]).toEqual(['off', null]);
});

test('a subscription with another key is given up first: a second one beside it would be refused', async () => {
  const { push, told } = surroundings({ before: { key: publicKey.replace('BEl6', 'BEl7') } });
  await push.turnOn();
  expect(told.indexOf('unsubscribe')).toBeLessThan(told.indexOf('subscribe'));
  expect(told).toContain('unsubscribe');
});

test('a person who says no is told where to say yes, and nothing is registered', async () => {
  const { push, told } = surroundings({ asked: 'denied' });
  await expect(push.turnOn()).rejects.toMatchObject({ code: 'refused', fact: expect.stringContaining('blocks') });
  expect(told).toEqual([]);
});

test('a push service that never answers is given up with the way out, and one that refuses is quoted', async () => {
  const silent = surroundings({ subscribe: () => new Promise(() => {}) });
  await expect(silent.push.turnOn()).rejects.toMatchObject({
    code: 'timeout',
    action: expect.stringContaining('Firefox'),
  });
  const refusing = surroundings({ subscribe: () => Promise.reject(new Error('Registration failed')) });
  await expect(refusing.push.turnOn()).rejects.toMatchObject({ fact: expect.stringContaining('Registration failed') });
});

test.each([
  ['Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0', 'Edge on Windows'],
  ['Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/130.0 Mobile Safari/537.36', 'Chrome on Android'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1', 'Safari on iPhone'],
  ['curl/8', 'Browser'],
])('%s is called %s', (userAgent, name) => {
  expect(deviceName(userAgent)).toBe(name);
});
