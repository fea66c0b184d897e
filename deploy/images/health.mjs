/**
 * The health check of both images: `node health.mjs cloud` asks the cloud whether it and its database work, `node health.mjs worker` asks the
 * worker for its figures, which it answers while its loop turns. Ends with 1 and a sentence where the answer is another one, or none within four
 * seconds. Must not import anything but Node: it runs every ten seconds.
 */
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';

const parts = {
  // The cloud answers only at its public name, as a proxy in front passes it on.
  cloud: ({ GANTRY_BASE_URL = '', GANTRY_LISTEN = '' }) => ({
    port: Number(GANTRY_LISTEN.split(':').at(-1)) || 3010,
    path: '/api/v1/health',
    headers: { host: new URL(GANTRY_BASE_URL).host },
  }),
  worker: ({ GANTRY_HOME = '' }) => ({
    port: 9464,
    path: '/metrics',
    headers: { authorization: `Bearer ${readFileSync(join(GANTRY_HOME, 'worker-metrics-token'), 'utf8').trim()}` },
  }),
};

function unhealthy(why) {
  console.error(why);
  process.exit(1);
}

const part = process.argv[2] ?? '';
try {
  if (!Object.hasOwn(parts, part))
    unhealthy(`Give one of ${Object.keys(parts).join(', ')}, not ${JSON.stringify(part)}.`);
  const asked = parts[part](process.env);
  const request = get({ host: '127.0.0.1', timeout: 4_000, ...asked }, (answer) => {
    if (answer.statusCode !== 200) unhealthy(`${asked.path} answered ${answer.statusCode}.`);
    process.exit(0);
  });
  request.on('timeout', () => unhealthy(`${asked.path} did not answer within 4 s.`));
  request.on('error', (error) => unhealthy(`${asked.path} cannot be asked: ${error.message}.`));
} catch (error) {
  unhealthy(`The ${part} cannot be asked: ${error.message}.`);
}
