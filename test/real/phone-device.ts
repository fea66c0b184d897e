/**
 * A device that pushes of the product reach: a Firefox in which a person switches them on in the settings, or, where there is no Firefox,
 * a subscription at the push service of this machine that reads what it gets. Says itself which of the two it is.
 */
import type { Product } from '../support/bench/product.ts';
import type { PushService } from '../support/push-service.ts';
import { hasFirefox, openFirefox } from './firefox.ts';
import { until } from './scenes.ts';

interface Told {
  readonly title: string;
  readonly body: string;
}

export interface Device {
  readonly what: string;
  /** As its person does it; answers what the device was sent to try it. */
  switchOn(): Promise<string>;
  /** Waits for a notification of which this is true, and answers it; each is answered once. */
  told(what: string, is: (told: Told) => boolean): Promise<Told>;
  close(): Promise<void>;
}

const patienceMs = 30_000;

/** `next`: what came since it was asked last. */
function reader(next: () => Promise<readonly Told[]>): Device['told'] {
  const unread: Told[] = [];
  return (what, is) =>
    until(
      `the notification of ${what}`,
      async () => {
        unread.push(...(await next()));
        const at = unread.findIndex(is);
        return at === -1 ? null : unread.splice(at, 1)[0];
      },
      patienceMs,
    );
}

export async function openDevice(product: Product, service: PushService): Promise<Device> {
  return hasFirefox() ? inFirefox(product, service) : bare(product, service);
}

async function inFirefox(product: Product, service: PushService): Promise<Device> {
  const firefox = await openFirefox(service.url);
  // An alert goes away by itself, so what was shown is noted as it comes.
  const shown: Told[] = [];
  const seen = new Set<string>();
  let looking = true;
  const look = async () => {
    for (const one of await firefox.alerts().catch(() => [])) {
      const key = `${one.title}\n${one.body}`;
      if (!seen.has(key)) shown.push(one);
      seen.add(key);
    }
    if (looking) setTimeout(() => void look(), 200);
  };
  const told = reader(async () => shown.splice(0));
  return {
    what: firefox.version,
    told,
    async switchOn() {
      const { url } = await product.web.call<{ url: string }>('POST', '/api/v1/open-codes', {
        next: '/settings/notifications',
      });
      await firefox.page.goto(url);
      await firefox.click('Switch on');
      const device = await until('a device', async () => (await devicesOf(product))[0], patienceMs);
      void look();
      await firefox.click(`Send a test to ${device.name}`);
      return `${device.name}: ${(await told('the test', ({ title }) => title.includes('can reach this device'))).title}`;
    },
    async close() {
      looking = false;
      await firefox.close();
    },
  };
}

async function bare(product: Product, service: PushService): Promise<Device> {
  const device = service.device();
  let read = 0;
  const told = reader(async () => {
    const came = device.received.slice(read);
    read += came.length;
    return came.map((one) => JSON.parse(one) as Told);
  });
  return {
    what: 'no Firefox here: a subscription without a browser',
    told,
    async switchOn() {
      const body = { ...device.subscription, name: 'Bare device' };
      const { id } = await product.web.call<{ id: string }>('POST', '/api/v1/push/subscriptions', body);
      await product.web.call('POST', '/api/v1/push/test', { deviceId: id });
      return (await told('the test', ({ title }) => title.includes('can reach this device'))).title;
    },
    close: async () => {},
  };
}

async function devicesOf({ web }: Product): Promise<{ id: string; name: string }[]> {
  return (await web.call<{ devices: { id: string; name: string }[] }>('GET', '/api/v1/push/subscriptions')).devices;
}
