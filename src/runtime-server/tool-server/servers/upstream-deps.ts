/** The server of a connection, and the parts to build it. */

import type { Transport } from '../../../contracts/tool-server/servers.ts';
import type { Base } from '../../base/base.ts';
import type { ServerAuth } from './auth.ts';

export type Sdk = typeof import('@modelcontextprotocol/client');

export interface UpstreamServer {
  readonly id: string;
  readonly name: string;
  /** With its secrets. */
  readonly transport: Transport;
}

export interface UpstreamDeps extends Pick<Base, 'clock' | 'timers'> {
  /** Gantry's name there. */
  readonly version: string;
  readonly auth: ServerAuth | null;
  /** Private addresses that may be reached beside the one that was attached. */
  readonly egressAllow: readonly string[];
  readonly limits: UpstreamLimits;
}

export interface UpstreamLimits {
  /** For the start of a child and the handshake: some are fetched from a registry first. Milliseconds. */
  readonly connectMs: number;
  /** For the first question, after which a silent child is taken for one of the older kind. Milliseconds. */
  readonly probeMs: number;
  /** For the whole list. Milliseconds. */
  readonly listMs: number;
  /** Of one message, bytes. */
  readonly largestMessage: number;
}
