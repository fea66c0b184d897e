/**
 * What the desktop window gives to the page, as `window.desktop`; in a browser there is none. No schemas here: the sandboxed preload
 * script is made of this file, and main parses what comes (`channels.ts`).
 */
import type { DesktopAct, DesktopChange, DesktopState } from './channels.ts';

export const desktopChannels = {
  read: 'desktop:read',
  change: 'desktop:change',
  act: 'desktop:act',
  /** From main to the page. */
  say: 'desktop:say',
} as const;

export interface DesktopBridge {
  /** `process.platform` */
  readonly platform: string;
  read(): Promise<DesktopState>;
  /** Answers the state after the change. */
  change(change: DesktopChange): Promise<DesktopState>;
  act(act: DesktopAct): Promise<DesktopState>;
  /** What main says, unparsed (`Saying`). Returns the way to stop. */
  onSay(listener: (saying: unknown) => void): () => void;
}
