/** A certificate for names of a play, signed with its own key. */
import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';

export function certify(file: string, names: readonly string[]): string {
  const alternatives = names.map((name) => `DNS:${name}`).join();
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const about = ['-subj', '/CN=gantry play', '-addext', `subjectAltName=${alternatives}`];
  execFileSync('openssl', [...words, ...about, '-keyout', `${file}.key`, '-out', file], { stdio: 'ignore' });
  // Containers read it as another user.
  chmodSync(file, 0o644);
  return file;
}
