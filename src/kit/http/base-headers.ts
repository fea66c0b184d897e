/** The headers of every answer of the API. First user: the dispatcher; second: answers that are passed on. Must not know routes. */

export const baseHeaders = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/**
 * Of a document that is read under our address and made from what others wrote: its own style and pictures, no script, form or address of its own, and
 * nothing read from elsewhere. In the file, where `sandbox` means nothing, and as a header.
 */
export const documentPolicy =
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
export const documentHeaders = { 'content-security-policy': `${documentPolicy}; sandbox` } as const;

const list = Object.entries(baseHeaders).flat();

/** A whole head, as a flat list, which node writes as it is; `length` in bytes. See `bindWithHead`. */
export function headOf(requestId: string, length: number, type?: string): string[] {
  const head = [...list, 'x-request-id', requestId, 'content-length', String(length)];
  if (type !== undefined) head.push('content-type', type);
  return head;
}
