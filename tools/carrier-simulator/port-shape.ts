/** A port order in the carrier's form, and its missing fields. Must not know how the order continues. */
import type { PortingOrder } from 'telnyx/resources/porting-orders/porting-orders';
import type { Json } from './exchange.ts';
import { typeOf } from './numbers.ts';
import { placeOf } from './places.ts';
import type { SimPort } from './state.ts';

const needed = {
  admin: ['entity_name', 'auth_person_name', 'account_number', 'pin_passcode'],
  location: ['street_address', 'locality', 'administrative_area', 'postal_code', 'country_code'],
  documents: ['loa', 'invoice'],
} as const;

export function missingOf(found: SimPort): string[] {
  const endUser = record(found.asked.end_user);
  const parts = {
    'end_user/admin': [needed.admin, record(endUser.admin)],
    'end_user/location': [needed.location, record(endUser.location)],
    documents: [needed.documents, record(found.asked.documents)],
  } as const;
  return Object.entries(parts).flatMap(([path, [fields, given]]) =>
    fields.filter((field) => textOf(given[field]) === null).map((field) => `${path}/${field}`),
  );
}

export function pinOf(found: SimPort): string | null {
  return textOf(record(record(found.asked.end_user).admin).pin_passcode);
}

export function supportKey(found: SimPort): string {
  return `sr_${found.id.slice(0, 6)}`;
}

export function record(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

export function messagingShape(found: SimPort): NonNullable<PortingOrder['messaging']> {
  return {
    enable_messaging: found.messaging !== 'not_applicable',
    messaging_capable: true,
    messaging_port_completed: found.messaging === 'ported',
    messaging_port_status: found.messaging,
  };
}

type Details = NonNullable<NonNullable<PortingOrder['status']>['details']>;

export function shape(found: SimPort): PortingOrder {
  const { end_user, documents, phone_number_configuration } = found.asked as Partial<PortingOrder>;
  return {
    id: found.id,
    record_type: 'porting_order',
    customer_reference: found.reference,
    support_key: supportKey(found),
    status: { value: found.state, details: found.problems as Details },
    messaging: messagingShape(found),
    phone_numbers: found.e164s.map((phone_number) => ({
      phone_number,
      porting_order_id: found.id,
      phone_number_type: typeOf(phone_number),
      record_type: 'porting_phone_number',
      activation_status: found.state === 'ported' ? ('Active' as const) : ('New' as const),
      portability_status: 'confirmed' as const,
      requirements_status: 'approved' as const,
      support_key: supportKey(found),
    })),
    porting_phone_numbers_count: found.e164s.length,
    phone_number_type: typeOf(found.e164s[0] ?? ''),
    old_service_provider_ocn: `Carrier of ${placeOf(found.e164s[0]?.slice(2, 5) ?? '').city}`,
    end_user: end_user ?? {},
    documents: documents ?? {},
    phone_number_configuration: phone_number_configuration ?? {},
    activation_settings: {
      foc_datetime_requested: null,
      foc_datetime_actual: found.readyOn,
      activation_status: null,
      fast_port_eligible: false,
    },
    requirements: [],
    requirements_met: missingOf(found).length === 0,
    webhook_url: textOf(found.asked.webhook_url),
    created_at: found.createdAt,
    updated_at: found.createdAt,
  };
}
