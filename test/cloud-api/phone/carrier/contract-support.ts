/**
 * The carriers that the contract is held against: the simulator, and the simulator behind Prism, which holds what both sides say against
 * the carrier's own OpenAPI. That has no licence to be kept here: `CARRIER_OPENAPI` points to it, and the Prism of this machine is used.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createTelnyxCarrier } from '../../../../src/cloud-api/phone/carrier/telnyx/index.ts';
import { onEnd } from '../../../kit/http/support.ts';
import { waitFor } from '../../../runtime-server/factory/engine.ts';
import { freePort } from '../../../support/free-port.ts';
import { type SimulatedCarrier, startSimulator } from '../../../support/phone/simulator.ts';

export const connectionId = '1494404757140276705';

async function open(through: (url: string) => Promise<string>) {
  const simulated = await startSimulator();
  onEnd(async () => simulated[Symbol.asyncDispose]());
  const { sim } = simulated;
  const carrier = createTelnyxCarrier({
    ...{ baseUrl: await through(sim.url), apiKey: sim.apiKey, connectionId, name: 'simulator' },
    receiptsUrl: 'http://127.0.0.1:9/receipts',
  });
  return { ...simulated, carrier };
}

export type Opened = SimulatedCarrier & { readonly carrier: ReturnType<typeof createTelnyxCarrier> };

const spec = process.env.CARRIER_OPENAPI ?? '';

/** Why the contract is not held against the carrier's own papers; null: it is. */
export const withoutPapers = whyNot();

function whyNot(): string | null {
  if (spec === '') return 'CARRIER_OPENAPI does not point to the carrier’s OpenAPI';
  if (!existsSync(spec)) return `there is nothing at ${spec}, where CARRIER_OPENAPI points to`;
  const found = spawnSync('prism', ['--version'], { stdio: 'ignore' }).status === 0;
  return found ? null : 'there is no prism here (@stoplight/prism-cli)';
}

async function behindPrism(url: string): Promise<string> {
  const port = await freePort();
  const child = spawn('prism', ['proxy', '-p', String(port), '-h', '127.0.0.1', '--errors', spec, url], {
    stdio: 'ignore',
  });
  onEnd(() => {
    child.kill();
  });
  const origin = `http://127.0.0.1:${port}`;
  await waitFor(
    () =>
      fetch(origin).then(
        () => true,
        () => false,
      ),
    (up) => up,
  );
  return origin;
}

export const carriers = [
  { name: 'the simulator', open: () => open(async (url) => url) },
  ...(withoutPapers === null
    ? [{ name: 'the simulator held against the carrier’s OpenAPI', open: () => open(behindPrism) }]
    : []),
];
