/**
 * The meaning of the carrier's refusals: its four shapes of an error, and the kind of each code as data. An unknown code counts as a fault of the
 * service: nobody is blamed for what we cannot read. Must not know requests.
 */
import { CarrierFault, type CarrierFaultKind } from '../port.ts';

/** One error in the carrier's words. */
interface CarrierError {
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** Field of the request, by the carrier's name. */
  readonly field: string | null;
}

const codesOf = (kind: CarrierFaultKind, ...codes: string[]) => codes.map((code) => [code, kind] as const);

/** The kind of each code for any request, by the carrier's own documentation. */
export const kindOfCode: ReadonlyMap<string, CarrierFaultKind> = new Map([
  // Money, level, key, rate, outage: ours or theirs.
  ...codesOf('service', '20100', '20012', '20013', '20014', '20016', '20017', '20002', '10009'),
  ...codesOf('service', '10011', '10036', '10037', '10038', '10039'),
  // The form that a person filled in.
  ...codesOf('details', '10004', '10015', '10027'),
  ...codesOf('not_found', '10005'),
  // Buying: 85000 is a number whose search was too long ago. The last two are our own connection and profile.
  ...codesOf('taken', '85000', '85001', '85006'),
  ...codesOf('service', '85004', '85005'),
  // Texts, at once. 40300 means STOP as well as destinations: see below.
  ...codesOf('destination', '40300', '40301', '40309', '40310', '40319'),
  ...codesOf('content', '40302', '40322', '40328'),
  ...codesOf('service', '40305', '40312', '40314', '40315', '40318', '40320', '40331', '40333'),
  // Texts, later: by receipts.
  ...codesOf('destination', '40001', '40008', '40012'),
  ...codesOf('content', '40002', '40003', '40017', '40020'),
  ...codesOf('service', '40010', '40011', '40014', '40016', '40018', '40019', '40329', '40330'),
  // Calls.
  ...codesOf('gone', '90018', '90015'),
  ...codesOf('service', '90034'),
  // An invalid telephone number: the callee's, or one in a form.
  ...codesOf('destination', '10016'),
]);

/** The request, where the same code has different meanings. */
export type Asked = 'search' | 'order' | 'text' | 'call' | 'form' | 'campaign' | 'code' | 'port' | 'other';

const speaksOfStop = /\bstop\b|opt(?:ed)?[ -]?out|block rule|unsubscribed/i;

/** The kind of a text's error, at once or in a receipt. */
export function kindOfTextError(error: Pick<CarrierError, 'code' | 'title' | 'detail'>): CarrierFaultKind {
  if (error.code === '40300' && speaksOfStop.test(`${error.title} ${error.detail}`)) return 'opted_out';
  return kindOfCode.get(error.code) ?? 'service';
}

/** The kind of a status without a known code. `unknown`: it may have been done. */
function kindOfStatus(status: number, asked: Asked): CarrierFaultKind {
  if (status === 404) return asked === 'call' ? 'gone' : 'not_found';
  if (status === 408 || status === 409 || status >= 500) return 'unknown';
  if (asked === 'code' && status === 400) return 'wrong_pin';
  if (asked === 'campaign' && status === 400) return 'details';
  if ((asked === 'form' || asked === 'campaign' || asked === 'port') && status === 422) return 'details';
  return 'service';
}

/** The kind of a whole refusal. */
function kindOf(status: number, errors: readonly CarrierError[], asked: Asked): CarrierFaultKind {
  const first = errors[0];
  // Whatever the code: it may have been done, or belongs to somebody else by now.
  const byStatus = kindOfStatus(status, asked);
  if (byStatus === 'unknown' || byStatus === 'wrong_pin' || status === 402 || status === 429) return byStatus;
  if (first === undefined || first.code === '') return byStatus;
  if (first.code === '40300') return kindOfTextError(first);
  if (first.code === '10010' && asked === 'call' && /whitelist/i.test(`${first.title} ${first.detail}`))
    return 'destination';
  const kind = kindOfCode.get(first.code);
  // A refused request without a person's input is our fault.
  if (kind === 'details' && asked !== 'form' && asked !== 'campaign' && asked !== 'port') {
    return asked === 'text' ? 'destination' : 'service';
  }
  if (kind === 'not_found' && asked === 'call') return 'gone';
  if (kind === 'destination' && (asked === 'form' || asked === 'port')) return 'details';
  return kind ?? byStatus;
}

const textOf = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');
const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/** All errors of a body, in any of its shapes; empty if none can be read. */
function errorsOf(body: unknown): readonly CarrierError[] {
  const whole = recordOf(body);
  if (Array.isArray(whole.errors)) return whole.errors.map(oneOf);
  // FastAPI, of the registry.
  if (Array.isArray(whole.detail)) {
    return whole.detail.map((one) => {
      const { loc, msg } = recordOf(one);
      const path = Array.isArray(loc) ? loc.filter((part) => part !== 'body').map(textOf) : [];
      return { code: '', title: '', detail: textOf(msg), field: path.length === 0 ? null : path.join('.') };
    });
  }
  return 'code' in whole || 'title' in whole || 'detail' in whole ? [oneOf(whole)] : [];
}

function oneOf(value: unknown): CarrierError {
  const { code, title, detail, source } = recordOf(value);
  const { pointer, parameter } = recordOf(source);
  const path = textOf(pointer) || textOf(parameter);
  const field = path.split('/').filter((part) => part !== '' && part !== 'data' && part !== 'attributes');
  return { code: textOf(code), title: textOf(title), detail: textOf(detail), field: field.join('.') || null };
}

const maxMessageLength = 300;
/** The relay address of a number, which the carrier quotes when it cannot reach it. */
const relayLike = /[0-9a-f]{64}/gi;
/** An EIN in any notation; longer rows of digits are telephone numbers. */
const einLike = /(?<![\d+])\d{2}-?\d{7}(?!\d)/g;

/** A message that may be shown and stored: without the EIN, pin or account that the carrier repeats in it. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length < 3) continue;
    clean = clean.replaceAll(secret, '…');
    const letters = secret.replace(/[^A-Za-z0-9]/g, '');
    if (letters.length >= 4) clean = clean.replace(new RegExp([...letters].join('[^A-Za-z0-9]?'), 'gi'), '…');
  }
  return clean.replace(relayLike, '…').replace(einLike, '…').slice(0, maxMessageLength);
}

interface Refusal {
  readonly status: number;
  readonly body: unknown;
  /** Seconds from the header; null: there is no such header. */
  readonly retryAfter: number | null;
}

/** Builds the error for a refusal of the carrier. `secrets`: values of the request that must not appear in messages. */
export function faultOf(refusal: Refusal, asked: Asked, secrets: readonly string[] = []): CarrierFault {
  const errors = errorsOf(refusal.body);
  const kind = kindOf(refusal.status, errors, asked);
  const words = errors
    .map(({ title, detail, field }) => {
      const said = detail || title;
      // FastAPI names the field separately from the error.
      return field !== null && !said.includes(field) && title === '' ? `${field}: ${said}` : said;
    })
    .filter((one) => one !== '')
    .join(' ');
  const message = withoutSecrets(words, secrets) || `The carrier answered ${refusal.status}.`;
  return new CarrierFault(kind, message, {
    code: errors[0]?.code || String(refusal.status),
    fields: [...new Set(errors.flatMap(({ field }) => field ?? []))],
    retryAfter: refusal.retryAfter,
  });
}
