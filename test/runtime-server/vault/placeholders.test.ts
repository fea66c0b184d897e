/** Secrets with a destination: bots in a closed sandbox get placeholders, and nobody else notices. */
import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import type { Secret, SecretDestination } from '../../../src/contracts/factory/work-engine/vault.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { localUserId } from '../../../src/kit/http/principals.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { createVault } from '../../../src/runtime-server/vault/vault.ts';
import { sharedEngine } from '../engine.ts';

const shared = sharedEngine();
const destination: SecretDestination = {
  ...{ host: 'API.example.org.', port: 443, header: 'x-api-key', form: 'raw' },
  methods: ['GET', 'POST'],
};
const set = (name: string, value: string, more: object = {}) =>
  shared.current.call<{ error?: { fact: string } }>('PUT', `/vault/${name}`, { value, ...more });
const list = async () => (await shared.current.call<{ secrets: Secret[] }>('GET', '/vault')).body.secrets;

/** The same rows under a key of the test's own. */
function vaultOf() {
  const sealer = createSealer({ masterKey: randomBytes(32).toString('base64'), purpose: 'vault' });
  const { store, ledger } = shared.current;
  const vault = createVault({ store, ledger, clock: systemClock, sealer, ownerId: localUserId });
  const seal = (name: string, value: string) =>
    store.write((tx) => {
      const place = `engine_secret|sealed|${name}|${localUserId}`;
      tx.run('UPDATE engine_secret SET sealed = ? WHERE name = ?', sealer.seal(place, value), name);
    });
  return { vault, seal };
}

beforeAll(async () => {
  await set('API_KEY', 'sk-ant-a-long-enough-value', { destination });
  await set('PLAIN', 'another-value');
});

test('a destination is kept in one form, shown without the value, and stays when only the value changes', async () => {
  const kept = { ...destination, host: 'api.example.org' };
  const shown = async () => (await list()).map(({ name, destination: where }) => [name, where]);
  expect(await shown()).toEqual([
    ['API_KEY', kept],
    ['PLAIN', undefined],
  ]);
  await set('API_KEY', 'sk-ant-a-newer-longer-value');
  expect((await shown())[0]).toEqual(['API_KEY', kept]);
  expect(JSON.stringify(await list())).not.toContain('sk-ant');
});

test.each([
  ['an address', { host: '10.0.0.1' }, 'a-long-enough-value'],
  ['no host', { host: 'a/b' }, 'a-long-enough-value'],
  ['a short value', {}, 'short'],
  ['a value that no header carries', {}, 'a long value\nwith a line'],
  ['a value longer than any header', {}, 'x'.repeat(16_385)],
  ['a header of other characters', { header: 'X Key' }, 'a-long-enough-value'],
])('%s is refused, and nothing is saved', async (_what, more, value) => {
  const { status } = await set('REFUSED', value, { destination: { ...destination, ...more } });
  expect(status).toBe(400);
  expect((await list()).map(({ name }) => name)).not.toContain('REFUSED');
});

test('a value that does not fit the destination that its secret has already is refused', async () => {
  await set('FITS', 'a-long-enough-value', { destination });
  expect((await set('FITS', 'short')).status).toBe(400);
  expect((await set('FITS', 'another-long-value')).status).toBe(200);
});

const ssh = { host: 'Code.example.org', port: 22, form: 'ssh' } as const;
const lines = (kind: string, body: string) =>
  `-----BEGIN ${kind}PRIVATE KEY-----\n${body}\n-----END ${kind}PRIVATE KEY-----\n`;
const openssh = (cipher: string) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(cipher.length);
  const head = Buffer.concat([Buffer.from('openssh-key-v1\0'), length, Buffer.from(cipher), Buffer.alloc(200)]);
  return lines('OPENSSH ', head.toString('base64').replaceAll(/.{70}/g, '$&\n'));
};

test.each([
  [
    'no private key',
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJhrVhaegdrypzjMbpQdiTrOLg2fmX4C7QdMAhdicWps',
    'not a private key',
  ],
  ['one with a passphrase', openssh('aes256-ctr'), 'has a passphrase'],
  ['an old one with a passphrase', lines('RSA ', 'Proc-Type: 4,ENCRYPTED\n\nAAAA'), 'has a passphrase'],
  ['one of another form with a passphrase', lines('ENCRYPTED ', 'AAAA'), 'has a passphrase'],
])('as an SSH key, %s is refused, and nothing is saved', async (_what, value, why) => {
  const { status, body } = await set('REFUSED', value, { destination: ssh });
  expect([status, body.error?.fact]).toEqual([400, expect.stringContaining(why)]);
  expect((await list()).map(({ name }) => name)).not.toContain('REFUSED');
});

test('no program gets an SSH key: its variable is empty, and only a closed bot may name it', async () => {
  const { vault, seal } = vaultOf();
  expect((await set('DEPLOY_KEY', openssh('none'), { destination: ssh })).status).toBe(200);
  expect((await list()).find(({ name }) => name === 'DEPLOY_KEY')?.destination).toEqual({
    ...ssh,
    host: 'code.example.org',
  });
  await seal('DEPLOY_KEY', 'the key');
  const bot = (mode: string) => ({ agentId: 'agent_1', env: { KEY: 'vault:DEPLOY_KEY' }, sandbox: { mode } });
  expect(await vault.secrets.open(bot('none').env)).toEqual({ KEY: '' });
  for (const mode of ['files', 'none']) {
    await expect(vault.secrets.check(bot(mode))).rejects.toThrow('DEPLOY_KEY is an SSH key');
    await expect(vault.secrets.given(bot(mode))).rejects.toThrow('DEPLOY_KEY is an SSH key');
  }
  await vault.secrets.check(bot('closed'));
  expect(await vault.secrets.given(bot('closed'))).toEqual({ KEY: '' });
  expect(await vault.keysOf('agent_1')).toMatchObject([
    { name: 'DEPLOY_KEY', value: 'the key', form: 'ssh', port: 22 },
  ]);
});

test('a closed bot gets a placeholder, the same at each start and unlike any other bot’s; another bot gets the value', async () => {
  const { vault, seal } = vaultOf();
  await seal('API_KEY', 'sk-ant-the-value-itself');
  await seal('PLAIN', 'another-value');
  const env = { ONE: 'vault:API_KEY', TWO: 'vault:API_KEY', OTHER: 'vault:PLAIN', REST: 'x' };
  const given = (agentId: string, mode = 'closed') => vault.secrets.given({ agentId, env, sandbox: { mode } });
  const first = await given('agent_1');
  expect(first).toEqual({
    ONE: expect.stringMatching(/^sk-ant-gantry[0-9a-f]{40}$/),
    TWO: first.ONE,
    OTHER: 'another-value',
  });
  expect(await given('agent_1')).toEqual(first);
  expect((await given('agent_2')).ONE).not.toBe(first.ONE);
  expect((await given('agent_3', 'files')).ONE).toBe('sk-ant-the-value-itself');
  expect(await vault.keysOf('agent_1')).toEqual([
    {
      ...{ name: 'API_KEY', placeholder: first.ONE, value: 'sk-ant-the-value-itself' },
      ...{ host: 'api.example.org', port: 443, header: 'x-api-key', form: 'raw', methods: ['GET', 'POST'] },
    },
  ]);
  expect(await vault.keysOf('agent_3')).toEqual([]);
  // A start without the variable takes the placeholder back.
  await vault.secrets.given({ agentId: 'agent_1', env: {}, sandbox: { mode: 'closed' } });
  expect(await vault.keysOf('agent_1')).toEqual([]);
});
