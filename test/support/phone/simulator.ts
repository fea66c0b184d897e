/** The simulated carrier in this process, with test helpers: a receiver for its events, and its wire by hand. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Carrier } from '../../../src/cloud-api/phone/carrier/port.ts';
import { createTelnyxCarrier } from '../../../src/cloud-api/phone/carrier/telnyx/index.ts';
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../tools/carrier-simulator/simulator.ts';

export interface SimulatedCarrier extends AsyncDisposable {
  readonly sim: Simulator;
  /** The adapter that the product has, with the simulator at its other end. */
  readonly carrier: Carrier;
  /** One request on the carrier's wire. */
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: Wire }>;
}

// biome-ignore lint/suspicious/noExplicitAny: another party's wire, read by tests that say what they expect of it.
export type Wire = any;

/** Instant, unless asked otherwise. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<SimulatedCarrier> {
  const sim = await createSimulator({ speed: 'instant', ...options });
  return {
    sim,
    carrier: createTelnyxCarrier({ name: 'simulator', baseUrl: sim.url, apiKey: sim.apiKey, connectionId: '1' }),
    async ask(method, path, body) {
      const response = await fetch(`${path.startsWith('/sim') ? sim.origin : sim.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${sim.apiKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
    },
    [Symbol.asyncDispose]: () => sim.close(),
  };
}

export interface Heard {
  readonly path: string;
  readonly raw: string;
  readonly signature: string;
  readonly timestamp: string;
  /** The envelope, or what came without one. */
  readonly body: Wire;
}

/** The receiver of the carrier's posts. Answers 200, or what `answers` says next. */
export interface Ear extends AsyncDisposable {
  readonly url: string;
  readonly heard: readonly Heard[];
  /** Of these events, as they came. */
  of(type: string): readonly Wire[];
  answers: number[];
}

export async function startEar(): Promise<Ear> {
  const heard: Heard[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks).toString('utf8');
    heard.push({
      path: request.url ?? '',
      raw,
      signature: String(request.headers['telnyx-signature-ed25519']),
      timestamp: String(request.headers['telnyx-timestamp']),
      body: JSON.parse(raw),
    });
    response.writeHead(ear.answers.shift() ?? 200).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const ear: Ear = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    of: (type) =>
      heard.filter(({ body }) => body.data?.event_type === type).map(({ body }) => body.data.payload as Wire),
    answers: [],
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return ear;
}

/** A number of the simulated account with its own profile, whose events go to `webhookUrl`. */
export async function boughtNumber(
  { sim, ask }: SimulatedCarrier,
  webhookUrl: string,
  e164 = '+19705550150',
): Promise<{ id: string; e164: string; profileId: string }> {
  const profile = await ask('POST', '/messaging_profiles', {
    name: `for ${e164}`,
    whitelisted_destinations: ['US', 'CA'],
    webhook_url: webhookUrl,
  });
  const profileId = profile.body.data.id as string;
  await ask('POST', '/number_orders', {
    phone_numbers: [{ phone_number: e164 }],
    messaging_profile_id: profileId,
    connection_id: '1',
    customer_reference: `ref-${e164}`,
  });
  await sim.settled();
  const found = await ask('GET', `/phone_numbers?filter[phone_number]=${encodeURIComponent(e164)}`);
  return { id: found.body.data[0].id, e164, profileId };
}
