/**
 * Stores window events that come before the page can handle them, from the first script on, and dispatches them again once somebody listens. Part of
 * the first script, so it knows the events only by name.
 */
import type { WindowEventName } from '../../../contracts/desktop/window-events.ts';

export const earlyNames = [
  'platform:switch-mode',
  'platform:factory-attach-pane',
  'platform:factory-open-node',
] as const satisfies readonly WindowEventName[];

/** Limits the memory that endless dispatches could fill. */
const maxKept = 100;

export interface EarlyEvents {
  /** Ends the keeping and dispatches what was kept, in order. Once; later calls do nothing. */
  release(): void;
}

export function keepEarlyEvents(target: EventTarget): EarlyEvents {
  const kept: CustomEvent<unknown>[] = [];
  const keep = (event: Event): void => {
    if (kept.length < maxKept) kept.push(event as CustomEvent<unknown>);
  };
  for (const name of earlyNames) target.addEventListener(name, keep);
  return {
    release() {
      for (const name of earlyNames) target.removeEventListener(name, keep);
      for (const { type, detail } of kept.splice(0)) target.dispatchEvent(new CustomEvent(type, { detail }));
    },
  };
}
