/**
 * What stands around Gantry in the scenes of `reach.ts`, each part a process of its own in the namespace where it is needed:
 * `forward`, `provider`, `push`, `model`. Prints one line of JSON when it is ready, and what happens afterwards.
 */
import { connect, createServer } from 'node:net';
import { text, tools } from '../support/model-server/script.ts';
import { startModelServer } from '../support/model-server/server.ts';
import { startOidcProvider } from '../support/oidc-provider.ts';
import { startPushService } from '../support/push-service.ts';
import { command, ports, urls } from './reach-places.ts';

const [part, address = ''] = process.argv.slice(2);
const say = (value: object) => console.log(JSON.stringify(value));

/** Everybody calls the cloud and what belongs to it `localhost`, wherever they are: a page needs that for a service worker. */
async function forward(to: string): Promise<void> {
  for (const port of Object.values(ports)) {
    const server = createServer((near) => {
      const far = connect(port, to);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        one.setNoDelay(true);
        one.on('error', () => other.destroy()).on('close', () => other.destroy());
        one.pipe(other);
      }
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  }
  say({ ready: true });
}

if (part === 'forward') await forward(address);
else if (part === 'provider') {
  await startOidcProvider({ host: address, port: ports.provider, issuer: urls.provider, origins: [urls.cloud] });
  say({ ready: true });
} else if (part === 'push') {
  const service = await startPushService({ host: address, port: ports.push, origin: urls.push });
  say({ ready: true });
  let told = 0;
  setInterval(() => {
    for (const { status, headers, body } of service.pushes.slice(told)) {
      const { ttl, urgency } = headers;
      say({ status, bytes: body.length, ttl, urgency });
    }
    told = service.pushes.length;
  }, 50);
} else if (part === 'model') {
  const model = await startModelServer(({ toolResults, lastUser }) => {
    // A prompt that comes later stands behind the result of the tool before it.
    if (toolResults.length > 0 && !/From owner/.test(lastUser)) return text('The tool ran.');
    const words = lastUser.slice(Math.max(0, lastUser.lastIndexOf('From owner')));
    if (words.includes('RUNSHELL')) return tools({ name: 'Bash', input: { command, description: 'Make a file' } });
    return text('A plain answer.', { pieces: 10, pauseMs: 30 });
  });
  say({ ready: true, url: model.url });
} else throw new Error(`There is no part ${part}.`);
