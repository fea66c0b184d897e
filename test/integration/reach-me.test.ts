/**
 * The whole way of "reach me", scaled down: a cloud of many and two computers in one process, a wire between that can be cut, a
 * real provider, a real push service. `npm run test:reach` plays it with namespaces, Firefox and Claude Code.
 */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Approval } from '../../src/contracts/approvals/approval.ts';
import type { Agent } from '../../src/contracts/factory/agent.ts';
import type { PushPayload } from '../../src/contracts/notifications/push.ts';
import { type People, type Person, personWith, startPeople } from '../cloud-api/identity/support.ts';
import { computersOf, type Installation, pairUp, startInstallation } from '../host/paired-support.ts';
import { scratchHome } from '../host/support.ts';
import { type Call, keepUntilEnd } from '../kit/http/support.ts';
import { type CutProxy, startCutProxy } from '../support/cut-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { signInAs } from '../support/oidc-provider.ts';
import { type PushService, startPushService } from '../support/push-service.ts';

let service: PushService;
let wire: CutProxy;
let down = false;
let people: People;
let here: Installation;
let there: Installation;
const stop = keepUntilEnd();

beforeAll(async () => {
  service = await startPushService();
  const port = await freePort();
  wire = await startCutProxy({ target: { host: '127.0.0.1', port }, cutAfter: () => (down ? 0 : null) });
  people = await startPeople({
    port,
    baseUrl: `http://127.0.0.1:${wire.port}`,
    settings: { push: { vapid: null, subject: null, allow: [`127.0.0.1:${service.port}`] } },
  });
  const home = scratchHome();
  const team = join(home, 'ws', '.gantry', 'teams', 'far');
  mkdirSync(team, { recursive: true });
  writeFileSync(join(team, 'team.yaml'), 'bots:\n  - bot: ops\n    harness: shell\n');
  [here, there] = await Promise.all([startInstallation({ home }), startInstallation()]);
});
afterAll(async () => {
  await stop();
  await wire.close();
  await service.close();
});

const name = 'a person signs in, pairs two computers, works on the other one through a cut, and answers it from a push';
// Long only where the machine has no time: it waits for programs and links.
test(name, { timeout: 120_000 }, async () => {
  // The person's browser is not behind the wire that is cut.
  const direct: Call = (method, path, options = {}) =>
    people.call(method, path, { ...options, headers: { host: new URL(people.origin).host, ...options.headers } });
  const ada: Person = await personWith({ call: direct }, await signInAs('ada', people.origin));
  const paired = await pairUp(here, people, ada);
  const { computerId: away } = await pairUp(there, people, ada);
  expect(await computersOf(ada)).toMatchObject([
    { state: 'linked', default: true, id: paired.computerId },
    { state: 'linked', default: false, id: away },
  ]);
  const device = service.device();
  const subscribed = await ada.call('POST', '/api/v1/push/subscriptions', { body: device.subscription });
  expect(subscribed.status).toBe(201);

  const up = await ada.call('POST', '/api/factory/teams/far/up', { body: { on: away } });
  expect(up.json).toMatchObject({ applied: true });
  const bot = async () =>
    ((await ada.call('GET', '/api/factory/agents?team=far')).json as never as { agents: Agent[] }).agents[0];
  await expect.poll(async () => (await bot())?.state).toBe('idle');
  const first = await bot();
  expect(first).toMatchObject({ machine: away, runner: `remote:${away}`, pane: { attachable: true } });
  const at = `/api/factory/agents/${first!.id}`;

  const text = async () => (await ada.call('GET', `${at}/capture?lines=50`)).text;
  const type = async (line: string) => {
    const reply = await ada.call('POST', `${at}/input`, { body: { text: line, keys: ['Enter'] } });
    expect([reply.status, reply.text]).toMatchObject([200, expect.anything()]);
  };
  const screens: string[] = [];
  const watching = new AbortController();
  void watch(`${people.origin}${at}/stream`, ada.cookie, watching.signal, (screen) => screens.push(screen));
  await type('echo before-$((20 + 1))');
  await expect.poll(() => screens.some((screen) => screen.includes('before-21'))).toBe(true);
  const asks = 'gantry gate check shell.exec --wait 600 --command "touch made" --reason "to prove it" && touch made';
  await type(`for n in $(seq 20); do echo tick-$n; sleep 0.1; done; ${asks}`);
  await expect.poll(() => screens.at(-1)).toContain('tick-1');

  down = true;
  wire.cutAll();
  await expect.poll(async () => (await computersOf(ada)).map(({ state }) => state)).toEqual(['away', 'away']);
  const cut = await ada.call('GET', `${at}/capture`);
  expect([cut.status, cut.text]).toMatchObject([502, expect.stringContaining('transport')]);
  // The bot works on, and asks while nobody can hear it; only whoever sits there sees that.
  const waiting = async () => (await there.web('GET', '/api/factory/approvals?state=pending')).json as never;
  await expect.poll(waiting).toMatchObject({ approvals: [{ source: 'gate' }] });
  expect(device.received).toEqual([]);
  down = false;
  await expect.poll(async () => (await computersOf(ada)).map(({ state }) => state)).toEqual(['linked', 'linked']);
  // Nothing was lost in the pane, and the page's stream goes on by itself.
  await expect.poll(() => screens.at(-1)).toContain('tick-20');
  expect(await text()).toMatch(/tick-1\b[\s\S]*tick-20/);

  await expect.poll(() => device.received.length, { timeout: 40_000 }).toBe(1);
  const push = JSON.parse(device.received[0]!) as PushPayload;
  expect(push).toMatchObject({ type: 'event', data: { event: 'approval.requested', botId: expect.anything() } });
  const made = () => existsSync(join(there.home, 'peers', ada.id, 'far', 'made'));
  expect(made()).toBe(false);
  // What a notification's button does: without a cookie, the token is the credential.
  const pressed = await direct('POST', `/api/v1/push/actions/${push.data.approve}`, { body: { decision: 'approve' } });
  expect(pressed.json).toMatchObject({ decision: 'approve', approvalId: push.data.approvalId });
  await expect.poll(made).toBe(true);
  await expect
    .poll(async () => {
      const { approvals } = (await ada.call('GET', '/api/factory/approvals')).json as never as {
        approvals: Approval[];
      };
      return approvals.map(({ decision, resolvedBy, appliedAt }) => [
        decision,
        resolvedBy?.surface,
        appliedAt !== null,
      ]);
    })
    .toEqual([['approve', 'push', true]]);
  watching.abort();
});

/** As a page does: comes back by itself when the stream ends. */
async function watch(url: string, cookie: string, signal: AbortSignal, onScreen: (ansi: string) => void) {
  while (!signal.aborted) {
    try {
      const response = await fetch(url, { headers: { cookie }, signal });
      let rest = '';
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        const blocks = (rest + chunk).split('\n\n');
        rest = blocks.pop()!;
        for (const block of blocks) {
          if (!/^event: screen$/m.test(block)) continue;
          const data = /^data: (.*)$/m.exec(block)?.[1];
          if (data !== undefined) onScreen((JSON.parse(data) as { ansi: string }).ansi);
        }
      }
    } catch {
      // Cut: again.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
