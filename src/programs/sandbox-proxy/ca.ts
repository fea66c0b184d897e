/** The certificates of one sandbox: an authority that lives in memory, and a leaf for each host that is opened. Must not know connections. */
import { createECDH, webcrypto } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '../../kit/clock/clock.ts';

export interface Authority {
  /** PEM of the certificate that programs of the sandbox trust. */
  readonly certificate: string;
  contextFor(host: string): Promise<SecureContext>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const hourMs = 60 * 60_000;
const yearMs = 365 * 24 * hourMs;
/** The longest that clients accept is 398 days. */
const leafMs = 90 * 24 * hourMs;
/** Leaves that are kept. */
const maxLeaves = 100;

/** `seed`: 32 secret bytes, in hex. */
export async function createAuthority(clock: Pick<Clock, 'now'>, seed: string): Promise<Authority> {
  // Loaded with the first key: most sandboxes have none.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto as never);
  const makeKeys = () => webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const valid = (ms: number) => ({
    notBefore: new Date(clock.now() - hourMs),
    notAfter: new Date(clock.now() + ms),
    signingAlgorithm: algorithm,
  });
  const own = await keysFrom(Buffer.from(seed, 'hex'));
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...valid(yearMs),
    name: 'CN=Gantry sandbox',
    keys: own as never,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  const leaves = new Map<string, Promise<SecureContext>>();

  async function leaf(host: string): Promise<SecureContext> {
    const keys = await makeKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      ...valid(leafMs),
      subject: `CN=${host.slice(0, 64)}`,
      issuer: authority.subject,
      publicKey: keys.publicKey as never,
      signingKey: own.privateKey as never,
      extensions: [
        new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: host }]),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      ],
    });
    const key = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
    return createSecureContext({ key, cert: certificate.toString('pem') });
  }

  return {
    certificate: `${authority.toString('pem')}\n`,
    contextFor(host) {
      const known = leaves.get(host);
      if (known !== undefined) return known;
      if (leaves.size >= maxLeaves) leaves.delete(leaves.keys().next().value!);
      const made = leaf(host);
      leaves.set(host, made);
      return made;
    },
  };
}

/** The pair whose secret number these bytes are; practically all are valid ones (FIPS 186-5, A.2). */
async function keysFrom(secret: Buffer): Promise<{ readonly privateKey: unknown; readonly publicKey: unknown }> {
  const curve = createECDH('prime256v1');
  curve.setPrivateKey(secret);
  const point = curve.getPublicKey();
  const text = (bytes: Buffer) => bytes.toString('base64url');
  const open = { kty: 'EC', crv: 'P-256', x: text(point.subarray(1, 33)), y: text(point.subarray(33)) };
  const load = (key: object, use: 'sign' | 'verify') =>
    webcrypto.subtle.importKey('jwk', key as webcrypto.JsonWebKey, algorithm, true, [use]);
  return { publicKey: await load(open, 'verify'), privateKey: await load({ ...open, d: text(secret) }, 'sign') };
}
