/** State shared by the parts of the floor: the focused bot, and how to change it. */
import { createContext, use } from 'react';
import type { PlacedBot } from '../../base/data/places.ts';

export interface FloorState {
  readonly agents: readonly PlacedBot[];
  readonly focused: string | null;
  /** Whose terminal should take the focus: the count grows with each request. */
  readonly typing: { readonly botId: string | null; readonly count: number };
  focus(botId: string): void;
  /** Gives the keyboard to the pane of this bot. */
  type(botId: string): void;
  /** Whether the address names this bot by now, which may be shown a moment later. */
  isAsked(botId: string): boolean;
  /** Called when a pane was detached; `originView` is where it was opened from. */
  detached(botId: string, originView: string | null): void;
}

const FloorContext = createContext<FloorState | null>(null);
export const FloorProvider = FloorContext;

export function useFloor(): FloorState {
  const state = use(FloorContext);
  if (state === null) throw new Error('A pane was rendered outside the floor.');
  return state;
}
