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

/** In the time of a zone that is named beside it. */
export function timeIn(at: string, timezone: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  }).formatToParts(date);
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? '';
  return `${part('year').padStart(4, '0')}-${part('month')}-${part('day')} ${part('hour')}:${part('minute')}`;
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

/** What a terminal acts on or draws elsewhere: controls, marks of direction, separators of lines. Tabs and line feeds stay. */
const acting = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Text of a bot or a program, safe to print on a terminal: no escape sequence may act on it. */
export function harmless(text: string): string {
  return text.replace(acting, '\uFFFD');
}

/** The same for what Gantry drew itself: its colours stay. */
export function harmlessDrawing(text: string): string {
  return text
    .split(/(\x1b\[[0-9;]*m)/)
    .map((part, index) => (index % 2 === 1 ? part : harmless(part)))
    .join('');
}

/** The same as one cell of a table or the value of a fact: a line feed in it would forge a row. */
export function inCell(text: string): string {
  return harmless(text.replace(/\n/g, '\\n').replace(/\t/g, '\\t'));
}

/** A text of several lines under its heading: none of them can pass for one of Gantry's own. */
export function inset(text: string): string {
  return text.replace(/^/gm, '  ');
}

/** The same, its first line where it is. */
export function hanging(text: string): string {
  return text.replace(/\n/g, '\n  ');
}

/** A JSON document whose text no terminal acts on: JSON itself escapes only what lies below U+0020. */
export function harmlessJson(document: unknown): string {
  return JSON.stringify(document).replace(
    acting,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
