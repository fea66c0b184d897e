/** Numbers, times and states as a person reads them in a terminal. Pure. */

/** `3 s ago`, `12 min ago`, `5 h ago`, `2 d ago`; `now` under a second, `in 4 min` ahead of now. */
export function ago(at: string, now: number): string {
  const seconds = Math.round((now - Date.parse(at)) / 1000);
  if (Number.isNaN(seconds)) return at;
  if (Math.abs(seconds) < 1) return 'now';
  const text = span(Math.abs(seconds));
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

/** How long it has lasted. */
export function lasting(since: string, now: number): string {
  return span(Math.max(0, Math.round((now - Date.parse(since)) / 1000)));
}

/** A length of time in its largest whole unit. */
export function span(seconds: number): string {
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** In the time of where the person sits. */
export function clockTime(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const two = (n: number) => String(n).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** A sentence of a server, its times in that of where the person sits; what it quotes stays. */
export function localTimes(sentence: string): string {
  return sentence.replace(
    /(?<![\w"“])\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)(?![\w"”])/g,
    clockTime,
  );
}

/** `1 bot`, `3 bots`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** A wire word as a person says it: `needs_you` → `needs you`. */
export function spoken(word: string): string {
  return word.replaceAll('_', ' ');
}

/** One line, at most `length` characters, control characters made visible as spaces. */
export function oneLine(text: string, length: number): string {
  const flat = text
    .replace(/\p{Cc}+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return [...flat].length > length ? `${[...flat].slice(0, length - 1).join('')}…` : flat;
}

/** Text of a bot or a program, safe to print on a terminal: no escape sequence may act on it. Tabs and line feeds stay. */
export function harmless(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}/gu, '\uFFFD');
}
