/** The order for the launcher of a sandbox with a network of its own, as JSON in its first argument. `own-network.ts` writes it. */

export interface LaunchOrder {
  /** The Unix socket to which every connection of the sandbox goes. */
  readonly socket: string;
  /** Ports on which a program may connect to a name without a proxy. */
  readonly ports: readonly number[];
  /** Servers of the computer that its program expects on the loopback. */
  readonly local: readonly { readonly host: string; readonly port: number }[];
  /** Port of Gantry's own address inside. */
  readonly enginePort: number;
  /** Absolute paths. */
  readonly tools: { readonly ip: string; readonly nft: string };
}

/** Where the launcher takes HTTP proxy connections inside. */
export const proxyAddress = '127.0.0.1:3128';

/** The first line of each connection to that socket, as JSON. */
export interface FirstLine {
  /**
   * `proxy`: the program spoke to the proxy's address, and its own bytes follow. `tcp`: it connected to a name, or to a server of the computer that it
   * expects. `engine`: to Gantry.
   */
  readonly way: 'proxy' | 'tcp' | 'engine';
  /** Of `tcp`; null otherwise. */
  readonly host: string | null;
  /** Of `tcp`; 0 otherwise. */
  readonly port: number;
}
