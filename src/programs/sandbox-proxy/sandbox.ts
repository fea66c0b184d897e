/** One sandbox as its connections see it. */
import type { Socket } from 'node:net';
import type { HostAndPort } from '../../kit/egress/host-name.ts';
import type { KeyUse, Reason, Verdict } from './protocol.ts';

export interface Sandbox {
  /** Of Gantry itself; it changes when Gantry starts again. */
  enginePort(): number;
  /** Asks the runtime. Nothing has been looked up before. */
  may(to: HostAndPort): Promise<Verdict>;
  /** Says that the proxy refused something. */
  refused(to: { readonly host: string | null; readonly port: number }, reason: Reason, why: string): void;
  /** Rejects as `dial` of `kit/egress` does. The socket ends when it was silent for long. `isSecure`: with TLS. */
  dial(to: HostAndPort, isPrivateAllowed: boolean, isSecure?: boolean): Promise<Socket>;
  /** Its secrets. */
  keys(): readonly KeyUse[];
  /** Opens the TLS of both sides, the server's first. */
  open(
    client: Socket,
    upstream: Socket,
    to: HostAndPort,
  ): Promise<{ readonly client: Socket; readonly upstream: Socket }>;
}
