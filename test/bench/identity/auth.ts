/** The cost of authentication: a GET with a session cookie at a multi-user cloud, compared with a bare Express. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Load, load } from '../../support/bench/converse.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { gantryCommand, scratchHome } from '../../support/bench/product.ts';
import { freePort } from '../../support/free-port.ts';
import { signInAs, startOidcProvider } from '../../support/oidc-provider.ts';
import { startVictim, type Victim } from '../../support/victim.ts';

export const figures: readonly Figure[] = [{ name: 'identity.auth', run }];

const path = '/api/v1/session';
const connections = 16;
/** Of other people, so that the one who asks has to be found; more would meet the limit of public pages. */
const otherSessions = 20;
const bareExpress = fileURLToPath(new URL('../../support/victims/bare-express.ts', import.meta.url));

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const requests = quick ? 4_000 : 20_000;
  const rounds = quick ? 3 : 9;
  const place = scratchHome();
  const programs: Victim[] = [];
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const provider = await startOidcProvider({ origins: [origin] });
  const secretFile = join(place.workspace, 'client-secret');
  writeFileSync(secretFile, provider.clientSecret);
  try {
    const cloud = startVictim({
      command: [...gantryCommand, 'cloud', '--json', '--base-url', origin, '--listen', `127.0.0.1:${port}`],
      env: {
        ...place.env,
        GANTRY_OIDC_ISSUER: provider.issuer,
        GANTRY_OIDC_CLIENT_ID: provider.clientId,
        GANTRY_OIDC_CLIENT_SECRET_FILE: secretFile,
      },
    });
    programs.push(cloud);
    const { pid } = JSON.parse(await cloud.until((line) => line.startsWith('{'))) as { pid: number };
    for (let count = 0; count < otherSessions; count += 1) await signInAs(`person-${count}`, origin);
    const cookie = await signInAs('ada', origin);
    const body = await (await fetch(origin + path, { headers: { cookie } })).text();
    if (!body.includes('"via":"cookie"')) throw new Error(`The session answers ${body}`);

    const bare = startVictim({ command: [process.execPath, bareExpress, body] });
    programs.push(bare);
    const told = JSON.parse(await bare.until((line) => line.startsWith('{'))) as { port: number };
    const ours = { port, pid, text: `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nCookie: ${cookie}\r\n\r\n` };
    const theirs = {
      port: told.port,
      pid: bare.pid,
      text: `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${told.port}\r\nCookie: ${cookie}\r\n\r\n`,
    };
    for (const one of [ours, theirs]) await load(one, requests, connections);
    const samples: { own: ReturnType<typeof speedOf>; peer: ReturnType<typeof speedOf> }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      // In turns, and each first as often: what else this computer does meets both.
      const [first, second] = round % 2 === 0 ? [ours, theirs] : [theirs, ours];
      const one = speedOf(await load(first, requests, connections));
      const two = speedOf(await load(second, requests, connections));
      samples.push(round % 2 === 0 ? { own: one, peer: two } : { own: two, peer: one });
      log(`round ${round + 1}: ${samples.at(-1)!.own.perCpuS} and ${samples.at(-1)!.peer.perCpuS} requests per CPU s`);
    }
    const ratios = samples.map(({ own, peer }) => own.perCpuS / peer.perCpuS);
    return {
      value: median(ratios),
      unit: '× bare Express, requests per CPU second',
      n: rounds * requests,
      at: `gantry cloud, GET ${path} with the cookie of one of ${otherSessions + 1} sessions, ${connections} kept connections, ${rounds} rounds in turns; Express answers the same body from a constant`,
      own: median(samples.map(({ own }) => own.perCpuS)),
      peer: { name: `Express ${expressVersion()}`, value: median(samples.map(({ peer }) => peer.perCpuS)) },
      detail: {
        throughput: rounded(median(samples.map(({ own, peer }) => own.perS / peer.perS))),
        worst: rounded(Math.min(...ratios)),
        best: rounded(Math.max(...ratios)),
      },
    };
  } finally {
    for (const program of programs) await program.kill();
    await provider.close();
    await place.remove();
  }
}

/** Requests per second of CPU and of the clock. */
function speedOf({ sent, cpuMs, tookMs }: Load): { perCpuS: number; perS: number } {
  return { perCpuS: Math.round((sent / cpuMs) * 1000), perS: Math.round((sent / tookMs) * 1000) };
}

function expressVersion(): string {
  const file = new URL('../../../node_modules/express/package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
