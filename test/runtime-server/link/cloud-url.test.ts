/** Which addresses of a cloud are taken, and as what. */
import { expect, test } from 'vitest';
import { parseCloudUrl } from '../../../src/runtime-server/link/cloud-url.ts';

const taken: readonly (readonly [string, string])[] = [
  ['https://gantry.example', 'https://gantry.example'],
  ['  https://Gantry.Example/ ', 'https://gantry.example'],
  ['gantry.example', 'https://gantry.example'],
  ['gantry.example:8443', 'https://gantry.example:8443'],
  ['https://gantry.example:443', 'https://gantry.example'],
  ['http://127.0.0.1:3010', 'http://127.0.0.1:3010'],
  ['http://localhost:3010', 'http://localhost:3010'],
  ['http://[::1]:3010', 'http://[::1]:3010'],
  ['http://10.0.0.7:3010', 'http://10.0.0.7:3010'],
  ['http://192.168.1.2', 'http://192.168.1.2'],
  ['http://100.64.0.9:3010', 'http://100.64.0.9:3010'],
  ['http://[fd00::7]:3010', 'http://[fd00::7]:3010'],
  ['http://cloud:3010', 'http://cloud:3010'],
];
test.each(taken)('%s is %s', (given, url) => {
  expect(parseCloudUrl(given)).toBe(url);
});

const refused = [
  '',
  ' ',
  'https://',
  'ftp://gantry.example',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'http://gantry.example',
  'http://8.8.8.8',
  'http://[2001:4860:4860::8888]',
  'http://[::ffff:8.8.8.8]',
  'http://169.254.169.254.example.com',
  'http://0x08080808',
  'https://user:secret@gantry.example',
  'https://gantry.example/path',
  'https://gantry.example/?a=1',
  'https://gantry.example/#a',
];
test.each(refused)('%j is refused', (given) => {
  expect(() => parseCloudUrl(given)).toThrow(expect.objectContaining({ code: 'usage' }));
});
