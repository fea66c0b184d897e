/**
 * A program run by hand (`node test/real/push.ts`): notifications of one computer as a real Firefox shows them, with a push service of
 * this machine. It subscribes on the settings page, is sent a test and questions by Gantry, answers by the buttons of Firefox's own
 * alerts, and lets go. Prints a line a scene; ends with 1 when one fails, with 77 without Firefox.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { PushDevice } from '../../src/contracts/notifications/push.ts';
import type { Notification } from '../../src/contracts/notifications/routes.ts';
import { startCombined } from '../../src/host/combined.ts';
import { placesIn } from '../../src/host/places.ts';
import { readSettings } from '../../src/host/settings.ts';
import { buildRenderer } from '../e2e/support/renderer.ts';
import { startPushService } from '../support/push-service.ts';
import { type Alert, hasFirefox, openFirefox } from './firefox.ts';

const skipped = 77;
const patienceMs = 20_000;
interface Gate {
  readonly verdict: 'allow' | 'ask' | 'deny';
  readonly approvalId: string | null;
}

if (hasFirefox()) await play();
else {
  console.error('SKIPPED, nothing was tried: there is no Firefox; GANTRY_FIREFOX names another place');
  process.exitCode = skipped;
}

async function play(): Promise<void> {
  await buildRenderer();
  const home = mkdtempSync(join(tmpdir(), 'gantry-push-'));
  const closing: (() => unknown)[] = [() => rmSync(home, { recursive: true, force: true })];
  try {
    await inHome(home, (close) => closing.unshift(close));
  } finally {
    for (const close of closing) await close();
  }
}

async function inHome(home: string, onEnd: (close: () => unknown) => void): Promise<void> {
  const service = await startPushService();
  onEnd(() => service.close());
  const env = {
    ...process.env,
    GANTRY_HOME: home,
    GANTRY_PORT: '0',
    GANTRY_ENGINE_PORT: '0',
    GANTRY_EGRESS_ALLOW: `127.0.0.1:${service.port}`,
  };
  const workspace = join(home, 'work');
  mkdirSync(workspace);
  const gantry = await startCombined({ env, settings: readSettings(env), gantry: 'gantry', workspace });
  onEnd(() => gantry.close({ stopBots: true }));
  const firefox = await openFirefox(service.url);
  onEnd(() => firefox.close());
  await scenes(gantry, home, service, firefox);
}

type Parts = readonly [
  Awaited<ReturnType<typeof startCombined>>,
  string,
  Awaited<ReturnType<typeof startPushService>>,
  Awaited<ReturnType<typeof openFirefox>>,
];

async function scenes(...[gantry, home, service, firefox]: Parts): Promise<void> {
  const token = readFileSync(placesIn(home).token, 'utf8').trim();
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const reply = await fetch(gantry.origin + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return (reply.status === 204 ? null : await reply.json()) as T;
  };
  const devices = async () => (await call<{ devices: PushDevice[] }>('GET', '/api/v1/push/subscriptions')).devices;
  const newest = async () =>
    (await call<{ notifications: Notification[] }>('GET', '/api/v1/notifications')).notifications[0];
  const alert = (found: (one: Alert) => boolean) =>
    until('an alert of Firefox', async () => (await firefox.alerts()).find(found) ?? null);
  /** Asks the person of this computer, and waits for the answer. */
  const ask = (command: string) =>
    call<Gate>('POST', '/api/factory/gate', { tool: 'shell.exec', command, reason: 'to see a push', waitSeconds: 50 });

  await scene('a browser subscribes on the settings page and is sent a test', async () => {
    await firefox.page.goto((await gantry.openUrl('/settings/notifications')).url);
    await firefox.click('Switch on');
    const [device] = await until('a device', async () => ((await devices()).length > 0 ? devices() : null));
    await firefox.click(`Send a test to ${device!.name}`);
    const shown = await alert(({ title }) => title.includes('can reach this device'));
    return `${firefox.version}; ${device!.name}; ${JSON.stringify(shown)}`;
  });

  for (const [action, verdict, said] of [
    ['approve', 'allow', 'Approved'],
    ['reject', 'deny', 'Rejected'],
  ] as const) {
    await scene(`the button ${action} of a notification answers the question`, async () => {
      const asked = ask(`npm publish --tag ${action}`);
      const began = performance.now();
      const question = await alert(({ title }) => title.includes('asks for approval'));
      const took = Math.round(performance.now() - began);
      await firefox.press(question.body, action);
      const { verdict: answered, approvalId } = await asked;
      assert.equal(answered, verdict);
      const path = '/api/factory/approvals?state=resolved';
      const { approvals } = await call<{ approvals: { id: string; resolvedBy: object }[] }>('GET', path);
      const by = approvals.find(({ id }) => id === approvalId)?.resolvedBy;
      assert.deepEqual(by, { user: 'user_local', surface: 'push' });
      const after = await alert(({ title }) => title === said);
      return `shown after ${took} ms: ${JSON.stringify(question)}; ${answered}; then ${JSON.stringify(after.title)}`;
    });
  }

  await scene('a push of the largest size arrives, and the worker reads it', async () => {
    const before = service.pushes.length;
    const asked = ask(`echo ${'ü'.repeat(5000)}`);
    await until('the push', async () => (service.pushes.length > before ? true : null));
    const { status, body } = service.pushes.at(-1)!;
    assert.equal(status, 201);
    const shown = await alert((one) => one.body.endsWith('…'));
    assert.match(shown.body, /ü{100}…$/);
    const { approvals } = await call<{ approvals: { id: string }[] }>('GET', '/api/factory/approvals?state=pending');
    await call('POST', `/api/factory/approvals/${approvals[0]!.id}/resolve`, { decision: 'reject' });
    assert.equal((await asked).verdict, 'deny');
    return `${body.length} bytes, answered ${status}`;
  });

  await scene('a subscription that the browser gave up is removed by the next push', async () => {
    await firefox.page.evaluate(async () => {
      const registration = await navigator.serviceWorker.ready;
      await (await registration.pushManager.getSubscription())?.unsubscribe();
    });
    const asked = ask('npm publish --tag late');
    await until('that no device is left', async () => ((await devices()).length === 0 ? true : null));
    const gone = await until('its outcome', async () =>
      (await newest())?.outcome === 'unreachable' ? newest() : null,
    );
    const { approvals } = await call<{ approvals: { id: string }[] }>('GET', '/api/factory/approvals?state=pending');
    await call('POST', `/api/factory/approvals/${approvals[0]!.id}/resolve`, { decision: 'reject' });
    await asked;
    return `the push service answered ${service.pushes.at(-1)?.status}; ${gone?.event} ${gone?.outcome}`;
  });

  // Puppeteer itself asks for eval once, which the page's policy forbids.
  const errors = firefox.errors.filter((error) => !error.includes('unsafe-eval'));
  assert.deepEqual(errors, [], 'the page reported errors');
}

async function scene(name: string, act: () => Promise<string>): Promise<void> {
  const began = performance.now();
  const said = await act().catch((error: unknown) => {
    console.log(`FAILED ${name}: ${error instanceof Error ? error.message : String(error)}`);
    throw error;
  });
  console.log(`ok ${name} (${((performance.now() - began) / 1000).toFixed(1)} s): ${said}`);
}

async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  const end = performance.now() + patienceMs;
  while (performance.now() < end) {
    const found = await look();
    if (found !== null && found !== undefined) return found;
    await delay(50);
  }
  throw new Error(`There was never ${what}.`);
}
