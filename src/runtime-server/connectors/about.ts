/**
 * A short text of an event, from its data, by which a person recognises it. Only for answers to readers of the ticket: it is a stranger's text.
 * Pure; must not know tickets or how the text is shown.
 */
const textNames = ['title', 'subject', 'summary', 'name', 'text', 'message'] as const;
/** Characters, of all of it. */
const maxLength = 120;

/** Invisible characters and those that disturb the line: controls except separators, marks of direction, characters without a width. */
const unseen = /(?!\s)\p{Cc}|[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/gu;
/** As of an issue or a ticket: anything else under that name may be a key to something. */
const keyShape = /^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,23}$/u;

type Members = Readonly<Record<string, unknown>>;

/** Such as `#12 Build fails on arm`; null: the data names no subject. */
export function aboutOf(data: unknown): string | null {
  if (!isObject(data)) return null;
  const nested = Object.values(data).find(isObject);
  const places = nested === undefined ? [data] : [data, nested];
  for (const place of places) {
    const text = textOf(place);
    if (text === null) continue;
    // The number beside the text is that of the same thing.
    const number = numberOf(place) ?? places.map(numberOf).find((one) => one !== null) ?? null;
    return cut(number === null ? text : `${number} ${text}`);
  }
  return null;
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function textOf(place: Members): string | null {
  for (const name of textNames) {
    const value = place[name];
    const text = typeof value === 'string' ? oneLine(value) : '';
    if (text !== '') return text;
  }
  return null;
}

function numberOf({ number, key }: Members): string | null {
  if (Number.isSafeInteger(number)) return `#${number}`;
  if (typeof number === 'string' && /^\d{1,15}$/.test(number)) return `#${number}`;
  return typeof key === 'string' && keyShape.test(key) ? key : null;
}

const oneLine = (text: string) => text.toWellFormed().replaceAll(unseen, '').replaceAll(/\s+/gu, ' ').trim();

function cut(text: string): string {
  const characters = [...text];
  return characters.length <= maxLength ? text : `${characters.slice(0, maxLength - 1).join('')}…`;
}
