/** Joins the phone to the rest of a cloud: the carrier, the people and their plans, their computers, lanes and seals. */
import type { HostedComputers } from '../cloud-api/hosted-computers/index.ts';
import type { Carrier } from '../cloud-api/phone/carrier/port.ts';
import { createPhone, type Phone, type PhoneDeps } from '../cloud-api/phone/index.ts';
import { carrierWebhook } from '../contracts/phone/texts.ts';
import type { Principal } from '../kit/http/types.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import { type CloudBase, openOutbox } from './cloud-base.ts';
import type { PhoneSettings } from './phone-settings.ts';

export async function composePhone(
  options: CloudBase &
    Pick<
      PhoneDeps,
      'addressOf' | 'recordUsage' | 'users' | 'call' | 'events' | 'pushDirectly' | 'isLinked' | 'approvals' | 'admits'
    > & {
      /** Null: no carrier is configured. */
      readonly settings: PhoneSettings | null;
      readonly ownerOf: (computerId: string) => Promise<string | null>;
      readonly resolve: (userId: string, named: string) => Promise<string | null> | string | null;
      readonly hosted: Pick<HostedComputers, 'owners'>;
    },
): Promise<Phone> {
  const { settings, origin, masterKey } = options;
  return createPhone({
    ...options,
    carrier: await carrierOf(settings, origin),
    publicKey: settings?.publicKey ?? '',
    ...(settings?.callLimits === undefined ? {} : { callLimits: settings.callLimits }),
    ...(settings?.textLimits === undefined ? {} : { textLimits: settings.textLimits }),
    webhookOrigin: settings?.webhookUrl ?? origin,
    demo: settings?.carrier === 'simulator' ? { origin: new URL(settings.url).origin, apiKey: settings.apiKey } : null,
    sealer: createSealer({ masterKey, purpose: 'phone' }),
    computers: {
      ownerOf: options.ownerOf,
      async find(userId, id) {
        const hosted = options.hosted.owners['hosted-computer'];
        const asPerson: Principal = { kind: 'user', userId, scopes: new Set(), via: 'phone' };
        if (hosted !== undefined && (await hosted(asPerson, id))) return { id, kind: 'hosted' };
        const found = await options.resolve(userId, id);
        return found === null ? null : { id: found, kind: 'runtime' };
      },
    },
    openLanes: ({ name, ...how }) =>
      openOutbox(options, { name: `phone ${name}`, ...how, failed: 'A phone event could not be delivered.' }),
  });
}

async function carrierOf(settings: PhoneSettings | null, origin: string): Promise<Carrier | null> {
  if (settings === null) return null;
  const { createTelnyxCarrier } = await import('../cloud-api/phone/carrier/telnyx/index.ts');
  const { carrier: name, url: baseUrl, apiKey, connectionId, webhookUrl } = settings;
  const receiptsUrl = `${webhookUrl ?? origin}${carrierWebhook.path.replace(':carrier', name)}`;
  return createTelnyxCarrier({ name, baseUrl, apiKey, connectionId, receiptsUrl });
}
