/** Hosted computers as whoever runs Gantry and a program with a key have them: `gantry admin`, `gantry computer-host`, /v1/computers. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ToolsetApproval, ToolsetResult } from '../../src/contracts/computer-use/toolset.ts';
import type { HostedComputer, HostedEvent, MeterLine } from '../../src/contracts/hosted-computers/computer.ts';
import type { UsageLine } from '../../src/contracts/usage/routes.ts';
import { type Caller, createCaller } from '../support/bench/http.ts';
import { gantryCommand, type Product } from '../support/bench/product.ts';
import { leftovers, startHelper } from '../support/computers/helper.ts';
import { createWorld } from '../support/computers/world.ts';
import type { App } from './hands-app.ts';
import { type Scenes, seconds, until } from './scenes.ts';

/** Seconds without a call: the least that may be set. */
const idle = 10;
const cents = { computer_minute: 6, computer_action: 0.5 } as const;

interface Around {
  readonly scenes: Scenes;
  readonly app: App;
  readonly product: Product;
  readonly env: Readonly<Record<string, string>>;
  /** Of the helper. */
  readonly folder: string;
}
interface Answer {
  readonly status: number;
  readonly body: ToolsetResult & {
    readonly error?: { readonly code: string; readonly message: string };
    readonly approval?: ToolsetApproval;
  };
}

export async function playHosted(around: Around): Promise<void> {
  const { folder } = around;
  const world = await createWorld();
  const before = leftovers(world, folder);
  try {
    const helper = await startHelper({ world, folder, program: gantryCommand[1] });
    assert.equal(helper.child.exitCode, null, `gantry computer-host ended: ${helper.said()}`);
    try {
      await playWith(around);
    } finally {
      await helper.stop();
    }
    await around.scenes.scene('nothing is left on the machine', async () => {
      assert.deepEqual([leftovers(world, folder), readdirSync(join(folder, 'computers'))], [before, []]);
      return 'no namespace, interface, route, table, cgroup, process or folder carries its names';
    });
  } finally {
    world.close();
  }
}

async function playWith({ scenes, app, product, env }: Around): Promise<void> {
  const { page } = app.seen;
  const gantry = (...words: string[]) =>
    JSON.parse(
      execFileSync(gantryCommand[0], [...gantryCommand.slice(1), ...words, '--json'], {
        env: { ...process.env, ...env },
        encoding: 'utf8',
      }),
    ) as Record<string, unknown>;
  let key = '';
  let id = '';
  let calls = 0;
  const web = (): Caller => createCaller(product.origin, key);
  const post = async (path: string, body: object): Promise<Answer> => {
    const answer = await fetch(`${product.origin}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Answer['body'] };
  };
  /** One call that has to be carried out. */
  const browser = async (member: string, input: object = {}, more: object = {}): Promise<ToolsetResult> => {
    const { status, body } = await post(`/v1/computers/${id}/toolset`, { toolset: 'browser', member, input, ...more });
    assert.deepEqual([status, body.is_error], [200, false], `${member}: ${JSON.stringify(body).slice(0, 500)}`);
    calls += 1;
    return body;
  };
  const words = ({ content }: ToolsetResult) => content.map((one) => (one.type === 'text' ? one.text : '')).join(' ');
  const computer = () => product.web.call<HostedComputer>('GET', `/v1/computers/${id}`);
  const meters = async (): Promise<{ minutes: number; actions: number }> => {
    const { lines } = await product.web.call<{ lines: MeterLine[] }>('GET', `/v1/computers/${id}/meters`);
    const sum = (meter: MeterLine['meter']) =>
      lines.reduce((whole, line) => whole + (line.meter === meter ? line.quantity : 0), 0);
    return { minutes: sum('computer_minute'), actions: sum('computer_action') };
  };

  await scenes.scene('gantry admin makes a project that may have computers, and sets prices', async () => {
    const project = gantry('admin', 'projects', 'create', 'shop', '--user', 'user_local', '--hosted-driver', 'on');
    for (const [name, price] of Object.entries(cents)) gantry('admin', 'prices', 'set', name, String(price));
    await product.web.call('PATCH', '/api/v1/admin/pool', { idleSeconds: idle });
    const pool = await product.web.call<{ driver: { name: string; refused: string | null } }>(
      'GET',
      '/api/v1/admin/pool',
    );
    assert.equal(pool.driver.refused, null);
    const wish = { name: 'robots', scopes: ['computers'] };
    key = (await product.web.call<{ secret: string }>('POST', '/api/v1/keys', wish)).secret;
    return `${JSON.stringify(project)}; the pool: ${JSON.stringify(pool)}`;
  });

  await scenes.scene('a key makes a computer and drives it', async () => {
    const from = performance.now();
    const made = await web().call<HostedComputer>('POST', '/v1/computers', { name: 'crawler' });
    id = made.id;
    const create = seconds(from);
    await browser('navigate', { url: 'http://public.example:8080/' });
    const shot = await browser('screenshot');
    const first = seconds(from);
    const [picture] = shot.content;
    assert.ok(picture?.type === 'image');
    return `${id} is ${made.status} ${create} after it was asked for, its first picture (${picture.width} × ${picture.height}) is there ${first} after that`;
  });

  await scenes.scene(
    'a script asks, the owner approves on the page that the answer names, and it runs once',
    async () => {
      const script = `window.times = (window.times ?? 0) + 1; document.body.innerHTML = '<h1>Times: ' + window.times + '</h1><input aria-label="Note" style="position:absolute;left:100px;top:120px;width:400px;height:60px">'; window.times`;
      const call = {
        toolset: 'browser',
        member: 'javascript_exec',
        input: { text: script },
        enable: ['javascript_exec'],
      };
      const asked = await post(`/v1/computers/${id}/toolset`, call);
      assert.deepEqual([asked.status, asked.body.error?.code], [409, 'approval_required'], JSON.stringify(asked.body));
      const { approval } = asked.body;
      assert.ok(approval);
      const grant = { ...call, approval_grant: approval.id };
      const early = await post(`/v1/computers/${id}/toolset`, grant);
      assert.equal(early.status, 409);
      await page.goto(approval.approve_url);
      const question = page.getByRole('region', { name: 'Waiting for you' });
      await question.waitFor();
      await question.getByText('window.times = (window.times').waitFor();
      await page.getByRole('img', { name: 'Live view' }).waitFor({ timeout: 60_000 });
      await app.picture('20-hosted-asks', 'all');
      await question.getByRole('button', { name: 'Approve' }).click();
      await question.waitFor({ state: 'detached' });
      const done = await browser('javascript_exec', call.input, { enable: call.enable, approval_grant: approval.id });
      const again = await post(`/v1/computers/${id}/toolset`, grant);
      assert.notEqual(again.status, 200);
      await browser('left_click', { target: { type: 'coordinate', x: 300, y: 150 } });
      await browser('type', { text: 'Grüße 🌍' });
      const seen = words(await browser('read_page', { filter: 'all' }));
      assert.match(seen, /Times: 1/);
      assert.match(seen, /Grüße 🌍/);
      await app.picture('21-hosted-driven');
      return `409 at ${approval.approve_url}, again 409 before the answer; then “${words(done)}”; the same grant once more: ${again.status} ${again.body.error?.code}; clicked and typed: the page has “Grüße 🌍”, Times: 1`;
    },
  );

  await scenes.scene(`it sleeps after ${idle} s without a call, and wakes on the next one`, async () => {
    await until('a sleeping computer', async () => (await computer()).sleeping, 60_000);
    const slept = await meters();
    await page.getByText(/^It is asleep and counts no minutes/).waitFor({ timeout: 30_000 });
    await app.picture('22-hosted-asleep', 'all');
    const still = await meters();
    assert.deepEqual(still, slept);
    const from = performance.now();
    const { content } = await browser('screenshot');
    assert.equal(content[0]?.type, 'image');
    const woke = `${Math.round(performance.now() - from)} ms`;
    const text = words(await browser('read_page', { filter: 'all' }));
    assert.match(text, /Grüße 🌍/);
    await page.getByRole('img', { name: 'Live view' }).waitFor({ timeout: 60_000 });
    return `asleep with ${slept.minutes} minutes and ${slept.actions} actions, and no more while it slept; awake with its first picture ${woke} after the call, with all that was typed`;
  });

  await scenes.scene(
    'it is deleted; its meters are the time awake and the calls, and what they cost is in Usage',
    async () => {
      const { events } = await product.web.call<{ events: HostedEvent[] }>(
        'GET',
        `/v1/computers/${id}/events?limit=200`,
      );
      const asked = Date.now();
      const gone = await web().call<HostedComputer>('DELETE', `/v1/computers/${id}`);
      const done = Date.now();
      assert.equal(gone.status, 'deleted');
      const after = await fetch(`${product.origin}/v1/computers/${id}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      assert.equal(after.status, 404);
      const { month, lines, spentCents } = await product.web.call<{
        month: string;
        lines: UsageLine[];
        spentCents: number;
      }>('GET', '/api/v1/usage');
      const of = (kind: UsageLine['kind']) => lines.find((line) => line.kind === kind && line.computerId === id);
      const [minutes, actions] = [of('computer_minute'), of('computer_action')];
      assert.ok(minutes && actions);
      const timeOf = (type: HostedEvent['type']) => Date.parse(events.find((one) => one.type === type)?.at ?? '');
      const sleeping = events.findIndex(({ type }) => type === 'computer.sleeping');
      // It counts as asleep once nobody called it for so long, whenever that was noticed.
      const slept = Date.parse(events[sleeping - 1]?.at ?? '') + idle * 1000;
      const awake = (end: number) => (slept - timeOf('computer.started') + end - timeOf('computer.woken')) / 60_000;
      assert.equal(actions.quantity, calls);
      const byClock = `${awake(asked).toFixed(3)} to ${awake(done).toFixed(3)} by the clock`;
      // An event is written a moment after what it tells of.
      const fits = minutes.quantity > awake(asked) - 0.02 && minutes.quantity < awake(done) + 0.02;
      assert.ok(fits, `${minutes.quantity} minutes, ${byClock}`);
      const near = (seen: number, wanted: number) =>
        assert.ok(Math.abs(seen - wanted) < 0.01, `${seen}, not ${wanted}`);
      near(minutes.cents, minutes.quantity * cents.computer_minute);
      near(actions.cents, actions.quantity * cents.computer_action);
      await page.goto(`${product.origin}/settings/usage`);
      await page.getByText('Hosted computer actions').waitFor();
      await app.picture('23-usage', 'all');
      return `${minutes.quantity} minutes (${byClock}), ${actions.quantity} actions (${calls} calls carried out); in ${month}: ${minutes.cents} + ${actions.cents} = ${spentCents} cents at ${JSON.stringify(cents)}; ${events.map(({ type }) => type).join(' ')}`;
    },
  );
}
