/** Asks the API server of a cluster with a client certificate, and writes kubeconfig files for programs that do. */
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import type { Authority, Certified } from './certificates.ts';

export type Api = <Answer = unknown>(method: string, path: string, body?: unknown) => Promise<Answer>;

/** An answer that is none of 2xx. */
export class ApiRefusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function createApi(server: URL, authority: Authority, who: Certified): Api {
  const agent = new Agent({
    keepAlive: true,
    ca: readFileSync(authority.certificate),
    cert: readFileSync(who.certificate),
    key: readFileSync(who.key),
  });
  return <Answer>(method: string, path: string, body?: unknown) =>
    new Promise<Answer>((resolve, reject) => {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const headers = { accept: 'application/json', 'content-type': type };
      const asked = request(new URL(path, server), { agent, method, headers, timeout: 20_000 }, (got) => {
        const parts: Buffer[] = [];
        got.on('data', (part: Buffer) => parts.push(part));
        got.on('error', reject);
        got.on('end', () => {
          const text = Buffer.concat(parts).toString();
          const status = got.statusCode ?? 0;
          if (status < 200 || status > 299)
            return reject(new ApiRefusal(status, `${method} ${path}: ${status} ${text.slice(0, 500)}`));
          resolve((text.startsWith('{') ? JSON.parse(text) : text) as Answer);
        });
      });
      asked.on('timeout', () => asked.destroy(new Error(`${method} ${path}: no answer within 20 s`)));
      asked.on('error', reject);
      asked.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

/** JSON, which is YAML too. Holds the key: 0600. */
export function writeKubeconfig(file: string, server: string, authority: Authority, who: Certified): string {
  const data = (path: string) => readFileSync(path).toString('base64');
  const name = 'gantry-test';
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': data(authority.certificate) } }],
    users: [{ name, user: { 'client-certificate-data': data(who.certificate), 'client-key-data': data(who.key) } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}
