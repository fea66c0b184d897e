/** Times in sentences of servers, as the person's clock shows them. Pure. */

/** What a sentence quotes stays as it is. */
const rfc3339 = /(?<![\w"“])\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)(?![\w"”])/g;

export function localTimes(sentence: string): string {
  return sentence.replace(rfc3339, (at) => {
    const date = new Date(at);
    if (Number.isNaN(date.getTime())) return at;
    return date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  });
}
