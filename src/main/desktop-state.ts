/** What the desktop program stores in its profile folder: the person's choices and the window's position. A bad file counts as missing. */
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { type DesktopChange, DesktopSettings } from '../contracts/desktop/channels.ts';
import { writePrivateFile } from '../kit/secrets/token-file.ts';
import { WindowBounds } from './bounds.ts';

const Kept = z.strictObject({
  settings: DesktopSettings,
  bounds: WindowBounds.nullable(),
});

/** Everything beyond showing a window is asked for first (issue text: opt-in). */
export const defaultSettings: DesktopSettings = {
  closeToTray: false,
  openAtLogin: false,
  notifications: 'unless-pushed',
};

export interface DesktopState {
  settings(): DesktopSettings;
  change(change: DesktopChange): DesktopSettings;
  bounds(): WindowBounds | null;
  stood(bounds: WindowBounds): void;
}

export function openDesktopState(file: string, onFault: (fault: unknown) => void): DesktopState {
  let kept: z.infer<typeof Kept> = { settings: defaultSettings, bounds: null };
  try {
    kept = Kept.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code !== 'ENOENT') onFault(fault);
  }
  function write(next: typeof kept): void {
    kept = next;
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writePrivateFile(file, `${JSON.stringify(kept)}\n`);
    } catch (fault) {
      // A full disk costs the memory of a choice, never the window.
      onFault(fault);
    }
  }
  return {
    settings: () => kept.settings,
    change(change) {
      write({ ...kept, settings: { ...kept.settings, ...change } });
      return kept.settings;
    },
    bounds: () => kept.bounds,
    stood: (bounds) => write({ ...kept, bounds }),
  };
}
