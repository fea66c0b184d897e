/** A cloud behind the nginx of the operating guide: sign-in, pairing, the link, event streams and large bodies through a real proxy. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startPeople } from '../cloud-api/identity/support.ts';
import { computersOf, pairUp, signIn, startInstallation } from '../host/paired-support.ts';
import { caller, onEnd } from '../kit/http/support.ts';
import { freePort } from '../support/free-port.ts';
import { loopbackCertificate } from '../support/loopback-certificate.ts';
import { scratchFolder } from '../support/scratch.ts';

const nginx = ['/usr/sbin/nginx', 'nginx'].find((program) => spawnSync(program, ['-v']).status === 0);
const example = new URL('../../docs/examples/nginx.conf', import.meta.url).pathname;

interface Proxy {
  readonly port: number;
  readonly tlsPort: number;
  readonly folder: string;
}

/** The file of the guide with ports, names and certificate of this test; plain HTTP beside TLS, as people do on one machine. */
async function startNginx(behind: number): Promise<Proxy> {
  const folder = scratchFolder();
  const [port, tlsPort] = [await freePort(), await freePort()];
  writeFileSync(join(folder, 'cert.pem'), loopbackCertificate.cert);
  writeFileSync(join(folder, 'key.pem'), loopbackCertificate.key);
  let text = readFileSync(example, 'utf8');
  const put = (from: string, to: string) => {
    expect(text, from).toContain(from);
    text = text.replaceAll(from, to);
  };
  put('listen 443 ssl http2;', `listen 127.0.0.1:${tlsPort} ssl http2; listen 127.0.0.1:${port};`);
  put('listen 80;', `listen 127.0.0.1:${await freePort()};`);
  put('server 127.0.0.1:3010;', `server 127.0.0.1:${behind};`);
  put('gantry.example', '127.0.0.1');
  put('/etc/ssl/gantry/fullchain.pem', join(folder, 'cert.pem'));
  put('/etc/ssl/gantry/privkey.pem', join(folder, 'key.pem'));
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join(' ');
  writeFileSync(join(folder, 'gantry.conf'), text);
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${join(folder, 'pid')}; error_log ${join(folder, 'error.log')} warn;
events {} http { access_log off; ${places} include ${join(folder, 'gantry.conf')}; }`,
  );
  const words = ['-p', folder, '-c', join(folder, 'nginx.conf')];
  const checked = spawnSync(nginx as string, [...words, '-t'], { encoding: 'utf8' });
  expect(checked.stderr).toContain('test is successful');
  const child = spawn(nginx as string, words, { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  onEnd(async () => {
    child.kill('SIGQUIT');
    child.kill('SIGTERM');
    await ended;
  });
  while (!(await isOpen(port))) await sleep(20);
  return { port, tlsPort, folder };
}

const isOpen = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

test.skipIf(nginx === undefined)(
  'everything works through nginx as the guide sets it up (needs nginx)',
  async () => {
    const behind = await freePort();
    const proxy = await startNginx(behind);
    const origin = `http://127.0.0.1:${proxy.port}`;
    const people = await startPeople({ port: behind, baseUrl: origin, settings: { trustedProxies: ['127.0.0.1'] } });
    // Everybody comes through the proxy.
    const outside = { ...people, call: caller(proxy.port, null) };
    const ada = await signIn(outside);
    const installation = await startInstallation();
    await pairUp(installation, outside, ada);
    expect(await computersOf(ada)).toMatchObject([{ state: 'linked' }]);

    // An event stream: each event as it comes, not once a buffer is full.
    const leave = new AbortController();
    const stream = await fetch(`${origin}/api/factory/events`, {
      headers: { cookie: ada.cookie },
      signal: leave.signal,
    });
    expect(stream.status).toBe(200);
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    let heard = '';
    const listening = (async () => {
      for (;;) {
        const { value, done } = await reader.read().catch(() => ({ value: undefined, done: true }));
        if (done) return;
        heard += value;
      }
    })();
    const team = join(installation.home, 'ws', '.gantry', 'teams', 'crew');
    mkdirSync(team, { recursive: true });
    writeFileSync(join(team, 'team.yaml'), 'version: 1\nbots: []\n');
    expect((await installation.engine('GET', '/api/factory/teams')).status).toBe(200);
    await expect.poll(() => heard).toContain('team.changed');

    // What the cloud asks of the computer comes back over its link, which nginx carries.
    const teams = await ada.call('GET', '/api/factory/teams');
    expect(JSON.stringify(teams.json)).toContain('crew');

    // A body above nginx's usual megabyte gets Gantry's own answer, in Gantry's own form.
    const large = await ada.call('POST', '/api/factory/threads', { body: { title: 'x'.repeat(3 * 1024 * 1024) } });
    expect(large.status).toBe(400);
    expect(large.json).toMatchObject({ error: { code: 'usage' } });

    // Whose failed credentials they are is the client's address, as nginx says it.
    const junk = async (client: string) =>
      (await outside.call('GET', '/api/v1/session', { token: 'junk', headers: { 'x-forwarded-for': client } })).status;
    for (let attempt = 0; attempt < 20; attempt += 1) await junk(`198.51.100.${attempt}`);
    // All of them were this address: what a client claims of itself counts for nothing.
    expect(await junk('203.0.113.9')).toBe(429);

    // The doors between replicas are shut.
    expect((await fetch(`${origin}/internal/anything`)).status).toBe(404);

    expect((await installation.pairing()).link?.linked).toBe(true);
    leave.abort();
    await listening;
  },
  90_000,
);

test.skipIf(nginx === undefined)(
  'over TLS the cloud answers for its own name and for no other (needs nginx)',
  async () => {
    const behind = await freePort();
    const proxy = await startNginx(behind);
    const people = await startPeople({ port: behind, baseUrl: `https://127.0.0.1:${proxy.tlsPort}` });
    expect(people.port).toBe(behind);
    const ask = (host: string) =>
      new Promise<number>((resolve, reject) => {
        const options = {
          port: proxy.tlsPort,
          host: '127.0.0.1',
          ca: loopbackCertificate.cert,
          headers: { host },
          checkServerIdentity: () => undefined,
        };
        request({ ...options, path: '/.well-known/oauth-protected-resource' }, (answer) => {
          answer.resume();
          resolve(answer.statusCode as number);
        })
          .on('error', reject)
          .end();
      });
    expect(await ask(`127.0.0.1:${proxy.tlsPort}`)).toBe(200);
    expect(await ask('evil.example')).toBe(421);
  },
);
