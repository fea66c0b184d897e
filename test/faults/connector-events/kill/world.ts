/**
 * The whole way of an event: a tracker that tells, a cloud that takes, a paired computer that makes tickets of it, each a program as
 * its command starts it, with a wire between them that can be cut.
 */
import { join } from 'node:path';
import type { Connector } from '../../../../src/contracts/connectors/connector.ts';
import type { Subscription } from '../../../../src/contracts/connectors/subscription.ts';
import { linked, pair, pidOf, startCloud } from '../../../support/bench/paired.ts';
import { agentsOf, type Product, scratchHome, shellTeam, startProduct } from '../../../support/bench/product.ts';
import { type CutProxy, startCutProxy } from '../../../support/cut-proxy.ts';
import { freePort } from '../../../support/free-port.ts';
import { type IssueTracker, startIssueTracker } from '../../../support/issue-tracker/tracker.ts';
import { startOidcProvider } from '../../../support/oidc-provider.ts';
import { personAt } from '../../../support/signed-in.ts';
import type { Victim } from '../../../support/victim.ts';

/** A bot has no more tickets open than 1,000: those of so many subscriptions go to one. */
const subscriptionsPerBot = 5;
/** ms before the tracker tries again, again and again: nothing may be given up there, that is not what is looked at. */
const patience = [250, 500, ...Array.from({ length: 5_000 }, () => 1_000)];

export interface World {
  readonly tracker: IssueTracker;
  readonly cloudHome: string;
  readonly runtimeHome: string;
  /** Subscription at the computer by project of the tracker. */
  readonly subscriptions: ReadonlyMap<string, string>;
  /** Event ids that the tracker has for each project, in its order. */
  readonly opened: ReadonlyMap<string, readonly string[]>;
  /** Starts whichever is down and waits for the link. */
  up(): Promise<void>;
  kill(which: 'cloud' | 'runtime'): Promise<void>;
  /** Cuts every connection to the cloud, the link among them. */
  cut(): void;
  open(project: string): void;
  close(): Promise<void>;
}

export async function createWorld(projects: number): Promise<World> {
  const clouds = scratchHome();
  const slugs = Array.from({ length: Math.ceil(projects / subscriptionsPerBot) }, (_, n) => `bot-${n}`);
  const computers = scratchHome({ ops: shellTeam('ops', slugs) });
  const port = await freePort();
  const wire: CutProxy = await startCutProxy({ target: { host: '127.0.0.1', port }, cutAfter: () => null });
  const origin = `http://127.0.0.1:${wire.port}`;
  const provider = await startOidcProvider({ origins: [origin] });
  const tracker = await startIssueTracker({ anonymous: 'ada', limits: { retries: patience } });
  const start = () => startCloud(clouds, provider, origin, `127.0.0.1:${port}`);
  let cloud: Victim | null = await start();
  let runtime: Product | null = await startProduct(computers);
  await pair(runtime, await personAt(origin), origin);

  const bots = await agentsOf(runtime.engine, 'ops');
  const connector = await runtime.engine.call<Connector>('POST', '/api/v1/mcp/connectors', {
    name: 'tracker',
    url: tracker.url,
  });
  const subscriptions = new Map<string, string>();
  const opened = new Map<string, string[]>();
  for (let n = 0; n < projects; n += 1) {
    const project = `project-${n}`;
    const { subscription } = await runtime.engine.call<{ subscription: Subscription }>(
      'POST',
      `/api/v1/mcp/connectors/${connector.id}/events`,
      { name: 'issue.opened', arguments: { project }, botId: bots[n % bots.length]!.id },
    );
    if (subscription.status !== 'active') throw new Error(`A subscription is ${JSON.stringify(subscription)}.`);
    subscriptions.set(project, subscription.id);
    opened.set(project, []);
  }

  return {
    tracker,
    cloudHome: clouds.home,
    runtimeHome: computers.home,
    subscriptions,
    opened,
    async up() {
      cloud ??= await start();
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
    cut: () => wire.cutAll(),
    open(project) {
      const { happening } = tracker.issues.open({ project, title: `Issue of ${project}` });
      opened.get(project)!.push(happening.eventId);
    },
    async close() {
      await tracker.close();
      await runtime?.stop();
      cloud?.child.kill('SIGTERM');
      await cloud?.ended;
      await provider.close();
      await wire.close();
      await clouds.remove();
      await computers.remove();
    },
  };
}

/** For whoever reads the computer's database. */
export const runtimeFile = (world: World): string => join(world.runtimeHome, 'runtime.db');
