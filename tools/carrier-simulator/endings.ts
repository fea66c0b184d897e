/** Test numbers. The last four digits decide how such a number behaves, so that demos and tests can rely on it. */

interface MagicEnding {
  readonly suffix: string;
  /** For people. */
  readonly what: string;
  readonly status?: 'delivery_failed' | 'delivery_unconfirmed';
  readonly error?: { readonly code: string; readonly title: string; readonly detail: string };
  readonly slowMs?: number;
  readonly notPortable?: true;
  /** The outcome of a call to it. */
  readonly call?: 'busy' | 'voicemail' | 'reject' | 'silence' | 'missing';
}

const fails = (suffix: string, what: string, code: string, title: string): MagicEnding => ({
  suffix,
  what: `${what} (${code})`,
  status: 'delivery_failed',
  error: { code, title, detail: title },
});

export const endings: readonly MagicEnding[] = [
  { suffix: '0100', what: 'texts arrive slowly', slowMs: 8_000 },
  { suffix: '0103', what: 'texts arrive without a delivery receipt', status: 'delivery_unconfirmed' },
  fails('0110', 'texts fail: the sender is not registered', '40010', 'Message not sent: sender not 10DLC registered'),
  fails('0129', 'texts fail: too many', '40011', 'Too many requests: throughput exceeded'),
  fails('0140', 'a landline: texts fail', '40001', 'Not routable: landline'),
  fails('0141', 'texts fail as spam', '40002', 'Blocked as spam: temporary'),
  { suffix: '0120', what: 'calls get a busy signal', call: 'busy' },
  { suffix: '0121', what: 'calls reach its voicemail', call: 'voicemail' },
  { suffix: '0122', what: 'calls are rejected', call: 'reject' },
  { suffix: '0123', what: 'calls are not answered', call: 'silence' },
  { suffix: '0124', what: 'calls fail: there is no such number', call: 'missing' },
  { suffix: '0130', what: 'cannot be ported', notPortable: true },
];

export function endingOf(e164: string): MagicEnding | null {
  return endings.find(({ suffix }) => e164.endsWith(suffix)) ?? null;
}
