const word = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu;

/** The words of a text in lower case, in order. An apostrophe or hyphen inside a word belongs to it. */
export function words(text) {
  return (text.match(word) ?? []).map((found) => found.toLowerCase().replaceAll('’', "'"));
}
