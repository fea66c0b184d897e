/**
 * Types any text into what has the focus: as keys where a page may listen to them, as text where no key makes it. Must not know members.
 */
import type { Page } from 'playwright-core';
import { HandsFault } from '../hands.ts';
import type { Described } from './in-page.ts';
import { type Chord, parseChord } from './keys.ts';

/** Characters. A text up to this length is typed key by key; a longer one as text with its last sign as a key (1 ms a key). */
const maxKeysLength = 300;
/** Milliseconds: as keyboards have it. */
const repeatAfterMs = 500;
const repeatEachMs = 33;

/** What is not typed yet when `signal` aborts stays untyped. */
export async function typeText(
  page: Page,
  text: string,
  takes: Described['takes'],
  signal: AbortSignal,
): Promise<void> {
  const whole = text.replace(/\r\n?/g, '\n');
  const long = whole.length > maxKeysLength && takes !== 'keys';
  // A text area takes lines as they are; elsewhere a new line is what Enter makes of it.
  const parts = long && takes === 'lines' ? [whole] : whole.split('\n');
  for (const [index, part] of parts.entries()) {
    if (index > 0) await page.keyboard.press('Enter');
    for (const run of runsOf(part, long)) {
      signal.throwIfAborted();
      if (run.keys) for (const sign of run.text) await pressSign(page, sign, signal);
      else await page.keyboard.insertText(run.text);
    }
  }
}

/** Chords one after the other; throws `unknown_key` before the first one is pressed for what {@link parseChord} does not know. */
export async function pressChord(page: Page, chord: Chord, signal: AbortSignal): Promise<void> {
  await holding(page, chord.keys, signal, async () => {
    if (chord.text !== null) await page.keyboard.insertText(chord.text);
  });
}

/** Holds a chord for so long; its last key repeats as a held key does. */
export async function holdChord(page: Page, text: string, ms: number, signal: AbortSignal): Promise<void> {
  const chord = parseChord(text);
  const last = chord.keys.at(-1);
  const until = performance.now() + ms;
  await holding(page, chord.keys, signal, async () => {
    await pauseFor(Math.min(ms, repeatAfterMs), signal);
    while (performance.now() < until && !signal.aborted && last !== undefined) {
      await page.keyboard.down(last);
      await pauseFor(Math.min(repeatEachMs, until - performance.now()), signal);
    }
  });
}

/** Holds the keys during `work`, and lets go of them whatever becomes of it. */
export async function holding(
  page: Page,
  keys: readonly string[],
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const down: string[] = [];
  try {
    for (const key of keys) {
      signal.throwIfAborted();
      await page.keyboard.down(key).catch((error: Error) => {
        throw error.message.includes('Unknown key')
          ? new HandsFault('page', 'unknown_key', `There is no key ${key}.`)
          : error;
      });
      down.push(key);
    }
    await work();
  } finally {
    for (const key of down.reverse()) await page.keyboard.up(key).catch(() => {});
  }
}

export function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) return done();
    const timer = setTimeout(end, Math.max(0, ms));
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      done();
    }
    signal.addEventListener('abort', end, { once: true });
  });
}

async function pressSign(page: Page, sign: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await page.keyboard.press(sign === '+' ? 'NumpadAdd' : sign);
}

/** Neighbours that are typed in the same way, together: a sign of several code points must not be torn. */
function runsOf(text: string, long: boolean): { readonly keys: boolean; readonly text: string }[] {
  if (text === '') return [];
  if (long) {
    const last = /[\x20-\x7e]$/.test(text) && !/\P{ASCII}.?$/u.test(text) ? text.at(-1)! : '';
    const before = text.slice(0, text.length - last.length);
    return [
      ...(before === '' ? [] : [{ keys: false, text: before }]),
      ...(last === '' ? [] : [{ keys: true, text: last }]),
    ];
  }
  // An accent that follows a letter belongs to it.
  return [...text.matchAll(/(?:[\x20-\x7e](?!\p{M}))+|(?:[^\x20-\x7e]|[\x20-\x7e](?=\p{M}))+/gu)].map(([run]) => ({
    keys: /^[\x20-\x7e]+$/.test(run),
    text: run,
  }));
}
