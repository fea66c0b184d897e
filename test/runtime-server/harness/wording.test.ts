import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clean, composeCommands, composePrompt, containsText } from '../../../src/runtime-server/harness/wording.ts';
import { outgoing } from './bench-of-one.ts';

test('whatever is sent, the composed message begins with a letter or a comment and has no control characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (text, sender) => {
      const message = outgoing(text, { senderLine: `From ${sender}`, replyLine: `Answer ${text}` });
      for (const [composed, first] of [
        [composePrompt(message), /^From/],
        [composeCommands(message), /^# From/],
      ] as const) {
        expect(composed).toMatch(first);
        expect(composed).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/);
      }
    }),
  );
});

test('sender and reply lines stay one line each, so that no name can begin a command', () => {
  const message = outgoing('ls', { senderLine: 'From x\n!rm', replyLine: 'Answer:\r\n/quit' });
  expect(composeCommands(message)).toBe('# From x !rm\nls\n# Answer: /quit');
  expect(composePrompt(message).split('\n')).toHaveLength(4);
});

test('an escape sequence that would end a paste loses its escape', () => {
  expect(clean('a\x1b[201~\rb\u009b201~')).toBe('a[201~\nb201~');
});

test.each([
  ['as it is', 'From owner (message d1):\nsay hello'],
  [
    'wrapped by a collapsed paste',
    '\n\n<pasted_content id="6fd8">\nFrom owner (message d1):\nsay hello\n</pasted_content id="6fd8">\n',
  ],
  ['with tabs as blanks and CRLF', 'From owner (message d1):\r\nsay    hello'],
  ['with a date in front', '<current_datetime>2026-11-20</current_datetime>\nFrom owner (message d1):\nsay hello '],
  ['without invisible characters', 'From owner (message d1):\nsay hello'],
])('what a harness says it took is recognised %s', (_, taken) => {
  expect(containsText(taken, 'From owner (message d1):\nsay\thel\u200blo')).toBe(true);
});

test('another message, half a message and an empty one are not recognised', () => {
  const ours = 'From owner (message d1):\nsay hello';
  expect(containsText('From owner (message d2):\nsay hello', ours)).toBe(false);
  expect(containsText('From owner (message d1):\nsay', ours)).toBe(false);
  expect(containsText('anything', ' \n')).toBe(false);
});
