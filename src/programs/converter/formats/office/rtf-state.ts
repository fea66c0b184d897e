/** Owns what a group of RTF inherits from the one around it. */

/** Where the text of a group goes. */
type Destination = 'body' | 'skip' | 'fonts' | 'styles' | 'info' | 'instruction' | 'marker' | 'author';

export interface State {
  destination: Destination;
  /** Field of `info` that is being read. */
  field: string;
  bold: boolean;
  italic: boolean;
  strike: boolean;
  hidden: boolean;
  raised: 'sup' | 'sub' | undefined;
  address: string | undefined;
  /** Characters that stand in for one `\u`. */
  fallback: number;
  font: number;
  /** Which note this group is: its text goes there until it closes. */
  note: 'footnote' | 'comment' | null;
}

/** Outside all groups. */
export function fresh(): State {
  return {
    destination: 'body',
    field: '',
    bold: false,
    italic: false,
    strike: false,
    hidden: false,
    raised: undefined,
    address: undefined,
    fallback: 1,
    font: -1,
    note: null,
  };
}
