/** The certificates of a cluster, made once for each start: who its parts are, and whom they believe. Knows nothing of the parts themselves. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Certified {
  readonly certificate: string;
  readonly key: string;
}

export interface Authority extends Certified {
  /** `groups`: organizations of the subject, which Kubernetes takes for groups. `names`: as in subjectAltName. */
  certify(name: string, about: { subject: string; groups?: readonly string[]; names?: readonly string[] }): Certified;
}

export function createAuthority(folder: string, subject: string): Authority {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const at = (name: string): Certified => ({
    certificate: join(folder, `${name}.crt`),
    key: join(folder, `${name}.key`),
  });
  const own = at('ca');
  makeKey(own.key);
  openssl('req', '-x509', '-new', '-key', own.key, '-days', '30', '-subj', `/CN=${subject}`, '-out', own.certificate);
  return {
    ...own,
    certify(name, about) {
      const made = at(name);
      const request = join(folder, `${name}.csr`);
      const extensions = join(folder, `${name}.ext`);
      const organizations = (about.groups ?? []).map((group) => `/O=${group}`).join('');
      const lines = ['extendedKeyUsage = clientAuth, serverAuth'];
      if (about.names !== undefined) lines.push(`subjectAltName = ${about.names.join(', ')}`);
      writeFileSync(extensions, `${lines.join('\n')}\n`);
      makeKey(made.key);
      openssl('req', '-new', '-key', made.key, '-subj', `${organizations}/CN=${about.subject}`, '-out', request);
      const signer = [
        '-CA',
        own.certificate,
        '-CAkey',
        own.key,
        '-CAcreateserial',
        '-days',
        '30',
        '-extfile',
        extensions,
      ];
      openssl('x509', '-req', '-in', request, ...signer, '-out', made.certificate);
      return made;
    },
  };
}

/** For signatures of ServiceAccount tokens. */
export function makeKeyPair(folder: string, name: string): { readonly secret: string; readonly published: string } {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pair = { secret: join(folder, `${name}.key`), published: join(folder, `${name}.pub`) };
  makeKey(pair.secret);
  openssl('pkey', '-in', pair.secret, '-pubout', '-out', pair.published);
  return pair;
}

function makeKey(file: string): void {
  // The parameters are named: Go refuses a key that spells its curve out. In the form that begins with EC: 1.20 reads no other for tokens.
  openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', file);
}

function openssl(...words: readonly string[]): void {
  execFileSync('openssl', words, { stdio: ['ignore', 'ignore', 'pipe'] });
}
