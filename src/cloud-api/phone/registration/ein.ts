/** The EIN of a business: shown masked, kept whole only sealed and only until its registry has decided. Pure. */

const written = /^(\d{2})-?(\d{7})$/;

/** `12-3456789`; null: it is none. */
export function readEin(text: string): string | null {
  const found = written.exec(text.trim());
  // Nine times the same digit is what people type to get on.
  if (found === null || /^(\d)\1*$/.test(`${found[1]}${found[2]}`)) return null;
  return `${found[1]}-${found[2]}`;
}

/** `**-***6789`. */
export function maskEin(ein: string): string {
  return `**-***${ein.slice(-4)}`;
}

export const isMasked = (text: string) => /^\*\*-?\*\*\*\d{4}$/.test(text.trim());

/** Carriers repeat it in what they answer. */
export function withoutEins(text: string): string {
  return text.replace(/(?<!\d)\d{2}-?\d{7}(?!\d)/g, (ein) => maskEin(ein));
}
