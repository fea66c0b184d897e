/** One thing that waits for the person, wherever in Gantry it comes from. */
import { looks, type StatusLook } from '../../ui/looks.ts';

export interface Need {
  readonly key: string;
  /** Since when it waits; null: nobody says. */
  readonly since: string | null;
  readonly look: StatusLook;
  /** The word on the wire. */
  readonly wire: string;
  readonly title: string;
  /** Empty: the title says it all. */
  readonly text: string;
  readonly act: {
    readonly word: string;
    run(): void;
  };
}

/** To where it is answered. */
export type Lead = (to: {
  readonly to?: string;
  readonly search?: Readonly<Record<string, string | undefined>>;
  readonly href?: string;
}) => void;

export const needLook: StatusLook = looks.needsYou;
export const troubleLook: StatusLook = { ...looks.failed, word: 'Problem' };
