/** A cloud of many people and a paired computer, each a program of its own as its command starts it, and who drives them. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { linked, pair, pidOf, startCloud } from '../../../support/bench/paired.ts';
import { type Product, scratchHome, shellTeam, startProduct, teamUp } from '../../../support/bench/product.ts';
import { freePort } from '../../../support/free-port.ts';
import { startOidcProvider } from '../../../support/oidc-provider.ts';
import { personAt } from '../../../support/signed-in.ts';
import type { Victim } from '../../../support/victim.ts';

/** More would be refused by the computer: tickets that nobody closes. */
const maxTickets = 900;

export interface World {
  readonly cloudHome: string;
  readonly runtimeHome: string;
  /** Events of the trigger that the cloud has taken, in order. */
  readonly posted: readonly number[];
  /** Questions that the computer has taken. */
  readonly asked: ReadonlySet<string>;
  /** Starts whichever is down and waits for the link. */
  up(): Promise<void>;
  kill(which: 'cloud' | 'runtime'): Promise<void>;
  /** Ends the driving; nothing new is made from then on. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

export async function createWorld(): Promise<World> {
  const clouds = scratchHome();
  const computers = scratchHome({ ops: shellTeam('ops', ['one']) });
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const provider = await startOidcProvider({ origins: [origin] });
  let cloud: Victim | null = await startCloud(clouds, provider, origin);
  let runtime: Product | null = await startProduct(computers);
  const person = await personAt(origin);
  await pair(runtime, person, origin);
  const [bot] = await teamUp(runtime, 'ops');
  const { key } = await runtime.engine.call<{ key: string }>('POST', '/api/factory/triggers', {
    botId: bot!.id,
    title: 'posted',
  });

  const posted: number[] = [];
  const asked = new Set<string>();
  let driving = true;
  const forEver = async (pauseMs: number, work: () => Promise<void>) => {
    while (driving) {
      // Whoever is down is asked again, with the same words.
      await work().catch(() => delay(50));
      await delay(pauseMs);
    }
  };
  let nextQuestion = 0;
  const drivers = [
    forEver(20, async () => {
      if (posted.length >= maxTickets) return;
      const n = posted.length;
      const headers = { 'content-type': 'application/json', 'webhook-id': `event-${n}` };
      const body = JSON.stringify({ n });
      const { status } = await fetch(`${origin}/webhooks/triggers/${key}`, { method: 'POST', headers, body });
      if (status !== 202) throw new Error(`posting was answered ${status}`);
      posted.push(n);
    }),
    forEver(40, async () => {
      const body = { tool: 'shell.exec', command: `step ${nextQuestion}`, waitSeconds: 0 };
      const said = await runtime!.engine.call<{ approvalId: string }>('POST', '/api/factory/gate', body);
      asked.add(said.approvalId);
      nextQuestion += 1;
    }),
    forEver(60, async () => {
      const { approvals } = await person<{ approvals: { id: string }[] }>(
        'GET',
        '/api/factory/approvals?state=pending',
      );
      for (const { id } of approvals.toReversed()) {
        if (!driving) return;
        await person('POST', `/api/factory/approvals/${id}/resolve`, { decision: 'approve' });
      }
    }),
  ];

  return {
    cloudHome: clouds.home,
    runtimeHome: computers.home,
    posted,
    asked,
    async up() {
      cloud ??= await startCloud(clouds, provider, origin);
      runtime ??= await startProduct(computers);
      await linked(runtime);
    },
    async kill(which) {
      if (which === 'cloud') {
        process.kill(pidOf(cloud!), 'SIGKILL');
        await cloud!.ended;
        cloud = null;
      } else {
        await runtime!.kill();
        runtime = null;
      }
    },
    async quiet() {
      driving = false;
      await Promise.all(drivers);
    },
    async close() {
      driving = false;
      await runtime?.stop();
      cloud?.child.kill('SIGTERM');
      await cloud?.ended;
      await Promise.all(drivers);
      await provider.close();
      await clouds.remove();
      await computers.remove();
    },
  };
}

/** For whoever reads the databases. */
export function filesOf(world: World): { readonly cloud: string; readonly runtime: string } {
  return { cloud: join(world.cloudHome, 'cloud.db'), runtime: join(world.runtimeHome, 'runtime.db') };
}
