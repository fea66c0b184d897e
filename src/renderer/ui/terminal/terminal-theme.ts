/**
 * Colours of terminals. xterm wants plain colours, so the two schemes are written out; the grounds are those of --terminal, whichever palette
 * the text has.
 */
import type { ITheme } from '@xterm/xterm';
import type { TerminalPalette } from './palettes.ts';

type Scheme = 'dark' | 'light';

const grounds: Readonly<Record<Scheme, ITheme>> = {
  dark: {
    background: '#0e1013',
    cursor: '#5eb6ee',
    cursorAccent: '#0e1013',
    selectionBackground: '#2b4a63',
    overviewRulerBorder: '#0e1013',
  },
  light: {
    background: '#fcfcfd',
    cursor: '#0a66ad',
    cursorAccent: '#fcfcfd',
    selectionBackground: '#c4dcf2',
    overviewRulerBorder: '#fcfcfd',
  },
};

/** The text itself, the eight colours of a terminal, and the same eight brighter. */
const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;

function text(foreground: string, colours: string, bright: string): ITheme {
  const [plain, brighter] = [colours.split(' '), bright.split(' ')];
  const all = names.flatMap((name, at) => [
    [name, plain[at]],
    [`bright${name[0]?.toUpperCase()}${name.slice(1)}`, brighter[at]],
  ]);
  return { foreground, ...Object.fromEntries(all) };
}

const texts: Readonly<Record<TerminalPalette, Readonly<Record<Scheme, ITheme>>>> = {
  gantry: {
    dark: text(
      '#d9dbde',
      '#23272d #f0716b #6fcf8e #d8b45a #6aaef2 #c792ea #5fc7cf #c9ccd1',
      '#7b828c #ff9089 #8fe3a9 #ecd07f #93c7fb #dcb4f5 #8adfe5 #f2f3f5',
    ),
    light: text(
      '#24272c',
      '#24272c #b3261e #1a7a3c #86600a #1a5fb4 #8430a8 #0f7078 #6a6f77',
      '#5c626b #c8372d #1f8a47 #946b0c #2a6fc4 #9540ba #12808a #33373d',
    ),
  },
  classic: {
    dark: text(
      '#e5e5e5',
      '#000000 #cd3131 #0dbc79 #e5e510 #2472c8 #bc3fbc #11a8cd #e5e5e5',
      '#666666 #f14c4c #23d18b #f5f543 #3b8eea #d670d6 #29b8db #ffffff',
    ),
    light: text(
      '#1f1f1f',
      '#000000 #cd3131 #107c10 #7a6400 #0451a5 #bc05bc #0a6b8a #555555',
      '#666666 #a1260d #14690f #6b5700 #0b4aa2 #8b0f8b #075a75 #262626',
    ),
  },
  solarized: {
    dark: text(
      '#93a1a1',
      '#073642 #dc322f #859900 #b58900 #268bd2 #d33682 #2aa198 #eee8d5',
      '#657b83 #cb4b16 #9fb300 #d0a215 #6c9fd8 #6c71c4 #4fc0b5 #fdf6e3',
    ),
    light: text(
      '#586e75',
      '#073642 #dc322f #859900 #b58900 #268bd2 #d33682 #2aa198 #586e75',
      '#657b83 #cb4b16 #728300 #946f00 #1f76b3 #6c71c4 #22857d #002b36',
    ),
  },
  // After Okabe and Ito: red and green differ in lightness and towards orange and blue.
  'colour-blind': {
    dark: text(
      '#d9dbde',
      '#23272d #e8804a #5cc8b4 #f0e442 #56b4e9 #d690b8 #8fd0f5 #c9ccd1',
      '#7b828c #f5a47a #8fe0d0 #f7ef8a #8fd0f5 #e6b3d0 #b8e2fa #f2f3f5',
    ),
    light: text(
      '#24272c',
      '#24272c #a84800 #006b52 #6b6200 #0063a3 #9c4a78 #1f6f9c #6a6f77',
      '#5c626b #bd5200 #007d60 #7a7000 #0072bb #ad5485 #2a7dad #33373d',
    ),
  },
};

export const terminalTheme = (scheme: Scheme, palette: TerminalPalette): ITheme => ({
  ...grounds[scheme],
  ...texts[palette][scheme],
});
