/** One sandbox as its connections see it. */
import type { Socket } from 'node:net';
import type { HostAndPort } from '../../kit/egress/host-name.ts';
import type { Reason, Verdict } from './protocol.ts';

export interface Sandbox {
  /** Of Gantry itself; it changes when Gantry starts again. */
  enginePort(): number;
  /** Asks the runtime. Nothing has been looked up before. */
  may(to: HostAndPort): Promise<Verdict>;
  /** Says that the proxy refused something. */
  refused(to: { readonly host: string | null; readonly port: number }, reason: Reason, why: string): void;
  /** Rejects as `dial` of `kit/egress` does. The socket ends when it was silent for long. */
  dial(to: HostAndPort, isPrivateAllowed: boolean): Promise<Socket>;
}
