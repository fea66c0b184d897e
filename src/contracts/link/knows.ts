/**
 * What one version of Gantry knows that an older one does not. Bodies between a computer and its cloud are strict: an older one refuses
 * a field that it has not heard of, and an approval would be lost. So each answer to a signed call names what its side takes, in a
 * header, which an older one does not send and ignores; a new field goes only to who named it.
 */
export const knowsHeader = 'x-gantry-knows';
/** The clock of a computer as it calls, milliseconds since the epoch: its cloud tells how far off it is. */
export const clockHeader = 'x-gantry-clock';

/** `approval-reason`, `approval-details`: `reason` and `details` of an approval. `approval-remaining`: `remainingMs` of one, and a later one that moves its end. */
export const capabilities = ['approval-reason', 'approval-details', 'approval-remaining'] as const;
export type Capability = (typeof capabilities)[number];

export const knownHere = capabilities.join(',');

/** What the other side named; names of a newer version are left out. */
export function readKnows(header: string | null | undefined): ReadonlySet<Capability> {
  const named = new Set((header ?? '').split(',').map((one) => one.trim()));
  return new Set(capabilities.filter((one) => named.has(one)));
}

/** A difference of clocks below this is nobody's business. Milliseconds. */
export const toldSkewMs = 60_000;

/** "12 min ahead of", "3 h behind"; null where it is too little to be told. `aheadMs`: of the clock that is spoken of. */
export function skewWords(aheadMs: number | undefined): string | null {
  if (aheadMs === undefined || Math.abs(aheadMs) < toldSkewMs) return null;
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  const length = minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
  return `${length} ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
}
