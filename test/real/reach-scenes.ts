/** The scenes of `reach.ts`, at the person's computer; prints one line a scene and ends with 1 when one fails. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Approval } from '../../src/contracts/approvals/approval.ts';
import type { Agent } from '../../src/contracts/factory/agent.ts';
import type { Computer } from '../../src/contracts/link/computers.ts';
import type { LocalPairing } from '../../src/contracts/link/local-pairing.ts';
import { scratchHome } from '../support/bench/product.ts';
import { cut, heal, type Place } from '../support/namespaces.ts';
import { claudeEnv } from './claude-install.ts';
import { openFirefox } from './firefox.ts';
import { command, urls } from './reach-places.ts';
import { startAround, startCloud, startComputer } from './reach-programs.ts';
import { createScenes, readDialog, seconds, until } from './scenes.ts';

const { cloud, here, there, claudeBin } = JSON.parse(process.env.GANTRY_REACH ?? '{}') as {
  readonly cloud: Place;
  readonly here: Place;
  readonly there: Place;
  /** Folder with the word `claude`. */
  readonly claudeBin: string;
};
/** As long as the link stays cut. */
const cutMs = 60_000;

const { scene, failed } = createScenes(async () => {
  const shown = (await firefox.words().catch(String)).slice(0, 2000);
  console.log(`     at ${page.url()}:\n${shown.replace(/^/gm, '     ')}\n     console: ${firefox.errors.join(' ## ')}`);
});

const around = await startAround(cloud, here, there);
await startCloud(cloud);
const team = 'bots:\n  - bot: ops\n    harness: claude\n  - bot: box\n    harness: shell\n';
const homes = { here: scratchHome({ far: team }), there: scratchHome() };
// As a person left it after the first start, but for the folder: whether that can be trusted is asked in the pane.
writeFileSync(
  join(String(homes.there.env.HOME), '.claude.json'),
  JSON.stringify({ hasCompletedOnboarding: true, theme: 'dark' }),
);
const botEnv = { PATH: `${claudeBin}:${process.env.PATH}`, ...claudeEnv(around.modelUrl) };
const laptop = await startComputer(here, homes.here, ['start', '--headless', '--port', '0', '--engine-port', '0']);
const tower = await startComputer(there, homes.there, ['runtime', '--cloud', urls.cloud, '--engine-port', '0'], botEnv);
const firefox = await openFirefox(`${urls.push.replace('http', 'ws')}/`);
const { page } = firefox;

/** As the page asks: with its cookie and its header. */
function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  return page.evaluate(
    async (how, where, what) => {
      const { csrf } = (await (await fetch('/api/v1/session')).json()) as { csrf: string };
      const answer = await fetch(where, {
        method: how,
        headers: { 'x-platform-csrf': csrf, ...(what === null ? {} : { 'content-type': 'application/json' }) },
        ...(what === null ? {} : { body: what }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${how} ${where}: ${answer.status} ${text}`);
      return (text === '' ? null : JSON.parse(text)) as never;
    },
    method,
    path,
    body === undefined ? null : JSON.stringify(body),
  );
}
const known = async () => (await ask<{ computers: Computer[] }>('GET', '/api/v1/computers')).computers;
const bots = async () => (await ask<{ agents: Agent[] }>('GET', '/api/factory/agents?team=far')).agents;
const bot = async (slug: string) => (await bots()).find((one) => one.slug === slug);
/** Until the pane shows it, in the page as it is. */
const inPane = (slug: string, wanted: RegExp, ms?: number) =>
  until(`${wanted} in the pane of ${slug}`, async () => wanted.exec(await firefox.pane(slug)), ms);
/** Opens a bot's pane, as soon as it is drawn and takes keys. */
async function open(slug: string): Promise<void> {
  await firefox.click(`${slug}@far`);
  await until(`the pane of ${slug}`, async () => (await firefox.hasFocus(slug)) && (await firefox.pane(slug)) !== '');
}
async function type(slug: string, line: string): Promise<void> {
  await open(slug);
  await page.keyboard.type(line);
  await page.keyboard.press('Enter');
}

async function approvePairing({ userCode = '', verificationUri = '' }: LocalPairing): Promise<string> {
  const { name } = await ask<{ name: string }>('GET', `/api/v1/pairings/${userCode}`);
  await page.goto(verificationUri);
  await page.type('input[autocomplete="one-time-code"]', userCode);
  await firefox.click('Continue');
  await firefox.click(`Approve ${name}`);
  await until('that it is approved', async () => (await firefox.words()).includes('is approved'));
  return userCode;
}

let user = '';
let away = '';
async function play(): Promise<void> {
  await scene('a person signs in through the provider', async () => {
    await page.goto(urls.cloud);
    await firefox.click('Sign in');
    await firefox.click('login');
    await page.keyboard.type('ada');
    await firefox.click('password');
    await page.keyboard.type('any');
    await firefox.click('Sign-in');
    await firefox.click('Continue');
    await until('the page of Gantry', async () => page.url().startsWith(urls.cloud) && !page.url().includes('/login'));
    const me = await ask<{ user: string; name: string; mode: string; via: string }>('GET', '/api/v1/session');
    assert.deepEqual([me.name, me.mode, me.via], ['Ada', 'headless', 'cookie']);
    user = me.user;
    // A terminal on a canvas cannot be read.
    await page.evaluate(() => localStorage.setItem('gantry.settings', JSON.stringify({ terminalRenderer: 'dom' })));
    return `${firefox.version}, ${me.name} via ${me.via}`;
  });

  await scene('both computers pair by their codes', async () => {
    const asked = await laptop.gantry<LocalPairing>('pair', urls.cloud);
    const linked = (count: number) =>
      until(`${count} linked computers`, async () => {
        const all = await known();
        return all.length === count && all.every(({ state }) => state === 'linked') ? all : null;
      });
    const codes = [await approvePairing(asked)];
    // The first to come is the one that answers when none is named.
    await linked(1);
    codes.push(await approvePairing((tower.said as { pairing: LocalPairing }).pairing));
    const both = await linked(2);
    away = (await tower.gantry<LocalPairing>('pair', '--status')).computerId ?? '';
    assert.deepEqual(
      both.map((one) => [one.id === away, one.default]),
      [
        [false, true],
        [true, false],
      ],
    );
    return `${codes.join(' and ')}; both linked`;
  });

  await scene('the browser takes pushes', async () => {
    await page.goto(`${urls.cloud}/settings/notifications`);
    await firefox.click('Switch on');
    await until('that it is on', async () => (await firefox.words()).includes('This browser receives pushes'));
    await firefox.click('Send a test to Firefox on Linux');
    const [test] = await until('the test', async () => {
      const shown = (await firefox.alerts()).filter(({ title }) => title !== '');
      return shown.length > 0 ? shown : null;
    });
    return `the push service: ${around.pushes().join(' ')}; Firefox shows ${JSON.stringify(test)}`;
  });

  await scene('a team starts on the other computer', async () => {
    const up = await laptop.gantry<{ applied: boolean }>('teams', 'up', 'far', '--on', away);
    assert.equal(up.applied, true);
    const one = await until('a bot that asks', async () => {
      const found = await bot('ops');
      return found?.state === 'needs_you' ? found : null;
    });
    assert.deepEqual([one.machine, one.runner, one.pane?.attachable], [away, `remote:${away}`, true]);
    return `ops@far is ${one.state}: ${one.stateReason}`;
  });

  await scene('its panes are watched and typed into', async () => {
    await page.goto(`${urls.cloud}/floor`);
    await type('box', 'echo far-$((40+2))');
    await inPane('box', /^far-42/m);
    await open('ops');
    await inPane('ops', /trust/i);
    await readDialog();
    await page.keyboard.press('ArrowDown');
    await inPane('ops', /❯ Yes/);
    await readDialog();
    await page.keyboard.press('Enter');
    const one = await until('an idle bot', async () => {
      const found = await bot('ops');
      return found?.state === 'idle' ? found : null;
    });
    return `a line of box's shell is back; Claude Code was let into its folder by keys and is ${one.state}`;
  });

  await scene(`the link is cut for ${cutMs / 1000} s and comes back`, async () => {
    await type('box', 'for n in $(seq 300); do echo tick-$n; sleep 1; done');
    await inPane('box', /^tick-2$/m);
    const from = performance.now();
    cut(there);
    await until('an away computer', async () => (await known()).find(({ id }) => id === away)?.state === 'away', cutMs);
    const noticed = seconds(from);
    await until('that the page says so', async () => /away|cannot be reached/i.test(await firefox.words()));
    const seen = await bot('box');
    await delay(Math.max(0, cutMs - (performance.now() - from)));
    const lastSeen = /tick-(\d+)\n*$/.exec(await firefox.pane('box'))?.[1];
    heal(there);
    const healed = performance.now();
    await until('the link', async () => (await known()).find(({ id }) => id === away)?.state === 'linked', 60_000);
    const linked = seconds(healed);
    const tick = await inPane('box', /^tick-(?:[6-9]\d|\d{3})$/m, 60_000);
    const resumed = seconds(healed);
    await until('bots that are seen again', async () => (await bots()).every(({ stale }) => !stale));
    const again = seconds(healed);
    await page.keyboard.down('Control');
    await page.keyboard.press('c');
    await page.keyboard.up('Control');
    await page.keyboard.type('echo back-$((70+7))');
    await page.keyboard.press('Enter');
    await inPane('box', /^back-77/m);
    return `away after ${noticed} (box ${seen?.state}${seen?.stale ? ', stale' : ''}, its pane stood at tick-${lastSeen}); linked ${linked} after the cable was back, the same page shows ${tick[0]} after ${resumed} and takes keys, its bots are seen after ${again}`;
  });

  await scene('an approval is answered from the notification, and the tool runs', async () => {
    const made = () => {
      const root = join(homes.there.home, 'peers', user, 'far');
      const found = readdirSync(root, { recursive: true, encoding: 'utf8' }).find((path) => /(^|\/)made$/.test(path));
      return found === undefined ? null : join(root, found);
    };
    const pushesBefore = around.pushes().length;
    const from = performance.now();
    const sent = await ask<{ state: string }>('POST', '/api/factory/send', { to: 'ops@far', text: 'RUNSHELL please' });
    const taken = seconds(from);
    const pending = await until('a question', async () => {
      const { approvals } = await ask<{ approvals: Approval[] }>('GET', '/api/factory/approvals?state=pending');
      return approvals.length > 0 ? approvals : null;
    });
    const asked = seconds(from);
    const alert = await until('the notification', async () =>
      (await firefox.alerts()).find(({ title }) => /asks for approval/.test(title)),
    );
    const shown = seconds(from);
    const [approval] = pending;
    assert.ok(approval);
    assert.deepEqual([pending.length, approval.source, approval.summary], [1, 'harness', command]);
    assert.equal(made(), null);
    const pressed = performance.now();
    await firefox.press(alert.body, 'approve');
    const file = await until('what the tool makes', async () => made());
    const ran = seconds(pressed);
    const after = await until('that it acted', async () => {
      const { approvals } = await ask<{ approvals: Approval[] }>('GET', '/api/factory/approvals?state=resolved');
      const found = approvals.find(({ id }) => id === approval.id);
      return found?.appliedAt ? found : null;
    });
    assert.deepEqual([after.decision, after.resolvedBy?.user, after.resolvedBy?.surface], ['approve', user, 'push']);
    assert.ok(existsSync(file));
    await until('an idle bot', async () => (await bot('ops'))?.state === 'idle');
    const told = await firefox.alerts();
    return `the message is ${sent.state} after ${taken}; ${approval.source} asks ${JSON.stringify(approval.summary)} ${asked} after the message; ${around.pushes().slice(pushesBefore).join(' ')}; Firefox shows ${JSON.stringify(alert)} ${shown} after it; the file is there ${ran} after the press; answered by ${after.resolvedBy?.user} via ${after.resolvedBy?.surface}; then ${JSON.stringify(told)}`;
  });

  await scene('the team is stopped from afar', async () => {
    const stopped = await laptop.gantry<{ stopped: string[] }>('teams', 'down', 'far');
    assert.deepEqual(stopped.stopped.toSorted(), ['box@far', 'ops@far']);
    await until('bots that are offline', async () => (await bots()).every(({ state }) => state === 'offline'));
    return `${stopped.stopped.join(' and ')} are offline`;
  });

  await scene('the page made no mistake of its own', async () => {
    assert.deepEqual(firefox.errors, []);
    return 'no error in its console';
  });
}

await play().catch((error: Error) => (failed() === 0 ? Promise.reject(error) : undefined));
await firefox.close();
process.exit(failed() === 0 ? 0 : 1);
