/**
 * A job apart (`npm run test:connectors`): a computer that is off for five minutes while events come; a cloud of many people holds them, and nothing is
 * missing when it is back. Prints a line a scene and ends with 1 when one fails. `GANTRY_AWAY_SECONDS` makes the computer be off for less.
 *
 * What a browser and a tracker suffice for is in test/e2e/connectors.test.ts and not played here: connecting and signing in, tickets, rules and their runs,
 * a grant that is revoked, and an app that is told of runs.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Connector } from '../../src/contracts/connectors/connector.ts';
import type { Subscription } from '../../src/contracts/connectors/subscription.ts';
import type { Agent } from '../../src/contracts/factory/agent.ts';
import type { Ticket } from '../../src/contracts/factory/work-engine/tickets.ts';
import { pidOf, startCloud } from '../support/bench/paired.ts';
import { gantryCommand, scratchHome, shellTeam } from '../support/bench/product.ts';
import { freePort } from '../support/free-port.ts';
import { startIssueTracker } from '../support/issue-tracker/tracker.ts';
import { startOidcProvider } from '../support/oidc-provider.ts';
import { type Person, personAt } from '../support/signed-in.ts';
import { agreeToAll } from '../support/trust.ts';
import { startVictim, type Victim } from '../support/victim.ts';
import { createScenes, type Scenes, seconds, until } from './scenes.ts';

/** Five minutes, unless told otherwise. */
const awayMs = Number(process.env.GANTRY_AWAY_SECONDS ?? 300) * 1000;
const events = 60;
const subscriptions = 3;

const scenes = createScenes();
await playAway(scenes).catch((error: Error) => {
  // A scene that failed has said so.
  if (scenes.failed() === 0) scenes.fail('between scenes', error);
});
process.exit(scenes.failed() === 0 ? 0 : 1);

async function playAway({ scene }: Scenes): Promise<void> {
  const opened: (() => unknown)[] = [];
  try {
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const provider = await startOidcProvider({ origins: [origin] });
    opened.push(() => provider.close());
    const tracker = await startIssueTracker({ apiKeys: { 'key-of-ada': 'ada' } });
    opened.push(() => tracker.close());
    const clouds = scratchHome();
    opened.push(() => clouds.remove());
    const computers = scratchHome({ far: shellTeam('far', ['box']) });
    opened.push(() => computers.remove());
    const cloud = await startCloud(clouds, provider, origin);
    opened.push(async () => {
      process.kill(pidOf(cloud), 'SIGTERM');
      await cloud.ended;
    });
    const person = await personAt(origin);
    let runtime: Victim | null = null;
    const start = async () => {
      const said = startVictim({
        command: [
          ...gantryCommand,
          ...['runtime', '--json', '--cloud', origin, '--engine-port', '0', '--workspace', computers.workspace],
        ],
        cwd: computers.workspace,
        env: computers.env,
      });
      runtime = said;
      const line = await said.until((text) => text.startsWith('{'));
      return JSON.parse(line) as { engine: string; pairing?: { userCode?: string } };
    };
    const end = async () => {
      if (runtime === null) return;
      process.kill(pidOf(runtime), 'SIGTERM');
      await runtime.ended;
      runtime = null;
    };
    opened.push(end);

    await scene('a computer joins a cloud, and listens to a tracker by an API key', async () => {
      const { pairing, engine } = await start();
      const token = readFileSync(join(computers.home, 'token'), 'utf8').trim();
      await agreeToAll(`${engine}/api/factory`, { authorization: `Bearer ${token}` });
      await person('POST', `/api/v1/pairings/${pairing?.userCode}/approve`);
      const connector = await until('a connector through the cloud', () =>
        person<Connector>('POST', '/mcp/connectors', {
          name: 'tracker',
          url: tracker.url,
          auth: { type: 'api_key', key: 'key-of-ada' },
        }),
      );
      const { agents } = await person<{ agents: Agent[] }>('GET', '/api/factory/agents?team=far');
      for (let n = 0; n < subscriptions; n += 1) {
        const { subscription } = await person<{ subscription: Subscription }>(
          'POST',
          `/mcp/connectors/${connector.id}/events`,
          { name: 'issue.opened', arguments: { project: `p${n}` }, botId: agents[0]?.id },
        );
        assert.equal(subscription.status, 'active', JSON.stringify(subscription));
      }
      tracker.issues.open({ project: 'p0', title: 'before' });
      await until('the first ticket', async () => (await titles(person)).includes('before'));
      return `${subscriptions} subscriptions, the first ticket is there`;
    });

    await scene(`the computer is off for ${awayMs / 1000} s while issues come, and nothing is missing`, async () => {
      await end();
      const told: string[] = [];
      const from = performance.now();
      for (let n = 0; n < events; n += 1) {
        const title = `p${n % subscriptions} ${n}`;
        tracker.issues.open({ project: `p${n % subscriptions}`, title });
        told.push(title);
        await delay(awayMs / events);
      }
      const left = awayMs - (performance.now() - from);
      if (left > 0) await delay(left);
      const waiting = tracker.subscriptions.list().reduce((sum, one) => sum + one.waiting + one.gaveUp, 0);
      assert.equal(waiting, 0, 'the cloud has not taken all of them');
      const back = performance.now();
      await start();
      const here = await until(
        'all tickets',
        async () => {
          const found = await titles(person);
          return found.length > events && found;
        },
        120_000,
      );
      const took = seconds(back);
      for (let n = 0; n < subscriptions; n += 1) {
        const ofOne = (all: readonly string[]) => all.filter((title) => title.startsWith(`p${n} `));
        assert.deepEqual(ofOne(here), ofOne(told));
      }
      assert.equal(here.length, events + 1);
      return `${events} issues, each one ticket, in order for each of ${subscriptions} subscriptions; all there ${took} after the start`;
    });
  } finally {
    for (const close of opened.toReversed()) await close();
  }
}

/** Titles of the issues that tickets are of, oldest first. */
async function titles(person: Person): Promise<string[]> {
  const { tickets } = await person<{ tickets: Ticket[] }>('GET', '/api/factory/tickets?limit=200');
  return tickets.map(({ data }) => (data as { issue: { title: string } }).issue.title).toReversed();
}
