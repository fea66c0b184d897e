/** Palettes of terminals, by name: known before a terminal is opened, when their colours are not loaded yet. */
export const terminalPalettes = ['gantry', 'classic', 'solarized', 'colour-blind'] as const;
export type TerminalPalette = (typeof terminalPalettes)[number];
