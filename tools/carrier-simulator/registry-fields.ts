/**
 * The fields of the registry's forms, and the registry's own error shape for a field that it cannot read. Must not know
 * its resources.
 */
import { type Call, type Json, ok, type Reply } from './exchange.ts';
import { unreadable } from './refusal.ts';

export const entityTypes = ['PRIVATE_PROFIT', 'PUBLIC_PROFIT', 'NON_PROFIT', 'GOVERNMENT', 'SOLE_PROPRIETOR'];

export const verticals =
  'AGRICULTURE COMMUNICATION CONSTRUCTION EDUCATION ENERGY ENTERTAINMENT FINANCIAL GAMBLING GOVERNMENT HEALTHCARE HOSPITALITY HUMAN_RESOURCES INSURANCE LEGAL MANUFACTURING NGO POLITICAL POSTAL PROFESSIONAL REAL_ESTATE RETAIL TECHNOLOGY TRANSPORTATION'.split(
    ' ',
  );

/** Dollars per month. */
export const useCases: Readonly<Record<string, number>> = {
  '2FA': 10,
  ACCOUNT_NOTIFICATION: 10,
  CUSTOMER_CARE: 10,
  DELIVERY_NOTIFICATION: 10,
  FRAUD_ALERT: 10,
  HIGHER_EDUCATION: 10,
  LOW_VOLUME: 1.5,
  MARKETING: 10,
  MIXED: 10,
  POLLING_VOTING: 10,
  PUBLIC_SERVICE_ANNOUNCEMENT: 10,
  SECURITY_ALERT: 10,
  CHARITY: 3,
  SOLE_PROPRIETOR: 2,
};

export function given(body: Json, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') throw unreadable(name, 'str type expected', 'type_error.str');
  return value;
}

export function demanded(body: Json, name: string): string {
  const value = given(body, name);
  if (value === undefined) throw unreadable(name, 'field required', 'value_error.missing');
  return value;
}

export function listed(body: Json, name: string, known: readonly string[]): void {
  const value = given(body, name);
  if (value !== undefined && !known.includes(value))
    throw unreadable(
      name,
      `value is not a valid enumeration member; permitted: ${known.join(', ')}`,
      'type_error.enum',
    );
}

export function longest(body: Json, limits: Readonly<Record<string, number>>): void {
  for (const [name, limit] of Object.entries(limits)) {
    const value = given(body, name);
    if (value !== undefined && value.length > limit)
      throw unreadable(name, `ensure this value has at most ${limit} characters`, 'value_error.any_str.max_length');
  }
}

/** A page of the registry, whose paging fields have other names. */
export function records(call: Call, all: readonly unknown[]): Reply {
  const size = Math.max(1, Number(call.query.get('recordsPerPage') ?? 10) || 10);
  const page = Math.max(1, Number(call.query.get('page') ?? 1) || 1);
  return ok({ page, records: all.slice((page - 1) * size, page * size), totalRecords: all.length });
}
