/** Browser sessions by their ids. Must not know the wire or the policy. */
import type { Emit, Hands } from '../hands.ts';
import { HandsFault } from '../hands.ts';
import type { CloseSession, OpenSession, SaveTrace } from '../protocol.ts';

export interface BrowserDeps {
  readonly emit: Emit;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asks whether a host may be reached. */
  readonly askHost: AskHost;
}

export type AskHost = (question: {
  readonly session: string;
  readonly host: string;
  readonly port: number;
  readonly addresses: readonly string[];
}) => Promise<{ readonly allow: boolean; readonly why: string }>;

export interface BrowserHands extends Hands {
  /** Nothing happens where it is open already. */
  open(request: OpenSession): Promise<void>;
  closeSession(request: CloseSession): Promise<void>;
  /** The file; null where no trace is made. */
  trace(request: SaveTrace): Promise<string | null>;
}

export function createBrowser(_deps: BrowserDeps): BrowserHands {
  const none = () => Promise.reject(new HandsFault('device', 'session_not_open', 'No browser session is open.'));
  return {
    open: none,
    closeSession: () => Promise.resolve(),
    trace: none,
    look: none,
    act: none,
    watch: none,
    record: none,
    close: () => Promise.resolve(),
  };
}
