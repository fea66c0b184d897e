/** A text's path as people have it: a cloud started by its command, a number bought through it, and a carrier whose posts the test controls. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { PhoneNumber } from '../../../src/contracts/phone/number.ts';
import { createSimulator } from '../../../tools/carrier-simulator/simulator.ts';
import { pair, pidOf, startCloud } from '../../support/bench/paired.ts';
import { agentsOf, gantryCommand, scratchHome, shellTeam, startBuilt } from '../../support/bench/product.ts';
import { freePort } from '../../support/free-port.ts';
import { startOidcProvider } from '../../support/oidc-provider.ts';
import { personAt } from '../../support/signed-in.ts';

export interface Way {
  readonly cloudPid: number;
  readonly port: number;
  /** So many new texts to the number, each as its whole request, signed at the time at which it was made. */
  texts(count: number): string[];
  /** All that was made, and so was taken, has been read. */
  drained(): Promise<void>;
  close(): Promise<void>;
}

/** Who texts. */
const people = 100;
const patienceMs = 120_000;

export async function openWay(): Promise<Way> {
  const clouds = scratchHome();
  const computers = scratchHome({ ops: shellTeam('ops', ['bot-0']) });
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const provider = await startOidcProvider({ origins: [origin] });
  const sim = await createSimulator({ speed: 'instant' });
  // Builds what is measured, where the build is older than the sources.
  const runtime = await startBuilt(computers);
  const carrier = {
    GANTRY_TELNYX_API_KEY: sim.apiKey,
    GANTRY_TELNYX_PUBLIC_KEY: sim.publicKey,
    GANTRY_TELNYX_CONNECTION_ID: '1',
    GANTRY_TELNYX_URL: sim.url,
  };
  const place = { ...clouds, env: { ...clouds.env, ...carrier } };
  const cloud = await startCloud(place, provider, origin);
  const person = await personAt(origin);
  await pair(runtime, person, origin);
  const { user } = await person<{ user: string }>('GET', '/api/v1/session');
  const [node, script = ''] = gantryCommand;
  execFileSync(node, [script, 'admin', 'users', 'plan', user, 'plus'], {
    env: { ...process.env, ...place.env },
    stdio: 'ignore',
  });
  const { numbers } = await person<{ numbers: { e164: string }[] }>('GET', '/api/v1/phone/numbers/search?areaCode=970');
  const { computers: found } = await person<{ computers: { id: string }[] }>('GET', '/api/v1/computers');
  const [bot] = await agentsOf(runtime.engine, 'ops');
  const { number } = await person<{ number: PhoneNumber }>('POST', '/api/v1/phone/numbers', {
    e164: numbers[0]!.e164,
    runtimeId: found[0]!.id,
    botId: bot!.id,
  });
  await sim.settled();
  const relay = new URL(Object.values(sim.state.profiles)[0]!.webhookUrl!).pathname;
  await runtime.stop();
  const database = new Database(join(clouds.home, 'cloud.db'), { readonly: true });
  const waiting = database.prepare<[], { n: number }>(
    "SELECT count(*) AS n FROM lane_item WHERE lanes = 'phone webhooks'",
  );
  const kept = database.prepare<[], { n: number }>("SELECT count(*) AS n FROM phone_text WHERE direction = 'in'");
  let made = 0;
  const text = (): string => {
    made += 1;
    const payload = {
      record_type: 'message',
      id: `sms-${made}`,
      direction: 'inbound',
      type: 'SMS',
      text: `Is it ready? (${made})`,
      from: { phone_number: `+1202555${String(1000 + (made % people))}`, carrier: 'Bench', line_type: 'Wireless' },
      to: [{ phone_number: number.e164, status: 'webhook_delivered' }],
      media: [],
      parts: 1,
      encoding: 'GSM-7',
      received_at: new Date().toISOString(),
    };
    const event = { record_type: 'event', event_type: 'message.received', id: `event-${made}` };
    const data = { ...event, occurred_at: new Date().toISOString(), payload };
    const body = JSON.stringify({ data, meta: { attempt: 1, delivered_to: `${origin}${relay}` } });
    const timestamp = Math.floor(Date.now() / 1000);
    const lines = [
      `POST ${relay} HTTP/1.1`,
      `host: 127.0.0.1:${port}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      `telnyx-timestamp: ${timestamp}`,
      `telnyx-signature-ed25519: ${sim.sign(timestamp, body)}`,
    ];
    return `${lines.join('\r\n')}\r\n\r\n${body}`;
  };
  return {
    cloudPid: pidOf(cloud),
    port,
    texts: (count) => Array.from({ length: count }, text),
    async drained() {
      const end = performance.now() + patienceMs;
      for (let left = waiting.get()!.n; left > 0; left = waiting.get()!.n) {
        if (performance.now() > end) throw new Error(`${left} events are still to be read.`);
        await delay(50);
      }
      if (kept.get()!.n !== made) throw new Error(`Of ${made} texts ${kept.get()!.n} are kept.`);
    },
    async close() {
      database.close();
      cloud.child.kill('SIGTERM');
      await cloud.ended;
      await sim.close();
      await provider.close();
      await clouds.remove();
      await computers.remove();
    },
  };
}
