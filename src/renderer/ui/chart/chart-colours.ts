/**
 * Colours of the lines of a chart, in both themes: without amber, red and green, which mean something, apart in lightness for colour-blind readers, and
 * each with a dash of its own. Pure.
 */
export type Scheme = 'dark' | 'light';
export type Dash = 'solid' | 'dashed' | 'dotted';

interface ChartColours {
  /** As the tokens `bg-1`, `muted` and `line` of the theme, for a canvas that knows no variables. */
  readonly panel: string;
  readonly text: string;
  readonly grid: string;
  readonly lines: readonly string[];
}

export const chartColours: Readonly<Record<Scheme, ChartColours>> = {
  dark: {
    panel: '#17181b',
    text: '#a2a6ad',
    grid: '#2c2f33',
    lines: ['#4da3ff', '#f5b8da', '#1fa89c', '#c9ccd3', '#9a7cf0', '#c2579b'],
  },
  light: {
    panel: '#ffffff',
    text: '#53575e',
    grid: '#dfe1e5',
    lines: ['#0b62b8', '#c0549a', '#0a4f4a', '#6b717c', '#3b2a8c', '#b23a9e'],
  },
};

/** More lines than this nobody tells apart; the others are summed. */
export const maxLines = chartColours.dark.lines.length;

export const dashes: readonly Dash[] = ['solid', 'dashed', 'dotted', 'solid', 'dashed', 'dotted'];
