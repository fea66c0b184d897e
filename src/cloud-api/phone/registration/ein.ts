/** The EIN of a business: shown masked; stored in full only sealed, until its registry has decided. Pure. */

const written = /^(\d{2})-?(\d{7})$/;

/** `12-3456789`; null: not an EIN. */
export function readEin(text: string): string | null {
  const found = written.exec(text.trim());
  // People type nine times the same digit to get past the field.
  if (found === null || /^(\d)\1*$/.test(`${found[1]}${found[2]}`)) return null;
  return `${found[1]}-${found[2]}`;
}

/** `**-***6789`. */
export function maskEin(ein: string): string {
  return `**-***${ein.slice(-4)}`;
}

export const isMasked = (text: string) => /^\*\*-?\*\*\*\d{4}$/.test(text.trim());

/** Carriers repeat it in their responses. */
export function withoutEins(text: string): string {
  return text.replace(/(?<!\d)\d{2}-?\d{7}(?!\d)/g, (ein) => maskEin(ein));
}
