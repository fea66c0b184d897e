/** A conversation follows its bot to another account, and nothing else does: a program can name any file as its transcript. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { carryConversation, readSignIn, signedInAs } from '../../../src/runtime-server/harness/accounts.ts';
import type { BotSpec } from '../../../src/runtime-server/harness/harness.ts';
import { scratchFolder } from '../../support/scratch.ts';

function world() {
  const root = scratchFolder();
  const [home, accounts] = [join(root, 'user'), join(root, 'accounts')];
  const folder = (name: string) => join(accounts, 'claude', name);
  for (const one of [home, folder('work'), folder('private')]) mkdirSync(one, { recursive: true });
  const bot: BotSpec = {
    agentId: 'agent_1',
    slug: 'dev',
    team: 'ai',
    harness: 'claude',
    model: null,
    command: null,
    cwd: '/work',
    env: {},
    culture: null,
    resume: true,
  };
  const write = (path: string, text = 'said') => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  const carry = async (account: string | undefined, transcript: string, more: Partial<BotSpec> = {}) => {
    const facts = { sessionId: 's', transcript };
    return carryConversation({ ...bot, ...more, ...(account && { account }) }, facts, { accounts, env: {}, home });
  };
  return { root, home, accounts, folder, bot, write, carry };
}

test('the one file of a conversation is copied to the folder of the next account, and back over an older copy', async () => {
  const { home, folder, write, carry } = world();
  const first = write(join(folder('work'), 'projects', '-work', 's.jsonl'), 'one');
  write(join(folder('work'), 'projects', '-work', 'other.jsonl'));
  const second = join(folder('private'), 'projects', '-work', 's.jsonl');
  expect(await carry('private', first)).toEqual({ sessionId: 's', transcript: second });
  expect(readFileSync(second, 'utf8')).toBe('one');
  expect(existsSync(join(dirname(second), 'other.jsonl'))).toBe(false);
  write(second, 'one and two');
  expect(await carry('work', second)).toMatchObject({ transcript: first });
  expect(readFileSync(first, 'utf8')).toBe('one and two');
  const own = join(home, '.claude', 'projects', '-work', 's.jsonl');
  mkdirSync(join(home, '.claude'));
  expect(await carry(undefined, first)).toMatchObject({ transcript: own });
  expect(readFileSync(own, 'utf8')).toBe('one and two');
  expect(await carry('private', own)).toMatchObject({ transcript: second });
  // Where nothing changes, nothing is touched.
  expect(await carry('private', second)).toMatchObject({ transcript: second });
  expect(await carry(undefined, '/elsewhere/projects/x/s.jsonl')).toMatchObject({
    transcript: '/elsewhere/projects/x/s.jsonl',
  });
});

test('a file elsewhere, a link to one, and a folder of links are not followed: a new conversation begins', async () => {
  const { root, folder, write, carry } = world();
  const none = { sessionId: 's', transcript: undefined };
  const secret = write(join(root, 'secret', 'x.jsonl'), 'secret');
  expect(await carry('private', secret)).toEqual(none);
  const link = join(folder('work'), 'projects', '-work', 's.jsonl');
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(secret, link);
  expect(await carry('private', link)).toEqual(none);
  // Not below the folder of conversations.
  expect(await carry('private', write(join(folder('work'), '.credentials.json')))).toEqual(none);
  const fine = write(join(folder('work'), 'projects', '-other', 's.jsonl'));
  mkdirSync(join(root, 'trap'));
  mkdirSync(join(folder('private'), 'projects'));
  symlinkSync(join(root, 'trap'), join(folder('private'), 'projects', '-other'));
  expect(await carry('private', fine)).toEqual(none);
  expect(existsSync(join(root, 'trap', 's.jsonl'))).toBe(false);
  expect(await carry('private', join(folder('work'), 'projects', '-work', 'gone.jsonl'))).toEqual(none);
});

test('a program whose conversations are not single files begins a new one', async () => {
  const { accounts, write, carry } = world();
  const transcript = write(join(accounts, 'gemini', 'work', '.gemini', 'tmp', 'x', 'chats', 's.jsonl'));
  expect(await carry('private', transcript, { harness: 'gemini' })).toMatchObject({ transcript: undefined });
});

test('its variable names the folder, and keys of the person are withheld', () => {
  const { accounts, folder, bot } = world();
  expect(signedInAs({ ...bot, account: 'work' }, accounts)).toMatchObject({
    env: { CLAUDE_CONFIG_DIR: folder('work') },
    without: expect.arrayContaining(['ANTHROPIC_API_KEY']),
  });
  expect(signedInAs(bot, accounts)).toBe(bot);
});

test('what pays for an account is read from its own files, the dearer sign first', () => {
  const { accounts, folder, write } = world();
  expect(readSignIn('claude', folder('work'))).toMatchObject({ paidBy: null });
  write(join(folder('work'), '.credentials.json'), '{"claudeAiOauth":{}}');
  expect(readSignIn('claude', folder('work'))).toEqual({ signedIn: true, paidBy: 'subscription' });
  write(join(folder('work'), '.claude.json'), '{"primaryApiKey":"sk-x"}');
  expect(readSignIn('claude', folder('work'))).toEqual({ signedIn: true, paidBy: 'key' });
  write(join(folder('private'), '.credentials.json'), 'damaged');
  expect(readSignIn('claude', folder('private'))).toMatchObject({ paidBy: null });
  const codex = join(accounts, 'codex', 'work');
  write(join(codex, 'auth.json'), '{"OPENAI_API_KEY":null,"tokens":{"id_token":"x"}}');
  expect(readSignIn('codex', codex)).toEqual({ signedIn: true, paidBy: 'subscription' });
});
