/** The paths of the API, and the error format of each area. Paths that no area claims are pages of the web interface. Must not know single routes. */
import type { ErrorShape } from './route.ts';

/** Longest prefix first where one contains another. Compared in lower case, so that `/API/…` never becomes a page. */
const claimed: readonly (readonly [prefix: string, shape: ErrorShape])[] = [
  ['/api/factory', 'factory'],
  ['/peer/', 'factory'],
  ['/api/v1/computers', 'computers'],
  ['/v1/', 'computers'],
  ['/mcp/server', 'rpc'],
  ['/internal/tools/mcp', 'rpc'],
  ['/edge/mcp', 'rpc'],
  ['/api/', 'plain'],
  ['/beta/', 'plain'],
  ['/mcp/', 'plain'],
  ['/edge', 'plain'],
  ['/internal/', 'plain'],
  ['/computer-use/', 'plain'],
  ['/runs/', 'plain'],
  ['/stream/', 'plain'],
  ['/sms/', 'plain'],
  ['/channels/', 'plain'],
  ['/webhooks/', 'plain'],
  ['/.well-known/', 'plain'],
  ['/open', 'plain'],
  ['/login', 'plain'],
  ['/metrics', 'plain'],
  ['/apis/external.metrics.k8s.io', 'plain'],
];

/** The error shape of the area that claims `path`, or null for a page. */
export function claimedShape(path: string): ErrorShape | null {
  const lower = path.toLowerCase();
  for (const [prefix, shape] of claimed) {
    if (!lower.startsWith(prefix)) continue;
    const next = lower.charAt(prefix.length);
    if (prefix.endsWith('/') || next === '' || next === '/') return shape;
  }
  return null;
}
