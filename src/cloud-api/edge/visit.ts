/** The caller at the edge, and whether it may still receive events. */
import type { EdgeServer } from './offered-events.ts';

/** An app of a person: `clientId` is a token's client_id, or `key:<id>`. */
export interface EdgeApp {
  readonly userId: string;
  readonly clientId: string;
}

/** The server and the app that asks; null: a caller who cannot subscribe. */
export interface EdgeVisit {
  readonly server: EdgeServer;
  readonly app: EdgeApp | null;
}

/**
 * Whether this app may still receive events: its person is let in, its key is valid and has the scope. Checked before each attempt; false ends the
 * subscription, and the app hears of it.
 */
export type MayStill = (app: EdgeApp & { readonly scope: 'agents:read' | 'bots:act' }) => boolean | Promise<boolean>;
