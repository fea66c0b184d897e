/** Traces of one computer's servers, as a collector of OTLP gets them: one trace over web, link and engine, and nothing that a caller could forge. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startCombined } from '../../../src/host/combined.ts';
import { placesIn } from '../../../src/host/places.ts';
import { readSettings } from '../../../src/host/settings.ts';
import { attributeKeys, noTelemetry, openTelemetry } from '../../../src/kit/telemetry/telemetry.ts';
import { scratchHome } from '../../host/support.ts';
import { attribute, type CollectedSpan, startCollector } from '../../support/otlp-collector.ts';
import { caller, onEnd } from '../http/support.ts';

async function start(endpoint: string) {
  const home = scratchHome();
  const env = {
    ...process.env,
    GANTRY_HOME: home,
    GANTRY_PORT: '0',
    GANTRY_ENGINE_PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  };
  const gantry = await startCombined({ env, settings: readSettings(env), gantry: 'npx gantry', answers: 'throw' });
  onEnd(() => gantry.close({ stopBots: true }));
  const token = readFileSync(placesIn(home).token, 'utf8').trim();
  return { home, token, call: caller(Number(new URL(gantry.origin).port), token) };
}

const principalOf = (span: CollectedSpan) => attribute(span, 'gantry.principal');

test('a call of a person is one trace over the web server, the link and the engine, and a header that lies is only linked to', async () => {
  const { spans, url } = await startCollector();
  const { call, token } = await start(url);
  const forged = '0af7651916cd43dd8448eb211c80319c';
  const prompt = 'canary-prompt +15550100';
  const send = { to: 'nobody@demo', text: prompt };
  const headers = { traceparent: `00-${forged}-b7ad6b7169203331-01` };
  await call('GET', '/api/factory/agents', { headers });
  await call('POST', '/api/factory/messages', { body: send, headers: { traceparent: 'x'.repeat(10_000) } });
  const ofAgents = () => spans.filter(({ name }) => name === 'GET /api/factory/agents');
  await expect.poll(() => ofAgents().map(principalOf).sort()).toEqual(['link', 'owner']);
  const [web, engine] = ['owner', 'link'].map((kind) => ofAgents().find((span) => principalOf(span) === kind)) as [
    CollectedSpan,
    CollectedSpan,
  ];
  expect(engine.traceId).toBe(web.traceId);
  expect(engine.parentSpanId).toBe(web.spanId);
  expect(web.traceId).not.toBe(forged);
  expect(web.parentSpanId ?? '').toBe('');
  expect(web.links?.map(({ traceId }) => traceId)).toEqual([forged]);
  const keys = new Set(spans.flatMap(({ attributes }) => attributes.map(({ key }) => key)));
  expect([...keys].filter((key) => !(attributeKeys as readonly string[]).includes(key))).toEqual([]);
  const all = JSON.stringify(spans);
  for (const secret of [token, 'canary-prompt', '15550100']) expect(all).not.toContain(secret);
});

test('an endpoint that never answers slows nothing, and a stop does not wait for it', async () => {
  const { url } = await startCollector({ hangs: true });
  const telemetry = await openTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, { name: 'test', version: '1' });
  const starting = { name: 'a', kind: 'server', attributes: {} } as const;
  for (let n = 0; n < 5000; n += 1) expect(await telemetry.span(starting, async () => n)).toBe(n);
  const ended = { name: 'b', attributes: {}, parent: null, from: 1, to: 2 };
  for (let n = 0; n < 5000; n += 1) telemetry.past({ ...ended, own: telemetry.reserve(null) });
  const dropped = () => telemetry.metrics[0]?.read();
  expect(dropped()).toBeGreaterThan(0);
  await telemetry.close();
});

test('batches that follow each other without a pause all arrive', async () => {
  const { spans, url } = await startCollector();
  const telemetry = await openTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, { name: 'test', version: '1' });
  onEnd(() => telemetry.close());
  const ended = { name: 'past', attributes: {}, parent: null, from: 1, to: 2 };
  for (let n = 0; n < 2000; n += 1) telemetry.past({ ...ended, own: telemetry.reserve(null) });
  await expect.poll(() => spans.length).toBe(2000);
  expect(telemetry.metrics[0]?.read()).toBe(0);
});

test('a flood of requests is traced by sample: whole traces or none, and what has none is counted', async () => {
  const { spans, url } = await startCollector();
  const telemetry = await openTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, { name: 'test', version: '1' });
  const server = { name: 'request', kind: 'server', attributes: {} } as const;
  const passedOn: (string | undefined)[] = [];
  for (let n = 0; n < 2000; n += 1) {
    await telemetry.span(server, async (outer) => {
      await telemetry.span({ name: 'part', kind: 'internal', attributes: {} }, async () => {});
      passedOn.push(outer?.traceparent);
    });
  }
  const behind = { ...server, name: 'behind', from: { traceparent: passedOn.at(-1) as string, trusted: true } };
  await telemetry.span(behind, async () => {});
  onEnd(() => telemetry.close());
  const named = (name: string) => spans.filter((span) => span.name === name);
  const untraced = Number(telemetry.metrics[1]?.read());
  expect(untraced).toBeGreaterThan(0);
  // The collector gets one batch after the other.
  await expect.poll(() => named('request').length).toBe(2000 - untraced);
  expect(new Set(named('part').map(({ parentSpanId }) => parentSpanId))).toEqual(
    new Set(named('request').map(({ spanId }) => spanId)),
  );
  expect(named('behind')).toEqual([]);
});

test('lines of the log that a traced request caused have its ids', async () => {
  const { url } = await startCollector();
  const telemetry = await openTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, { name: 'test', version: '1' });
  onEnd(() => telemetry.close());
  const start = { name: 'a', kind: 'server', attributes: {} } as const;
  expect(telemetry.ids()).toBeNull();
  const inside = await telemetry.span(start, async (span) => ({ span, ids: telemetry.ids() }));
  expect(inside.span?.traceparent).toBe(`00-${inside.ids?.trace_id}-${inside.ids?.span_id}-01`);
});

test('an endpoint that is no web address is refused by its name, before anything is opened', async () => {
  for (const OTEL_EXPORTER_OTLP_ENDPOINT of ['127.0.0.1:4318', 'ftp://127.0.0.1', 'http://']) {
    await expect(openTelemetry({ OTEL_EXPORTER_OTLP_ENDPOINT }, { name: 'test', version: '1' })).rejects.toMatchObject({
      code: 'usage',
      fact: expect.stringMatching(/^OTEL_EXPORTER_OTLP_ENDPOINT is not a web address: /),
    });
  }
});

test('without an endpoint nothing is traced and nothing of OpenTelemetry is loaded', async () => {
  expect(await openTelemetry({}, { name: 'test', version: '1' })).toBe(noTelemetry);
  expect(
    await openTelemetry(
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' },
      { name: 'test', version: '1' },
    ),
  ).toBe(noTelemetry);
  const folder = join(import.meta.dirname, '../../../src/kit/telemetry');
  const importers = readdirSync(folder).filter((name) =>
    readFileSync(join(folder, name), 'utf8').includes("from '@opentelemetry"),
  );
  expect(importers).toEqual(['open-telemetry.ts']);
  expect(readFileSync(join(folder, 'telemetry.ts'), 'utf8')).not.toMatch(/^import .*open-telemetry/m);
});
