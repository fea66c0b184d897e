/**
 * What a cluster's autoscaler asks a cloud through the aggregation layer, over TLS with the client certificates of a front proxy: who is let in, and
 * what is answered. `npm run test:cluster` asks the same with a real API server.
 */
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { externalMetricRoutes } from '../../src/contracts/metrics/external.ts';
import { readCloudSettings } from '../../src/host/cloud-settings.ts';
import { personWith, startPeople } from '../cloud-api/identity/support.ts';
import { freePort } from '../support/free-port.ts';
import { forged, frontProxy, frontProxyAuthority, serving, stranger } from '../support/front-proxy-certificates.ts';
import { signInAs } from '../support/oidc-provider.ts';
import { scratchFolder } from '../support/scratch.ts';

const base = '/apis/external.metrics.k8s.io/v1beta1';

interface Asked {
  readonly client?: { readonly cert: string; readonly key: string } | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** As the API server asks: for a user whom it names, at an address that is no public name. */
function ask(port: number, path: string, { client = frontProxy, headers = { 'x-remote-user': 'hpa' } }: Asked = {}) {
  return new Promise<{ status: number; json: Record<string, unknown> }>((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, ca: serving.authority, agent: false, headers, ...client };
    const sent = request(options, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, json: JSON.parse(text) }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function start(names: readonly string[] = ['front-proxy-client']) {
  const port = await freePort();
  const cluster = {
    listen: { host: '127.0.0.1', port },
    certificate: serving.cert,
    key: serving.key,
    authority: frontProxyAuthority,
    names,
  };
  const people = await startPeople({ settings: { cluster } });
  const ada = await personWith(people, await signInAs('ada', people.origin));
  const add = async (body: Record<string, unknown>) =>
    expect((await ada.call('POST', '/beta/work', { body: { payload: {}, ...body } })).status).toBe(201);
  const value = async (metric: string, selector = '') => {
    const { status, json } = await ask(
      port,
      `${base}/namespaces/gantry/${metric}?labelSelector=${encodeURIComponent(selector)}`,
    );
    expect([metric, status, json]).toEqual([metric, 200, expect.objectContaining({ kind: 'ExternalMetricValueList' })]);
    const items = json.items as { metricName: string; value: string }[];
    expect(items).toEqual([expect.objectContaining({ metricName: metric })]);
    return items[0]!.value;
  };
  return { port, people, ada, add, value };
}

test('only the certificate of the front proxy is let in, and only where it says for whom it asks', async () => {
  const { port } = await start();
  const paths = externalMetricRoutes.map(({ path }) => path.replace(/:\w+/g, 'gantry_work_tasks'));
  const refused: Asked[] = [
    { client: null },
    { client: stranger },
    { client: forged },
    { headers: {} },
    { client: null, headers: { 'x-remote-user': 'hpa', 'x-remote-group': 'system:masters' } },
  ];
  for (const path of paths) {
    expect((await ask(port, path)).status).toBe(200);
    for (const asked of refused) expect([asked, (await ask(port, path, asked)).status]).toEqual([asked, 401]);
  }
});

test('a cluster that names no front proxy takes any certificate of its authority, and no other', async () => {
  const { port } = await start([]);
  expect((await ask(port, base, { client: stranger })).status).toBe(200);
  expect((await ask(port, base, { client: forged })).status).toBe(401);
});

test('the port for the cluster serves nothing else, and the port for people not these', async () => {
  const { port, people } = await start();
  for (const path of ['/api/v1/health', '/metrics', '/', '/apis'])
    expect([path, (await ask(port, path)).status]).toEqual([path, 404]);
  expect((await people.call('GET', base, { token: people.internalToken })).status).toBe(404);
});

test('what the API server’s clients add to a question is no reason to refuse it', async () => {
  const { port } = await start();
  for (const { path } of externalMetricRoutes) {
    const asked = `${path.replace(/:\w+/g, 'gantry_work_tasks')}?timeout=32s&fieldManager=kubectl`;
    expect([asked, (await ask(port, asked)).status]).toEqual([asked, 200]);
  }
});

test('it lists the figures that it has, and refuses another one by name', async () => {
  const { port, value } = await start();
  const { json } = await ask(port, base);
  const names = (json.resources as { name: string }[]).map(({ name }) => name);
  expect(names).toContain('gantry_work_tasks');
  for (const name of names) expect(await value(name)).toMatch(/^\d+m?$/);
  const { status, json: error } = await ask(port, `${base}/namespaces/gantry/gantry_links`);
  expect([status, error.message]).toEqual([404, expect.stringContaining('gantry_links')]);
});

test('tasks are counted by their state and by the labels that they ask of a worker', async () => {
  const { ada, add, value } = await start();
  for (const labels of [{ gpu: 'a100' }, { gpu: 'a100' }, { gpu: 'h100', zone: 'eu' }]) await add({ labels });
  await add({});
  expect(await value('gantry_work_tasks', 'state in (queued,leased,running)')).toBe('4');
  expect(await value('gantry_work_tasks_by_label')).toBe('4');
  expect(await value('gantry_work_tasks_by_label', 'gpu=a100')).toBe('2');
  expect(await value('gantry_work_tasks_by_label', 'gpu')).toBe('3');
  expect(await value('gantry_work_tasks_by_label', '!gpu')).toBe('1');
  expect(await value('gantry_work_tasks_by_label', 'gpu!=a100,zone in (eu, us)')).toBe('1');
  expect(await value('gantry_work_tasks_by_label', 'gpu notin (a100,h100)')).toBe('1');
  const leased = await ada.call('GET', '/beta/work/queue?worker_id=w1&wait=0&labels=gpu%3Da100&images=none');
  expect(leased.text).toContain('"gpu":"a100"');
  expect(await value('gantry_work_tasks_by_label', 'gpu=a100')).toBe('2');
  expect(await value('gantry_work_tasks_by_label', 'gpu=a100,gantry.dev/state=queued')).toBe('1');
  expect(await value('gantry_work_tasks', 'state=leased')).toBe('1');
});

test('the age is that of the oldest task, not the sum over its kinds', async () => {
  const { people, add, value } = await start();
  await add({ labels: { gpu: 'a100' } });
  people.clock.move(60_000);
  await add({ labels: { gpu: 'h100' } });
  people.clock.move(30_000);
  expect(Number.parseInt(await value('gantry_work_oldest_seconds_by_label', 'gpu=h100'), 10)).toBeGreaterThanOrEqual(
    30,
  );
  const oldest = await value('gantry_work_oldest_seconds_by_label');
  const ms = oldest.endsWith('m') ? Number.parseInt(oldest, 10) : Number(oldest) * 1000;
  expect([ms >= 90_000, ms < 120_000]).toEqual([true, true]);
});

test('a selector that cannot be read is refused with its text', async () => {
  const { port } = await start();
  for (const selector of ['gpu in a100', '=a', 'a=b c=d', 'x in (a']) {
    const path = `${base}/namespaces/gantry/gantry_work_tasks?labelSelector=${encodeURIComponent(selector)}`;
    const { status, json } = await ask(port, path);
    expect([selector, status, json.message]).toEqual([selector, 400, expect.stringContaining(selector)]);
  }
});

test('the port is set by two variables, and what is missing in the folder stops the start by name', () => {
  const folder = scratchFolder();
  const people = {
    GANTRY_BASE_URL: 'https://g.example',
    GANTRY_OIDC_ISSUER: 'https://id.example',
    GANTRY_OIDC_CLIENT_ID: 'g',
  };
  const env = { ...people, GANTRY_CLUSTER_LISTEN: '0.0.0.0:3443', GANTRY_CLUSTER_TLS: folder };
  expect(readCloudSettings(people).cluster).toBeNull();
  expect(() => readCloudSettings({ ...env, GANTRY_CLUSTER_TLS: '' })).toThrow('GANTRY_CLUSTER_TLS is not');
  const files = {
    'tls.crt': serving.cert,
    'tls.key': serving.key,
    'requestheader-client-ca-file': frontProxyAuthority,
    'requestheader-allowed-names': '["front-proxy-client"]',
  };
  for (const [name, text] of Object.entries(files)) {
    expect(() => readCloudSettings(env)).toThrow(name);
    writeFileSync(join(folder, name), text);
  }
  expect(readCloudSettings(env).cluster).toEqual({
    listen: { host: '0.0.0.0', port: 3443 },
    certificate: serving.cert,
    key: serving.key,
    authority: frontProxyAuthority,
    names: ['front-proxy-client'],
  });
  writeFileSync(join(folder, 'requestheader-allowed-names'), 'front-proxy-client');
  expect(() => readCloudSettings(env)).toThrow('is not a list of names');
  expect(() => readCloudSettings({ ...env, GANTRY_CLUSTER_LISTEN: '3443' })).toThrow('GANTRY_CLUSTER_LISTEN');
});
