/**
 * A cloud that takes links: `node --expose-gc link-cloud.ts <device token> <computers>`. Prints its port, then answers each line on its input with a line of JSON:
 * `state` with what it holds, `calls <n>` with what calls to the first computer cost.
 */
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { createLinkAgent } from '../../../src/cloud-api/link/link.ts';
import { signingKey } from '../../../src/kit/signing/signature.ts';
import { median } from '../bench/numbers.ts';
import { startTestCloud } from '../link.ts';

const [token = '', computers = '0'] = process.argv.slice(2);
const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);

const cloud = await startTestCloud();
for (let n = 0; n < Number(computers); n += 1) cloud.keys.set(`computer_${n}`, signingKey(token));
const agent = createLinkAgent(cloud.dialIns, 'computer_0');

const call = () =>
  new Promise<void>((resolve, reject) => {
    const asked = request({ host: 'engine', agent, path: '/ping' }, (response) => {
      response.resume().on('end', resolve).on('error', reject);
    });
    asked.on('error', reject).end();
  });

async function calls(count: number): Promise<{ ms: number; cpuUs: number }> {
  const took: number[] = [];
  const before = process.cpuUsage();
  for (let left = count; left > 0; left -= 1) {
    const began = performance.now();
    await call();
    took.push(performance.now() - began);
  }
  const { user, system } = process.cpuUsage(before);
  return { ms: median(took), cpuUs: (user + system) / count };
}

function state() {
  // Twice: the first lets go of what the second frees.
  for (let round = 0; round < 2; round += 1) (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { linked: cloud.dialIns.linked().length, heapUsed, external, rss, files: readdirSync('/proc/self/fd').length };
}

say(cloud.port);
createInterface({ input: process.stdin })
  .on('line', async (line) => say(line === 'state' ? state() : await calls(Number(line.split(' ')[1]))))
  .on('close', () => process.exit());
