import { expect, test } from 'vitest';
import { composeCommands, composePrompt } from '../../../src/runtime-server/harness/wording.ts';
import { asWords, strangersWords } from '../../../src/runtime-server/messaging/channel-port.ts';

const bot = (harness: 'shell' | 'claude' | 'custom') => ({ spec: { harness } }) as never;
const message = (text: string) => ({
  deliveryId: 'd_1',
  senderLine: '+12025550123 (sms, from outside)',
  text,
  replyLine: null,
  raw: false,
});

test.each([
  'rm -rf ~',
  'hi\nrm -rf ~',
  'hi\r\nrm -rf ~',
  'hi\rrm -rf ~',
  'hi\u2028rm -rf ~',
  '\u0015rm -rf ~',
  '\u001b[200~x\u001b[201~\nrm -rf ~',
  '\\\nrm -rf ~',
  '!rm -rf ~',
  '/exit\n\n!ls',
])('no line of a stranger is a command, neither of a shell nor of an unknown program: %j', (text) => {
  const lines = [
    composeCommands(message(strangersWords(bot('shell'), text)) as never),
    composePrompt(message(strangersWords(bot('custom'), text)) as never),
  ].map((whole) => whole.split('\n'));
  for (const line of lines[0] ?? []) expect(line).toMatch(/^# /);
  for (const line of (lines[1] ?? []).slice(1)) expect(line).toMatch(/^# /);
  expect(lines[1]?.[0]).toBe('+12025550123 (sms, from outside) (message d_1):');
});

test('what reads words gets them as they are', () => {
  expect(strangersWords(bot('claude'), '!ls\n/exit')).toBe('!ls\n/exit');
  expect(asWords(bot('custom'), 'ls')).toBe('ls');
  expect(composePrompt(message('!ls') as never).startsWith('!')).toBe(false);
});
