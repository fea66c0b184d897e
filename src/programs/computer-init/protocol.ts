/**
 * Between the driver of computers in containers and what a container starts with: a file in the folder that both see, and how the container ends. Both
 * ends import this file and nothing else of each other.
 */

/** In the container: the computer's folder of its host, and where it keeps its own. */
export const inside = { channel: '/run/gantry', data: '/var/lib/gantry', home: '/home/user' } as const;

/** In the folder of the channel. */
export const files = { boot: 'boot.json', socket: 'engine.sock' } as const;

/** The computer's own user, as the image has it: ids that Debian and systemd leave alone. */
export const computerUser = { uid: 61_000, gid: 61_000 } as const;

/** With what the first process of a container ends, besides the code of the program that it runs. */
export const exitCodes = { lifetimeOver: 75, stopped: 76 } as const;

/** Of the image, and of every image that is made on top of it. */
export const imageLabel = 'gantry.computer-image';

/** Of the program beside a computer in a Pod that dials for it: nothing of the computer runs as this user. */
export const linkUser = { uid: 61_001, gid: 61_001 } as const;

/** In a Pod: the settings of a start, each mounted only where it is read; and what the dialling program makes once the computer could be called. */
export const podFiles = { boot: '/run/gantry-boot/boot.json', link: '/run/gantry-link/link.json' } as const;
export const linkFiles = { folder: '/run/gantry-ready', ready: '/run/gantry-ready/ready' } as const;

/** With what the dialling program ends where an address can be reached that must be refused. */
export const unrestrictedCode = 77;

/** The program that dials for a computer in a Pod; its argument is the file of its settings. */
export const linkProgram = '/app/out/server/computer-link.js';

/** Of the program that dials. */
export interface LinkBoot {
  readonly socket: string;
  /** Made once the computer can be called; the Pod's startup probe looks for it. */
  readonly ready: string;
  /** Of the computer's start: proves that it offers in the cloud's name. */
  readonly token: string;
  readonly cloud: { readonly host: string; readonly port: number; readonly tls: boolean };
  /** `name`: by which the cloud is asked. */
  readonly dial: { readonly computer: string; readonly key: string; readonly name: string };
}

export interface Boot {
  /** New with each start. */
  readonly token: string;
  readonly socket: string;
  readonly folder: string;
  readonly screen: { readonly width: number; readonly height: number };
  readonly toolset: 'desktop' | 'shell';
  /** Who may call the computer: the cloud's user on the host. */
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly user: { readonly uid: number; readonly gid: number };
  readonly egress: 'public' | 'none';
  /** Addresses that are refused besides those that are not public: the host's, and the cloud's. */
  readonly refuse: readonly string[];
  /** Nobody waits for it: it answers only once its browser is open. */
  readonly warm: boolean;
  /** In a Pod: where its cloud is, which only `owner` may reach. Its folders belong to nobody yet. */
  readonly pod?: { readonly cloud: { readonly host: string; readonly port: number } };
}

/** Addresses that every computer is refused, whatever else it is. */
export const refusedSamples = [
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '100.64.0.1',
  '169.254.169.254',
  'fd00:ec2::254',
] as const;

/** The program that begins a computer; with the word `try` and addresses it says what comes of a connection to each. */
export const program = '/app/out/server/computer-init.js';

/** What comes of an attempt that the firewall refuses, and of one to a family of addresses that the container does not have. */
export const refusedWord = 'ECONNREFUSED';
export const noWayWords: ReadonlySet<string> = new Set(['ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']);
