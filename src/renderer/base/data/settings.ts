/**
 * What this browser remembers of its person: theme, look of terminals, layout of the floor.
 * Lies in localStorage; a damaged or missing value means the default. Must not know how a setting is shown.
 */
import { z } from 'zod';
import { sandboxModes } from '../../../contracts/factory/team-file.ts';
import { terminalPalettes } from '../../ui/terminal/palettes.ts';

export const themes = ['system', 'dark', 'light'] as const;
/** Of the first steps (areas/set-up/set-up.tsx). */
export const setUpSteps = ['demo', 'workspace', 'harnesses', 'models', 'pairing'] as const;
export type SetUpStep = (typeof setUpSteps)[number];

const Settings = z.object({
  theme: z.enum(themes).catch('system'),
  /** `auto`: WebGL where the browser has it; `dom`: plain elements, for a screen reader or a broken driver. */
  terminalRenderer: z.enum(['auto', 'dom']).catch('auto'),
  /** CSS pixels. */
  terminalFontSize: z.number().min(9).max(24).catch(12.5),
  terminalPalette: z.enum(terminalPalettes).catch('gantry'),
  screenReader: z.boolean().catch(false),
  inspectorOpen: z.boolean().catch(true),
  /** Whether the rail has words where there is room for them. */
  railWords: z.boolean().catch(true),
  /** Who worked on the last new run, as its form writes them. */
  newRunWho: z.array(z.string()).catch([]),
  /** What its programs ran in. */
  newRunSandbox: z.enum(['automatic', ...sandboxModes]).catch('automatic'),
  /** First steps that the person does not want now. */
  skippedSteps: z.array(z.enum(setUpSteps)).catch([]),
  /** Refused corrections of a registered business that were put away, by when they were asked for: one for all numbers of the business. */
  dismissedCorrections: z.array(z.string()).catch([]),
});
export type Settings = z.infer<typeof Settings>;
export const defaultSettings: Settings = Settings.parse({});

const settingsKey = 'gantry.settings';

export interface SettingsStore {
  get(): Settings;
  set(change: Partial<Settings>): void;
  subscribe(listener: () => void): () => void;
}

export function createSettingsStore(storage: Pick<Storage, 'getItem' | 'setItem'>): SettingsStore {
  const listeners = new Set<() => void>();
  let settings = Settings.catch(defaultSettings).parse(readJson(storage, settingsKey) ?? {});
  return {
    get: () => settings,
    set(change) {
      settings = { ...settings, ...change };
      writeJson(storage, settingsKey, settings);
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function readJson(storage: Pick<Storage, 'getItem'>, key: string): unknown {
  try {
    const text = storage.getItem(key);
    return text === null ? null : (JSON.parse(text) as unknown);
  } catch {
    return null;
  }
}

/** A full or forbidden storage loses only the memory of a preference. */
export function writeJson(storage: Pick<Storage, 'setItem'>, key: string, value: unknown): void {
  try {
    storage.setItem(key, JSON.stringify(value));
  } catch {
    // Nothing that a person could do about it here.
  }
}
