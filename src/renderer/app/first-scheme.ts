/** Dark or light before the settings are read (base/data/settings.ts): the frame must not be white for a moment. Must not know the schemas. */
export function firstScheme(storage: Pick<Storage, 'getItem'>, dark: { readonly matches: boolean }): 'dark' | 'light' {
  const theme = /"theme":"(dark|light)"/.exec(storage.getItem('gantry.settings') ?? '')?.[1];
  if (theme === 'dark' || theme === 'light') return theme;
  return dark.matches ? 'dark' : 'light';
}
