/** Events that go out: an app of somebody else is let in, subscribes, is told of a run, and is ended by the owner. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { go } from '../e2e/support/browser.ts';
import { gantryCommand } from '../support/bench/product.ts';
import type { EventsApp } from '../support/events-app.ts';
import { text } from '../support/model-server/script.ts';
import { startVictim } from '../support/victim.ts';
import { type Around, finding } from './connectors-in.ts';
import { until } from './scenes.ts';

/** Longer than a delivery takes to come. */
const silenceMs = 5_000;

interface LetIn {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** `gantry tools approve`, as the owner types it: what they give the app. */
async function letIn({ env, workspace }: Around): Promise<LetIn> {
  const asked = startVictim({
    command: [...gantryCommand, 'tools', 'approve', 'lamp', '--json'],
    cwd: workspace,
    env,
  });
  const { code } = await asked.ended;
  const said = asked.lines.join('\n');
  if (code !== 0) throw new Error(`gantry tools approve ended with ${code}: ${said}`);
  return JSON.parse(said) as LetIn;
}

export async function playEdge(around: Around & { readonly other: EventsApp }): Promise<void> {
  const { scenes, app, tracker, model, other } = around;
  const { page } = app.seen;
  const clients: (() => Promise<void>)[] = [];
  try {
    await scenes.scene('an app is let in and subscribes to agent.run.completed', async () => {
      const { url, headers } = await letIn(around);
      const client = await other.connect({ url, headers });
      clients.push(() => client.close());
      const { events } = await client.experimental_events.list();
      const { refreshBefore } = await client.experimental_events.subscribe({
        name: 'agent.run.completed',
        delivery: { mode: 'webhook', url: other.callback, allowInsecureLocalhost: true },
      });
      return `${events.length} events are offered at ${new URL(url).pathname}; it holds until ${refreshBefore}`;
    });

    await scenes.scene('a run ends, and the app is told, signed, without what it wrote', async () => {
      model.script(() => text(finding));
      const asked = model.requests.length;
      const opened = Date.now();
      tracker.issues.open({ project: 'door', title: 'The door sticks again' });
      await until('the event at the app', async () => other.events.length > 0, 60_000);
      const took = Date.now() - opened;
      const [event] = other.events;
      assert.equal(event?.name, 'agent.run.completed');
      assert.ok(Date.parse(event.timestamp) >= opened, 'it is of an earlier run');
      assert.equal(model.requests.length, asked + 1);
      assert.doesNotMatch(JSON.stringify(event), /plane it|frame is wet/);
      return `${took} ms after the issue: ${JSON.stringify(event?.data)}`;
    });

    await scenes.scene(
      'the owner sees the app and ends its subscription: it is told, and no more after that',
      async () => {
        await go(page, '/connectors');
        await page.locator('[data-app]').first().click();
        await app.picture('11-app', 'all');
        await page.getByRole('button', { name: /^End / }).first().click();
        const dialog = page.getByRole('alertdialog').or(page.getByRole('dialog'));
        await app.picture('12-end', 'all');
        await dialog.getByRole('button', { name: 'End', exact: true }).click();
        await until('the end at the app', async () => other.ended.length > 0, 60_000);
        assert.match(JSON.stringify(other.ended[0]), /ended_by_owner/);
        const told = other.events.length;
        tracker.issues.open({ project: 'door', title: 'The door sticks still' });
        // Nothing may happen: a subscription that was ended hears of nothing more.
        await delay(silenceMs);
        assert.equal(other.events.length, told);
        assert.ok(other.answers.every((code) => code < 300));
        return `${JSON.stringify(other.ended[0])}; ${told} events before, none after; every signature held`;
      },
    );
  } finally {
    for (const close of clients) await close();
  }
}
