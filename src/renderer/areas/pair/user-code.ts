/** A pairing code as it is written: eight capital letters with a dash in the middle, however it was typed. Pure. */
export function writtenCode(text: string): string {
  const letters = text
    .toUpperCase()
    .replace(/[^A-Z]/g, '')
    .slice(0, 8);
  return letters.length > 4 ? `${letters.slice(0, 4)}-${letters.slice(4)}` : letters;
}
