/**
 * What one call of a tool costs the cloud that passes it on to a paired computer: only the cloud's CPU, not the computer's. Scaled to the machine on
 * which the bound was set, by a server that takes a post and lets a program behind a kept connection answer (`floor.ts`).
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { modernVersion } from '../../../src/contracts/tool-server/mcp.ts';
import { load } from '../../support/bench/converse.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { besideFloor, machineBy } from '../../support/bench/floor.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { gantryCommand, type Product, scratchHome, startBuilt } from '../../support/bench/product.ts';
import { freePort } from '../../support/free-port.ts';
import { callOfTime } from '../../support/mcp/call-of-time.ts';
import { startOidcProvider } from '../../support/oidc-provider.ts';
import { personAt } from '../../support/signed-in.ts';
import { startVictim, type Victim } from '../../support/victim.ts';

export const figures: readonly Figure[] = [{ name: 'tool-server.call-cloud', run }];

const connections = 10;
/** The compiler is still at work on the way after 10,000 calls, and a cloud runs for weeks: until it has seen all of it. Calls. */
const warmUp = 30_000;

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const calls = quick ? 4_000 : 10_000;
  const rounds = quick ? 3 : 7;
  const clouds = scratchHome();
  const computers = scratchHome();
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const provider = await startOidcProvider({ origins: [origin] });
  let cloud: Victim | null = null;
  let computer: Product | null = null;
  try {
    // Builds what is measured, where the build is older than the sources.
    computer = await startBuilt(computers);
    const secret = join(clouds.workspace, 'client-secret');
    writeFileSync(secret, provider.clientSecret);
    cloud = startVictim({
      command: [...gantryCommand, 'cloud', '--json', '--base-url', origin, '--listen', `127.0.0.1:${port}`],
      env: {
        ...clouds.env,
        GANTRY_OIDC_ISSUER: provider.issuer,
        GANTRY_OIDC_CLIENT_ID: provider.clientId,
        GANTRY_OIDC_CLIENT_SECRET_FILE: secret,
      },
    });
    const { pid } = JSON.parse(await cloud.until((line) => line.startsWith('{'))) as { pid: number };
    const person = await personAt(origin);
    await pair(computer, person, origin);
    const made = await person<{ secret: string }>('POST', '/api/v1/keys', { name: 'bench', scopes: ['bots:act'] });
    const text = callOfTime(port, made.secret);

    await load({ port, pid, text }, warmUp, connections);
    const perS: number[] = [];
    const { found: samples, floors } = await besideFloor('pass', rounds, async (round) => {
      const { sent, cpuMs, tookMs } = await load({ port, pid, text }, calls, connections);
      const micros = (cpuMs / sent) * 1000;
      perS.push((sent / tookMs) * 1000);
      log(`round ${round + 1}: ${micros.toFixed(0)} µs of the cloud's CPU, ${perS.at(-1)!.toFixed(0)} calls/s`);
      return micros;
    });
    const machine = machineBy('pass', floors);
    return {
      value: median(samples) / machine.factor,
      unit: 'µs of cloud CPU per tools/call, on the machine of the bound',
      n: rounds * calls,
      at: `gantry cloud and a paired gantry start, two programs on one machine; time.now over /mcp/server, ${modernVersion}, API key, ${connections} kept connections, the link's WebSocket between; CPU of the cloud's process, user and system`,
      detail: {
        rawUs: rounded(median(samples), 1),
        ...machine.detail,
        worst: rounded(Math.max(...samples), 1),
        best: rounded(Math.min(...samples), 1),
        callsPerS: Math.round(median(perS)),
      },
    };
  } finally {
    await computer?.stop();
    await cloud?.kill();
    await provider.close();
    await clouds.remove();
    await computers.remove();
  }
}

interface Pairing {
  readonly userCode?: string;
  readonly link?: { readonly linked: boolean };
}

async function pair(computer: Product, person: Awaited<ReturnType<typeof personAt>>, origin: string): Promise<void> {
  const { userCode } = await computer.web.call<Pairing>('POST', '/api/v1/pairing', { cloudUrl: origin });
  await person('POST', `/api/v1/pairings/${userCode}/approve`);
  for (let tries = 0; tries < 1200; tries += 1) {
    const { link } = await computer.engine.call<Pairing>('GET', '/api/v1/pairing');
    if (link?.linked === true) return;
    await delay(50);
  }
  throw new Error('The computer was not linked within a minute.');
}
