import { expect, test } from 'vitest';
import { userName } from '../../src/host/user-name.ts';

test('a user that no account names is named by its number', () => {
  expect(userName(() => 'ada')).toBe('ada');
  const nobody = () => {
    throw new Error('uv_os_get_passwd returned ENOENT');
  };
  expect(userName(nobody)).toBe(String(process.getuid?.() ?? 'user'));
});
