/** Formats texts of results for reading. Pure. */

/** Characters of one value; what is longer is data that nobody reads. */
const maxValueLength = 20_000;
/** Above that a text is shown as it came: reading it as JSON would take long. */
const maxJsonLength = 2_000_000;

/** An object or a list in JSON, with a line a value; null: the text is something else. */
export function prettyJson(text: string): string | null {
  if (text.length > maxJsonLength || !/^\s*[[{]/.test(text)) return null;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}

/** A result as JSON; pictures and files in it are named by their size. */
export function resultAsJson(value: unknown): string {
  const short = (_name: string, one: unknown): unknown =>
    typeof one === 'string' && one.length > maxValueLength
      ? `${one.slice(0, 200)}… (${one.length} characters in all)`
      : one;
  return JSON.stringify(value, short, 2) ?? 'undefined';
}
