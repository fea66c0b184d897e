/** Times in sentences of servers, as the person's clock shows them. Pure. */

/** What a sentence quotes stays as it is. */
const rfc3339 = /(?<![\w"“])\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)(?![\w"”])/g;

/** Made once: to make it costs a hundred times what it costs to write a time with it. */
const writer = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export function localTimes(sentence: string): string {
  return sentence.replace(rfc3339, (at) => {
    const date = new Date(at);
    if (Number.isNaN(date.getTime())) return at;
    return writer.format(date);
  });
}
