/**
 * Cuts a long text into pastes. Copilot 1.0.102 saves a paste of more than 20 KiB to a file and names only that file to its model, which then has
 * neither the sender nor the words. Must not know the composer.
 */

const maxPasteBytes = 20_000;
/** A unit of UTF-16 has at most three bytes in UTF-8. */
const pieceLength = 6000;
/** Copilot may drop a line break at the end of a paste, so a cut is inside a word. */
const insideWord = /^[\p{L}\p{N}\p{P}]{2}$/u;

export function piecesOf(text: string): readonly string[] {
  if (Buffer.byteLength(text) <= maxPasteBytes) return [text];
  const pieces: string[] = [];
  let rest = text;
  while (rest.length > pieceLength) {
    const at = cutOf(rest);
    pieces.push(rest.slice(0, at));
    rest = rest.slice(at);
  }
  return [...pieces, rest];
}

function cutOf(text: string): number {
  for (let at = pieceLength; at > 1; at -= 1) {
    if (insideWord.test(text.slice(at - 1, at + 1))) return at;
  }
  // Never between the two units of one character.
  return /[\ud800-\udbff]/.test(text.charAt(pieceLength - 1)) ? pieceLength - 1 : pieceLength;
}
