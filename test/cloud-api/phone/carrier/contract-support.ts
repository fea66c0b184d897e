/** The carriers that the contract is held against: the simulator, and the simulator behind the carrier's own papers. */
import { afterAll, beforeAll } from 'vitest';
import { createTelnyxCarrier } from '../../../../src/cloud-api/phone/carrier/telnyx/index.ts';
import { onEnd } from '../../../kit/http/support.ts';
import { startSimulator } from '../../../support/phone/simulator.ts';
import { openPapers, type Papers, withoutPapers } from './prism.ts';

export const connectionId = '1494404757140276705';

async function open(baseUrlOf: (url: string, apiKey: string) => string) {
  const { sim, ...simulated } = await startSimulator();
  onEnd(async () => simulated[Symbol.asyncDispose]());
  const carrier = createTelnyxCarrier({
    baseUrl: baseUrlOf(sim.url, sim.apiKey),
    apiKey: sim.apiKey,
    connectionId,
    name: 'simulator',
    receiptsUrl: 'http://127.0.0.1:9/receipts',
  });
  return { sim, carrier };
}

export type Opened = Awaited<ReturnType<typeof open>>;

let papers: Papers | null = null;
if (withoutPapers === null) {
  beforeAll(async () => {
    papers = await openPapers();
  }, 150_000);
  afterAll(() => papers?.close());
} else console.info(`Not held against the carrier's OpenAPI: ${withoutPapers}.`);

export const carriers = [
  { name: 'the simulator', open: () => open((url) => url) },
  ...(withoutPapers === null
    ? [{ name: 'the simulator held against its papers', open: () => open((...known) => papers!.before(...known)) }]
    : []),
];
