/**
 * Capabilities of one version of Gantry that an older one lacks. Bodies between a computer and its cloud are strict: an older one refuses an unknown
 * field, and an approval would be lost. So each answer to a signed call names its side's capabilities in a header, which an older one does not send
 * and ignores; a new field goes only to a side that named it.
 */
export const knowsHeader = 'x-gantry-knows';
/** The clock of a computer as it calls, milliseconds since the epoch: its cloud computes the difference. */
export const clockHeader = 'x-gantry-clock';

/** `approval-reason`, `approval-details`: `reason` and `details` of an approval. `approval-remaining`: `remainingMs` of one, and a later one that moves its end. */
export const capabilities = ['approval-reason', 'approval-details', 'approval-remaining'] as const;
export type Capability = (typeof capabilities)[number];

export const knownHere = capabilities.join(',');

/** The other side's capabilities; names of a newer version are left out. */
export function readKnows(header: string | null | undefined): ReadonlySet<Capability> {
  const named = new Set((header ?? '').split(',').map((one) => one.trim()));
  return new Set(capabilities.filter((one) => named.has(one)));
}

/** A smaller difference of clocks is not reported. Milliseconds. */
export const toldSkewMs = 60_000;

/** "12 min ahead of", "3 h behind"; null where it is too small to report. `aheadMs`: of the clock in question. */
export function skewWords(aheadMs: number | undefined): string | null {
  if (aheadMs === undefined || Math.abs(aheadMs) < toldSkewMs) return null;
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  const length = minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
  return `${length} ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
}
