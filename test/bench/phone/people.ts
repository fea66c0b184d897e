/** What people write to numbers, and how the service must read it. The rest of the model knows nothing of its matcher. */

/** `code`: of the own phone; in time it is the service's, later it is for the bot. */
export type Meaning = 'plain' | 'stop' | 'start' | 'help' | 'code';

export interface Saying {
  readonly text: string;
  readonly means: Meaning;
  /** The carrier knows the word too: it answers, and blocks or unblocks. */
  readonly known: boolean;
}

const of = (means: Meaning, known: boolean, ...texts: string[]): Saying[] =>
  texts.map((text) => ({ text, means, known }));

/** Drawn by weight: what is there twice is said twice as often. */
export const sayings: readonly Saying[] = [
  ...of('stop', true, 'STOP', 'Unsubscribe', 'end'),
  ...of(
    'stop',
    false,
    'Stop!!!',
    '“stop” please',
    'S T O P',
    'ＳＴＯＰ',
    'opt-out',
    'please stop texting me',
    'Remove me from your list.',
  ),
  ...of('start', true, 'START', 'start', 'UNSTOP', 'START', 'unstop'),
  ...of('start', false, 'Start!', '«unstop»', '🙂 START'),
  ...of('help', true, 'HELP', 'help'),
  ...of('help', false, 'Help?!'),
  ...of(
    'plain',
    false,
    'Hello',
    'Are you open?',
    'stop by at 5',
    'please cancel my 3pm',
    'the end',
    'YES',
    'haha stop',
    'who is this 🙂',
  ),
  ...of('plain', false, 'See you', 'thanks', '👍', 'I quit my job', 'Where is the bus stop?', 'ok', 'call me', 'no'),
];

/** The same numbers for the same seed (mulberry32). */
export function drawFrom(seed: number) {
  let state = seed >>> 0;
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const below = (max: number) => Math.floor(random() * max);
  return {
    random,
    below,
    chance: (share: number) => random() < share,
    one<T>(from: readonly T[]): T {
      return from[below(from.length)] as T;
    },
    /** One of the names, as often as its weight says. */
    weighted<N extends string>(weights: Readonly<Record<N, number>>): N {
      const names = Object.keys(weights) as N[];
      let left = random() * names.reduce((sum, name) => sum + weights[name], 0);
      for (const name of names) {
        left -= weights[name];
        if (left < 0) return name;
      }
      return names[0] as N;
    },
  };
}

export type Draw = ReturnType<typeof drawFrom>;
