/** Ports on the carrier's wire: orders that may be split, details and documents, and two states each. */
import type { PortingOrder } from 'telnyx/resources/porting-orders/porting-orders';
import { portMessagingStates, portStates } from '../../../../contracts/phone/values.ts';
import type { CarrierPortOrder, CarrierPorts } from '../port.ts';
import { first, inner, needed, type TelnyxClient, unlessGone } from './client.ts';
import { withoutSecrets } from './faults.ts';

/** Documents are up to 5 MB. */
const uploadTimeoutMs = 60_000;

function orderOf(wire: PortingOrder): CarrierPortOrder {
  const { status, messaging, phone_numbers = [], activation_settings: activation } = wire;
  return {
    orderId: needed(wire.id, 'the id of a port'),
    e164s: phone_numbers.flatMap(({ phone_number }) => phone_number ?? []),
    // An unknown word counts as on its way.
    state: portStates.find((one) => one === status?.value) ?? 'in-process',
    messaging: portMessagingStates.find((one) => one === messaging?.messaging_port_status) ?? 'pending',
    problems: (status?.details ?? []).map(({ code, description }) => ({
      code: code ?? 'OTHER',
      text: withoutSecrets(description ?? code ?? '', []),
    })),
    readyOn: activation?.foc_datetime_actual ?? activation?.foc_datetime_requested ?? null,
  };
}

/** Omits missing fields: an empty one would clear the stored value. Undefined: nothing was given. */
function given<T extends object>(values: T): Partial<T> | undefined {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Partial<T>);
}

export function createTelnyxPorts({ ask }: TelnyxClient, connectionId: string): CarrierPorts {
  const read = (orderId: string) =>
    ask({ asked: 'other', reads: true }, (telnyx) =>
      telnyx.portingOrders.retrieve(orderId, { include_phone_numbers: true }),
    ).then((answer) => orderOf(inner(answer)));

  async function upload(file: string | undefined, filename: string): Promise<string | undefined> {
    if (file === undefined) return undefined;
    const answer = await ask({ asked: 'port' }, (telnyx) =>
      telnyx.documents.uploadJson({ document: { file, filename } }, { timeout: uploadTimeoutMs }),
    );
    return needed(inner(answer).id, 'the id of a document');
  }

  return {
    async check(e164) {
      const answer = await ask({ asked: 'other', reads: true }, (telnyx) =>
        telnyx.portabilityChecks.run({ phone_numbers: [e164] }),
      );
      const found = answer.data?.find(({ phone_number }) => phone_number === e164);
      return { portable: found?.portable === true, reason: found?.not_portable_reason || null };
    },

    async create({ e164, key }) {
      const answer = await ask({ asked: 'port' }, (telnyx) =>
        telnyx.portingOrders.create({ phone_numbers: [e164], customer_reference: key }),
      );
      return needed(answer.data, 'its ports').map(orderOf);
    },

    async findByKey(key) {
      const found = await ask({ asked: 'other', reads: true }, (telnyx) =>
        first(telnyx.portingOrders.list({ filter: { customer_reference: key }, include_phone_numbers: true })),
      );
      return found.filter(({ customer_reference }) => customer_reference === key).map(orderOf);
    },

    read,

    async update(orderId, { details, profileId, webhookUrl }) {
      const loa = await upload(details.letterOfAuthorization, 'letter-of-authorization.pdf');
      const invoice = await upload(details.invoice, 'invoice.pdf');
      const admin = given({
        entity_name: details.entityName,
        auth_person_name: details.authorizedPerson,
        account_number: details.accountNumber,
        pin_passcode: details.pin,
        billing_phone_number: details.billingNumber,
      });
      const location = given({
        street_address: details.street,
        locality: details.locality,
        administrative_area: details.region,
        postal_code: details.postalCode,
        country_code: details.country,
      });
      const documents = given({ loa, invoice });
      const answer = await ask({ asked: 'port', secrets: [details.pin, details.accountNumber] }, (telnyx) =>
        telnyx.portingOrders.update(orderId, {
          ...given({ end_user: given({ admin, location }), documents }),
          messaging: { enable_messaging: true },
          phone_number_configuration: { messaging_profile_id: profileId, connection_id: connectionId },
          webhook_url: webhookUrl,
        }),
      );
      return orderOf(inner(answer));
    },

    async confirm(orderId) {
      const answer = await ask({ asked: 'port' }, (telnyx) => telnyx.portingOrders.actions.confirm(orderId));
      return orderOf(inner(answer));
    },

    async cancel(orderId) {
      await unlessGone(
        read(orderId).then(async ({ state }) => {
          if (state === 'ported' || state === 'cancelled' || state === 'cancel-pending') return;
          await ask({ asked: 'other' }, async (telnyx) => {
            // Only a submitted order can be cancelled.
            if (state === 'draft') await telnyx.portingOrders.delete(orderId);
            else await telnyx.portingOrders.actions.cancel(orderId);
          });
        }),
      );
    },
  };
}
