/** What a helper is told: where computers lie, whose they are, what each may use, which addresses they get. Must not know how. */
import { createHash } from 'node:crypto';

export interface HostSettings {
  /** Absolute. Everything of the computers lies here, and the socket. Its name decides the names of interfaces and tables. */
  readonly folder: string;
  /** Whose the socket is, and who may call the computers: the user that the cloud runs as. */
  readonly owner: { readonly uid: number; readonly gid: number };
  /** The first of as many user ids as there may be computers; no account may have them. */
  readonly firstUid: number;
  /** IPv4 range of the computers' addresses, `10.231.4.0/22`; null: one that nothing on this machine uses. */
  readonly subnet: string | null;
  /** Interface to the world; null: that of the default routes. */
  readonly uplink: string | null;
  /** Name servers that the computers' names are asked of; none: those of this machine. */
  readonly nameServers: readonly string[];
  readonly most: number;
  /** Of each computer. Mebibytes. */
  readonly memory: number;
  /** Processes and threads of each computer. */
  readonly processes: number;
}

/** User ids 60578–61183 belong to nobody by Debian's and systemd's lists. */
export const usualSettings = {
  firstUid: 61_000,
  subnet: null,
  uplink: null,
  nameServers: [],
  most: 20,
  memory: 2048,
  processes: 1024,
} as const satisfies Partial<HostSettings>;
export const mostComputers = 180;

/** What this helper's parts are called on the machine, so that another helper's are left alone. */
export interface Names {
  /** Interfaces on this machine's side begin with it. */
  readonly interfaces: string;
  readonly table: string;
  readonly group: string;
  interfaceOf(slot: number): string;
  namespaceOf(slot: number): string;
}

export function namesFor(folder: string): Names {
  const tag = createHash('sha256').update(folder).digest('hex').slice(0, 6);
  // At most 15 characters.
  const interfaces = `gc${tag}-`;
  const group = `gantry-${tag}`;
  return {
    interfaces,
    table: `gantry_${tag}`,
    group,
    interfaceOf: (slot) => `${interfaces}${slot}`,
    namespaceOf: (slot) => `${group}-${slot}`,
  };
}
