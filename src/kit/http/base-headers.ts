/** The headers of every answer of the API. First user: the dispatcher; second: answers that are passed on. Must not know routes. */

export const baseHeaders = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
} as const;

const list = Object.entries(baseHeaders).flat();

/** A whole head, as a flat list, which node writes as it is; `length` in bytes. See `bindWithHead`. */
export function headOf(requestId: string, length: number, type?: string): string[] {
  const head = [...list, 'x-request-id', requestId, 'content-length', String(length)];
  if (type !== undefined) head.push('content-type', type);
  return head;
}
