/** Who comes to the edge, and whether they may still be told. */
import type { EdgeServer } from './offered-events.ts';

/** An app of a person: `clientId` is a token's client_id, or `key:<id>`. */
export interface EdgeApp {
  readonly userId: string;
  readonly clientId: string;
}

/** Which server is asked, and by which app; null: by nobody who could subscribe. */
export interface EdgeVisit {
  readonly server: EdgeServer;
  readonly app: EdgeApp | null;
}

/**
 * Whether this app may still be told: its person is let in, its key lives and has the scope. Asked before each attempt; false ends
 * the subscription, and the app is told.
 */
export type MayStill = (app: EdgeApp & { readonly scope: 'agents:read' | 'bots:act' }) => boolean | Promise<boolean>;
