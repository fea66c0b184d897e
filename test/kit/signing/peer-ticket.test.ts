/** A peer ticket opens one computer for one person for five minutes. Nothing that only looks like a ticket does. */
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { TicketKey } from '../../../src/contracts/link/pairings.ts';
import { verifyPeerTicket } from '../../../src/kit/signing/peer-ticket.ts';

const nowS = Date.UTC(2026, 0, 2) / 1000;
const clock = { now: () => nowS * 1000, monotonic: () => 0 };
const issuer = 'https://cloud.example';
const { publicKey, privateKey } = await generateKeyPair('EdDSA', { extractable: true, crv: 'Ed25519' });
const keys = [TicketKey.parse({ ...(await exportJWK(publicKey)), kid: 'key_1', alg: 'EdDSA' })];
const check = { keys, computerId: 'computer_A', issuer, clock };
const claims = { iss: issuer, aud: 'computer:computer_A', sub: 'user_ada', jti: 'jti_1', iat: nowS, exp: nowS + 300 };

function ticket(change: JWTPayload = {}, header: Partial<JWTHeaderParameters> = {}, key = privateKey): Promise<string> {
  const all = Object.fromEntries(Object.entries({ ...claims, ...change }).filter(([, value]) => value !== undefined));
  return new SignJWT(all)
    .setProtectedHeader({ alg: 'EdDSA', typ: 'peer-ticket+jwt', kid: 'key_1', ...header })
    .sign(key);
}

test('a ticket names its person and when it ends', async () => {
  expect(await verifyPeerTicket(await ticket(), check)).toEqual({
    userId: 'user_ada',
    ticketId: 'jti_1',
    expiresAt: (nowS + 300) * 1000,
  });
});

test('clocks may differ by half a minute', async () => {
  await verifyPeerTicket(await ticket({ iat: nowS - 320, exp: nowS - 20 }), check);
  await verifyPeerTicket(await ticket({ iat: nowS + 20, exp: nowS + 320 }), check);
});

const refused: readonly (readonly [string, () => Promise<string>])[] = [
  ['of another computer', () => ticket({ aud: 'computer:computer_B' })],
  ['of another cloud', () => ticket({ iss: 'https://evil.example' })],
  ['that is a device token', () => ticket({}, { typ: 'device-access+jwt' })],
  ['that is a plain token', () => ticket({}, { typ: 'JWT' })],
  ['without an end', () => ticket({ exp: undefined })],
  ['without a beginning', () => ticket({ iat: undefined })],
  ['without a person', () => ticket({ sub: undefined })],
  ['of an empty person', () => ticket({ sub: '' })],
  ['without an id', () => ticket({ jti: undefined })],
  ['that is over', () => ticket({ iat: nowS - 340, exp: nowS - 40 })],
  ['of the future', () => ticket({ iat: nowS + 60, exp: nowS + 300 })],
  ['that says it lasts ten years', () => ticket({ iat: nowS - 400, exp: nowS + 10 * 365 * 86_400 })],
  ['of another key', async () => ticket({}, {}, (await generateKeyPair('EdDSA', { crv: 'Ed25519' })).privateKey)],
  ['of a key that is not known', () => ticket({}, { kid: 'key_2' })],
  [
    'that nobody signed',
    async () => {
      const [, body] = (await ticket()).split('.');
      const header = Buffer.from(JSON.stringify({ alg: 'none', typ: 'peer-ticket+jwt' })).toString('base64url');
      return `${header}.${body}.`;
    },
  ],
  [
    'signed with the public key as a password',
    () =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', typ: 'peer-ticket+jwt', kid: 'key_1' })
        .sign(Buffer.from(keys[0]?.x ?? '', 'base64url')),
  ],
  ['that is none', async () => 'junk'],
];

test.each(refused)('a ticket %s is refused', async (_what, make) => {
  await expect(verifyPeerTicket(await make(), check)).rejects.toMatchObject({ code: 'refused', status: 401 });
});
