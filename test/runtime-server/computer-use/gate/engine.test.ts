/** The whole way on a person's computer: engine, gate, policy, approvals desk, executor, Chromium, a local page. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { handsChecks } from '../../../../src/host/runtime-checks.ts';
import { findChromium } from '../../../../src/kit/process/find-chromium.ts';
import { keepUntilEnd, onEnd } from '../../../support/at-end.ts';
import { CallError } from '../../../support/bench/http.ts';
import { scratchHome, startProduct } from '../../../support/bench/product.ts';
import { at } from './rig.ts';

const stop = keepUntilEnd();
afterAll(stop);

const chromium = findChromium(process.env);
if ('missing' in chromium) console.warn(`Not run: ${chromium.missing}`);
const listener = '/api/v1/computers/this-device/toolset';

test.skipIf('missing' in chromium)(
  'a picture is free; a click asks, and once a person has said yes it is done',
  async () => {
    const clicks: string[] = [];
    const site = createServer((request, response) => {
      if (request.method === 'POST') clicks.push(String(request.url));
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(
        '<title>Form</title><button style="width:200px;height:100px" onclick="fetch(`/sent`, {method: `POST`})">Send</button>',
      );
    });
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    onEnd(
      () =>
        new Promise<void>((resolve) => {
          site.closeAllConnections();
          site.close(() => resolve());
        }),
    );
    const { port } = site.address() as AddressInfo;
    const place = scratchHome();
    onEnd(() => place.remove());
    mkdirSync(join(place.workspace, '.gantry'), { recursive: true });
    const rule = `rules:\n  - when: { tool: browser, member: navigate, host: '127.0.0.1:${port}' }\n    then: allow\n`;
    writeFileSync(join(place.workspace, '.gantry', 'policy.yaml'), rule);
    const product = await startProduct(place);
    onEnd(() => product.stop());
    const call = (member: string, input: object, more: object = {}) =>
      product.engine.call<{ is_error: boolean; content: { type: string; data?: string }[]; error?: { code: string } }>(
        'POST',
        listener,
        {
          toolset: 'browser',
          member,
          input,
          ...more,
        },
      );

    expect((await call('navigate', { url: `http://127.0.0.1:${port}/` })).is_error).toBe(false);
    const picture = await call('screenshot', {});
    expect(picture.content.find(({ type }) => type === 'image')?.data?.length).toBeGreaterThan(1000);
    const asked = await call('left_click', at(60, 50)).catch((error: unknown) => error);
    expect(asked).toBeInstanceOf(CallError);
    expect(asked).toMatchObject({ status: 409 });
    expect(clicks).toEqual([]);

    const approvals = await expect
      .poll(async () => (await product.web.call<{ approvals: Question[] }>('GET', '/api/factory/approvals')).approvals)
      .toHaveLength(1)
      .then(() => product.web.call<{ approvals: Question[] }>('GET', '/api/factory/approvals'));
    const [question] = approvals.approvals;
    expect(question).toMatchObject({
      source: 'executor',
      kind: 'tool_call',
      title: 'Click button "Send"',
      risk: 'medium',
    });
    expect(question?.summary).toContain(`page: http://127.0.0.1:${port}/`);
    await product.web.call('POST', `/api/factory/approvals/${question!.id}/resolve`, { decision: 'approve' });
    const grant = { approval_grant: question!.id };
    await expect.poll(() => call('left_click', at(60, 50), grant).catch(() => null)).toMatchObject({ is_error: false });
    await expect.poll(() => clicks).toEqual(['/sent']);
    await expect(call('left_click', at(60, 50), grant)).rejects.toMatchObject({ status: 409 });

    // Gantry's own doors, and files, whatever the rules say.
    for (const url of [product.origin, product.engineUrl, 'file:///etc/passwd', 'http://10.0.0.1/']) {
      expect(await call('navigate', { url })).toMatchObject({ is_error: true, error: { code: 'navigation_refused' } });
    }
    expect(clicks).toEqual(['/sent']);
  },
  120_000,
);

interface Question {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
}

test('the doctor says which browser and display there are, and what to do about one that is missing', () => {
  const found = handsChecks({ PATH: process.env.PATH, CHROMIUM: process.execPath, DISPLAY: ':7' }, 'linux');
  expect(found.map(({ name, state }) => [name, state])).toEqual([
    ['Browser', 'ok'],
    ['Display', 'ok'],
  ]);
  const none = handsChecks({ PATH: '/nowhere' }, 'linux');
  expect(none.map(({ name, state, fix }) => [name, state, fix !== null])).toEqual([
    ['Browser', 'missing', true],
    ['Display', 'missing', true],
  ]);
  expect(handsChecks({ PATH: '/nowhere' }, 'darwin')[1]).toMatchObject({ state: 'missing', fix: null });
});
