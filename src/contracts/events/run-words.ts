/**
 * The text of an event about a run of a template: its name, and in a second line why it stopped there. Two lines of one text and not two fields:
 * bodies between a computer and its cloud are strict, and an older one of either would refuse the event. Pure.
 */

/** As the registry takes them. */
const maxLength = 500;
const maxNameLength = 200;

export function runWords(name: string, why: string): string {
  const [line = ''] = name.trim().split('\n');
  const text = why === '' ? line : `${line.slice(0, maxNameLength)}\n${why.replace(/\s+/g, ' ').trim()}`;
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

/** `why` is empty where it ended well, and where an older Gantry sent it. */
export function runWordsIn(text: string): { readonly name: string; readonly why: string } {
  const [name = '', ...why] = text.split('\n');
  return { name, why: why.join(' ') };
}
