/** Messages between page and desktop program: every request that main accepts, and every message it sends. Both ends parse them. */
import { z } from 'zod';
import { desktopChannels } from './channel-names.ts';
import { windowEvents } from './window-events.ts';

/** `unless-pushed`: nothing that another device of the person has taken as a push. */
export const notificationChoices = ['unless-pushed', 'all', 'none'] as const;

export const DesktopSettings = z.strictObject({
  /** Closing the last window leaves Gantry in the tray. */
  closeToTray: z.boolean(),
  openAtLogin: z.boolean(),
  notifications: z.enum(notificationChoices),
});
export type DesktopSettings = z.infer<typeof DesktopSettings>;

export const DesktopChange = DesktopSettings.partial();
export type DesktopChange = z.infer<typeof DesktopChange>;

export const desktopActs = ['check-updates', 'install-update', 'open-logs'] as const;
export type DesktopAct = (typeof desktopActs)[number];

export const UpdateState = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('off'), why: z.string() }),
  z.strictObject({ kind: z.literal('current'), checkedAt: z.string().nullable() }),
  z.strictObject({ kind: z.literal('checking') }),
  z.strictObject({ kind: z.literal('downloading'), version: z.string(), percent: z.number() }),
  /** `waits`: why it is not installed yet. */
  z.strictObject({ kind: z.literal('ready'), version: z.string(), waits: z.string().nullable() }),
  z.strictObject({ kind: z.literal('installing'), version: z.string() }),
  z.strictObject({ kind: z.literal('failed'), why: z.string() }),
]);
export type UpdateState = z.infer<typeof UpdateState>;

export const DesktopState = z.strictObject({
  settings: DesktopSettings,
  /** Only an installable build can be started at login. */
  canOpenAtLogin: z.boolean(),
  hasTray: z.boolean(),
  /** `attached`: the servers run in another program and continue without this one. */
  servers: z.enum(['own', 'attached']),
  logs: z.string().meta({ description: 'Folder of the log files.' }),
  update: UpdateState,
});
export type DesktopState = z.infer<typeof DesktopState>;

/** The desktop window's API for the page, as `window.desktop`; absent in a browser. */
export interface DesktopBridge {
  /** `process.platform` */
  readonly platform: string;
  read(): Promise<DesktopState>;
  /** Returns the state after the change. */
  change(change: DesktopChange): Promise<DesktopState>;
  act(act: DesktopAct): Promise<DesktopState>;
  /** Messages of main, unparsed (`Saying`). Returns the function that unsubscribes. */
  onSay(listener: (saying: unknown) => void): () => void;
}

/** Payloads by channel: others are refused. */
export const desktopRequests = {
  [desktopChannels.read]: z.undefined(),
  [desktopChannels.change]: DesktopChange,
  [desktopChannels.act]: z.enum(desktopActs),
} as const;
export type DesktopRequest = keyof typeof desktopRequests;

const event = <N extends keyof typeof windowEvents>(name: N) =>
  z.strictObject({ kind: z.literal('event'), name: z.literal(name), detail: windowEvents[name] });

/** Where a link leads: a page, or a window event of the app. Never an act. */
export const Destination = z.union([
  z.strictObject({ kind: z.literal('go'), path: z.string().regex(/^\/(?![/\\])/, 'a path of this app') }),
  event('platform:switch-mode'),
  event('platform:factory-attach-pane'),
  event('platform:factory-open-node'),
]);
export type Destination = z.infer<typeof Destination>;

export const Saying = z.union([Destination, z.strictObject({ kind: z.literal('state'), state: DesktopState })]);
export type Saying = z.infer<typeof Saying>;
