import { words } from './words.js';

/** How often each word occurs, as a Map in order of first occurrence. */
export function countWords(text) {
  const counts = new Map();
  for (const word of words(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
