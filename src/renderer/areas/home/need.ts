/** One thing that waits for the person, wherever in Gantry it comes from. */
import { CircleX, Hand } from 'lucide-react';
import type { StatusLook } from '../../ui/status.tsx';

export interface Need {
  readonly key: string;
  /** Since when it waits; null: nobody says. */
  readonly since: string | null;
  readonly look: StatusLook;
  /** The interface's own word. */
  readonly wire: string;
  readonly title: string;
  /** Empty: the title says it all. */
  readonly text: string;
  /** The text is a command. */
  readonly code?: boolean;
  readonly act: {
    readonly word: string;
    run(): void;
  };
}

export const needLook: StatusLook = { word: 'Needs you', icon: Hand, tone: 'need' };
export const troubleLook: StatusLook = { word: 'Trouble', icon: CircleX, tone: 'fail' };
