/** A helper's settings: the folder of computers, their owner, their limits, their addresses. Must not know how they are enforced. */
import { createHash } from 'node:crypto';

export const toolsets = ['desktop', 'shell'] as const;
export type Toolset = (typeof toolsets)[number];
/** How many of each run before anybody asks for them. */
export type WarmSettings = Readonly<Record<Toolset, number>>;

export interface HostSettings {
  /** Absolute. Holds all files of the computers, and the socket. Its name determines the names of interfaces and tables. */
  readonly folder: string;
  /** Owner of the socket, who may call the computers: the user that the cloud runs as. */
  readonly owner: { readonly uid: number; readonly gid: number };
  /** The first of the computers' user ids, one for each possible computer; no account may have them. */
  readonly firstUid: number;
  /** IPv4 range of the computers' addresses, `10.231.4.0/22`; null: one that nothing on this machine uses. */
  readonly subnet: string | null;
  /** Interface to the internet; null: that of the default routes. */
  readonly uplink: string | null;
  /** Name servers for the computers' queries; empty: those of this machine. */
  readonly nameServers: readonly string[];
  readonly most: number;
  readonly warm: WarmSettings;
  /** Memory of each computer. Mebibytes. */
  readonly memory: number;
  /** Processes and threads of each computer. */
  readonly processes: number;
  /** Cores of each computer, or null for no limit. */
  readonly processor: number | null;
  /** Port of `GET /metrics` on 127.0.0.1; null: none. */
  readonly metricsPort: number | null;
}

/** User ids 60578–61183 are unassigned in Debian's and systemd's lists. */
export const defaultSettings = {
  firstUid: 61_000,
  subnet: null,
  uplink: null,
  nameServers: [],
  most: 20,
  warm: { desktop: 0, shell: 0 },
  memory: 2048,
  processes: 1024,
  processor: null,
  metricsPort: null,
} as const satisfies Partial<HostSettings>;
export const maxComputers = 180;

/** The prefix of this helper's parts on the machine, so that another helper's are left alone. */
export interface Names {
  /** Prefix of interfaces on this machine's side. */
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
