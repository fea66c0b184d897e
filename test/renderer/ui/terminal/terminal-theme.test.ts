import { expect, test } from 'vitest';
import { terminalPalettes } from '../../../../src/renderer/ui/terminal/palettes.ts';
import { terminalTheme } from '../../../../src/renderer/ui/terminal/terminal-theme.ts';

test.each(terminalPalettes)(
  'the palette %s has every colour in both schemes, and stands on the ground of the page',
  (palette) => {
    for (const scheme of ['dark', 'light'] as const) {
      const theme = terminalTheme(scheme, palette);
      expect(Object.keys(theme).toSorted()).toEqual(Object.keys(terminalTheme(scheme, 'gantry')).toSorted());
      expect(Object.values(theme).filter((colour) => !/^#[0-9a-f]{6}$/.test(colour))).toEqual([]);
      expect(theme.background).toBe(terminalTheme(scheme, 'gantry').background);
    }
  },
);
