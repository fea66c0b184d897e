import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  helpWords,
  plain,
  readKeyword,
  startWords,
  stopWords,
} from '../../../../src/cloud-api/phone/texts/keywords.ts';

const kindOf = (text: string) => readKeyword(text)?.kind ?? null;

/** Signs, pictures and blanks that people put around a word. */
const around = fc
  .array(
    fc.constantFrom(
      ' ',
      '!',
      '.',
      '…',
      '"',
      '“',
      '”',
      "'",
      '’',
      '?',
      '-',
      '*',
      '_',
      '~',
      '🛑',
      '😡',
      '🙏🏽',
      '\n',
      '\t',
      '\u200b',
      '\u00a0',
      '(',
      ')',
      '#',
    ),
    { maxLength: 5 },
  )
  .map((signs) => signs.join(''));

/** A word as somebody may type it: any case, wide letters, something invisible between. */
const typed = (words: readonly string[]) =>
  fc
    .constantFrom(...words)
    .chain((word) =>
      fc
        .array(fc.constantFrom('lower', 'upper', 'wide', 'joined'), { minLength: word.length, maxLength: word.length })
        .map((hows) => [...word].map((letter, at) => spell(letter, hows[at] as string)).join('')),
    );

function spell(letter: string, how: string): string {
  if (letter === ' ' || how === 'lower') return letter;
  if (how === 'wide') return String.fromCharCode(letter.charCodeAt(0) - 0x61 + 0xff41);
  return how === 'upper' ? letter.toUpperCase() : `${letter}\u2060`;
}

const tail = fc.constantFrom(
  '',
  ' please',
  '. Thank you',
  ', thanks!',
  ' PLS',
  ' now',
  ' right now!!',
  '. Thx 🙏',
  '\n\nSent from my iPhone',
);
const head = fc.constantFrom('', 'Please ', 'ok, ', 'Hi! ', 'pls ');

describe('STOP in every spelling', () => {
  test('a word of the list is STOP, whatever stands around it', () => {
    fc.assert(
      fc.property(around, head, typed(stopWords), tail, around, (before, polite, word, thanks, after) => {
        expect(kindOf(`${before}${polite}${word}${thanks}${after}`)).toBe('stop');
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    ...[
      'STOP',
      'Stop.',
      'stop!!!',
      '"STOP"',
      '“Stop”',
      'Stop. Thank you',
      'stop please',
      'please stop',
      'S T O P',
      'S.T.O.P.',
    ],
    ...[
      'ＳＴＯＰ',
      'STOPALL',
      'STOP ALL',
      'stop-all',
      'Unsubscribe',
      'CANCEL',
      'End',
      'quit',
      'Opt-Out',
      'OPT OUT',
      'optout',
    ],
    ...['REVOKE', 'remove', 'Arrêt', 'STOP STOP STOP', '🛑 stop 🛑', 'Stop\n\nSent from my iPhone'],
    ...[
      "don't text me again",
      'Don’t text me anymore!',
      'stop texting me',
      'STOP TEXTING ME PLEASE',
      'do not contact me',
    ],
    ...[
      'remove me from your list',
      'take me off your list please',
      'Remove my number',
      'lose my number',
      'no more texts',
    ],
    ...['please stop sending me messages', 'stop sending me these messages', 'unsubscribe me', 'I want to unsubscribe'],
    ...['opt me out', 'I revoke my consent', 'I withdraw consent to be texted', 'leave me alone', 'stop the spam'],
    ...[
      "I don't want to receive any more texts",
      'I no longer want to get messages from you',
      "I don't want to hear from you",
    ],
    ...[
      'Who is this? Stop texting me.',
      'I told you to stop texting me',
      'Can you take me off this list?',
      'stop messages',
    ],
    ...[
      'no more messages please',
      "don't send me any more texts",
      'Do not call me',
      'stop calling me',
      'never text this number again',
    ],
  ])('%j is STOP', (text) => {
    expect(kindOf(text)).toBe('stop');
  });
});

describe('STOP said in several words of the list', () => {
  test.each([
    ...['STOP STOPALL', 'stop/unsubscribe', 'Stop and unsubscribe', 'QUIT, STOP!', 'stop. end. cancel', 'STOP & END'],
    ...['Un-subscribe', 'UN SUBSCRIBE', 'un-subscribe me', 'STOP-ALL', 'opt-out / stop', 'Stop fucking texting me'],
    ...['quit bloody calling me', 'Stop sending me your damn texts'],
  ])('%s', (text) => {
    expect(readKeyword(text)?.kind).toBe('stop');
  });

  test.each(['un-stop', 'UN STOP'])('%s is START', (text) => {
    expect(readKeyword(text)?.kind).toBe('start');
  });

  test.each(['the end and stop', 'start and end', 'cancel and help', 'end and start', 'quit and go home'])(
    '%s is none',
    (text) => {
      expect(['stop', 'start', 'help']).not.toContain(readKeyword(text)?.kind);
    },
  );
});

describe('ordinary sentences are no STOP', () => {
  test.each([
    ...[
      'stop by at 5',
      'please cancel my 3pm',
      'the end',
      'Can you stop by the store?',
      'which bus stop is it',
      'I quit my job today',
    ],
    ...[
      'we should end the meeting',
      'cancel the order for tomorrow',
      'when does it end?',
      "don't stop believing",
      'Stop at the bakery',
    ],
    ...[
      'nonstop flight please',
      'what time do you stop serving',
      'remove the onions',
      'The weekend works',
      'friend',
      'stopwatch',
    ],
    ...[
      'please remove the second item',
      'Text me when you get there',
      'call me',
      "don't text me before 9",
      'end of the month is fine',
    ],
    ...[
      'I will quit smoking',
      'Cancel. Let us do Tuesday instead',
      'how do I cancel?',
      'send me more messages',
      'yes',
      '',
      '🛑',
      '...',
    ],
    ...[
      'Liked “Reply STOP to opt out”',
      'Loved "You can stop texting me by saying STOP"',
      'Laughed at “stop”',
      'stop lol',
      'haha stop',
    ],
    ...['end 2', '1 end', 'opt in', 'I asked them to stop the car', 'my number is 5', 'delete the file'],
  ])('%j is none', (text) => {
    expect(kindOf(text)).not.toBe('stop');
  });

  const ordinary = fc.constantFrom(
    'the',
    'my',
    'bus',
    'at',
    '5',
    'order',
    'we',
    'tomorrow',
    'lunch',
    'noon',
    'train',
    'by',
    'is',
    'where',
    'house',
    'did',
    'it',
    'green',
  );

  test('a word of the list inside of a sentence is none', () => {
    const sentence = fc
      .tuple(fc.array(ordinary, { maxLength: 5 }), typed(stopWords), fc.array(ordinary, { maxLength: 5 }))
      .filter(([before, , after]) => before.length + after.length > 0)
      .map(([before, word, after]) => [...before, word, ...after].join(' '));
    fc.assert(
      fc.property(around, sentence, around, (before, text, after) => {
        expect(kindOf(`${before}${text}${after}`)).not.toBe('stop');
      }),
      { numRuns: 2000 },
    );
  });

  test('a word that only begins or ends with one of the list is none', () => {
    const letters = fc.stringMatching(/^[a-z]{1,4}$/);
    fc.assert(
      fc.property(letters, fc.constantFrom('stop', 'end', 'quit', 'cancel'), letters, (before, word, after) => {
        for (const text of [before + word, word + after, before + word + after]) {
          fc.pre(!stopWords.includes(text) && !startWords.includes(text) && !/^(.)\1*$/.test(text));
          expect(kindOf(text)).not.toBe('stop');
        }
      }),
    );
  });
});

describe('START and HELP are whole messages', () => {
  test('in every spelling', () => {
    fc.assert(
      fc.property(around, typed(startWords), typed(helpWords), around, (before, start, help, after) => {
        expect(kindOf(`${before}${start}${after}`)).toBe('start');
        expect(kindOf(`${before}${help}${after}`)).toBe('help');
      }),
    );
  });

  test.each(['help me with my order', 'help please', 'start at 9', 'restart', 'let us start', 'YES', 'please start'])(
    '%j is for the bot',
    (text) => {
      expect(kindOf(text)).toBeNull();
    },
  );
});

describe('what may mean STOP is marked', () => {
  test.each([
    'stop it',
    'haha stop',
    "don't text me before 9",
    'is this spam?',
    'I opted out last week',
    'Cancel. And stop',
  ])('%j', (text) => {
    expect(kindOf(text)).toBe('unclear');
  });

  test.each(['stop by at 5', 'which bus stop is it', 'Stop at the bakery', 'the end', 'cancel my 3pm'])(
    '%j is not',
    (text) => {
      expect(kindOf(text)).toBeNull();
    },
  );
});

test('any text is read, quickly, and the same again once it is plain', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
      readKeyword(text);
      expect(plain(plain(text))).toBe(plain(text));
    }),
  );
  const began = performance.now();
  for (const text of [
    'do not send me any more these your the all '.repeat(4000),
    'please '.repeat(20_000),
    'i opt out of '.repeat(9000),
  ])
    readKeyword(text);
  expect(performance.now() - began).toBeLessThan(500);
});

describe('STOP in another language or mistyped', () => {
  const flagged = [
    'Stpo',
    'STOPP',
    'sotp',
    'Stoop!',
    'ALTO',
    'PARAR',
    'СТОП',
    'Стоп.',
    '停止',
    '退订',
    '중지',
    'やめて',
    'Arrêter',
    'dừng lại',
  ];
  test.each(flagged)('%s is shown to the owner as what may mean it', (text) => {
    expect(kindOf(text)).toBe('unclear');
  });
  test.each([
    'spot',
    'Spots',
    'step',
    'shop',
    'post',
    'stops',
    'alto sax lessons',
    'halt 5 uhr',
    'Para',
    'top',
    'Стоп-кран сломан',
  ])('%s is an ordinary message', (text) => {
    expect(kindOf(text)).toBeNull();
  });
});
