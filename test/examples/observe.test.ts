/**
 * The example of Prometheus and Grafana: its rules by promtool, and each query of the board by a Prometheus that scrapes a Gantry, a worker's figures
 * and a computer host's. Grafana is not run.
 */
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startCombined } from '../../src/host/combined.ts';
import { placesIn } from '../../src/host/places.ts';
import { readSettings } from '../../src/host/settings.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { serveMetrics } from '../../src/kit/metrics/serve-metrics.ts';
import { computerHostMetrics } from '../../src/programs/computer-host/metrics.ts';
import { createWorkerMetrics } from '../../src/programs/worker/metrics.ts';
import { scratchHome } from '../host/support.ts';
import { onEnd } from '../kit/http/support.ts';
import { freePort } from '../support/free-port.ts';
import { scratchFolder } from '../support/scratch.ts';

const example = join(import.meta.dirname, '../../examples/observe');
const isThere = ['promtool', 'prometheus'].every((name) => spawnSync(name, ['--version']).status === 0);
const why = isThere ? '' : ' (skipped: promtool and prometheus are not installed)';
const withPrometheus = test.skipIf(why !== '');
const log = { warn() {}, error() {} };

interface Board {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}
const board = JSON.parse(readFileSync(join(example, 'grafana-board.json'), 'utf8')) as Board;
const queries = board.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })));

withPrometheus(`promtool accepts the rules and the configuration, and the rules fire as their test says${why}`, () => {
  const folder = scratchFolder();
  for (const name of ['alerts.yml', 'alerts.test.yml', 'prometheus.yml']) {
    copyFileSync(join(example, name), join(folder, name));
  }
  for (const args of [
    ['check', 'rules', 'alerts.yml'],
    ['test', 'rules', 'alerts.test.yml'],
    ['check', 'config', '--syntax-only', 'prometheus.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' });
    expect([args.join(' '), status, status === 0 ? '' : stdout + stderr]).toEqual([args.join(' '), 0, '']);
  }
});

withPrometheus(`each query of the board is answered with data, and each rule can be asked${why}`, async () => {
  const home = scratchHome();
  const env = { ...process.env, GANTRY_HOME: home, GANTRY_PORT: '0', GANTRY_ENGINE_PORT: '0' };
  const gantry = await startCombined({ env, settings: readSettings(env), gantry: 'npx gantry', answers: 'throw' });
  onEnd(() => gantry.close({ stopBots: true }));
  const folder = scratchFolder();
  const worker = await createWorkerMetrics({ concurrency: 4, version: '1', note() {} }).serve({
    port: 0,
    tokenFile: join(folder, 'worker', 'token'),
    now: systemClock.now,
  });
  onEnd(() => worker.close());
  const computers = await serveMetrics({
    port: 0,
    tokenFile: join(folder, 'computer-host-token'),
    metrics: computerHostMetrics({ list: () => [], warm: () => null }, { most: 20, version: '1' }),
    clock: systemClock,
    log,
  });
  onEnd(() => computers.close());
  expect(statSync(join(folder, 'worker', 'token')).mode & 0o777).toBe(0o600);
  expect((await fetch(worker.url)).status).toBe(401);

  const job = (name: string, token: string, urls: readonly string[]) =>
    `  - job_name: ${name}\n    authorization: { credentials_file: ${token} }\n    static_configs:\n      - targets: ${JSON.stringify(urls.map((url) => new URL(url).host))}\n`;
  writeFileSync(
    join(folder, 'prometheus.yml'),
    `global: { scrape_interval: 1s, evaluation_interval: 1s }\nrule_files: [${join(example, 'alerts.yml')}]\nscrape_configs:\n` +
      job('gantry', placesIn(home).token, [gantry.origin, gantry.engineUrl]) +
      job('gantry-worker', join(folder, 'worker', 'token'), [worker.url]) +
      job('gantry-computer-host', join(folder, 'computer-host-token'), [computers.url]),
  );
  const port = await freePort();
  const prometheus = spawn(
    'prometheus',
    ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`],
    { cwd: folder, stdio: 'ignore' },
  );
  onEnd(() => {
    prometheus.kill('SIGKILL');
  });
  const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json() as never;

  /** What has no data yet; a rate needs two scrapes. */
  const without = async () => {
    const missing: string[] = [];
    for (const { title, expr } of queries) {
      const query = encodeURIComponent(expr.replaceAll('$instance', '.*'));
      const { status, data } = (await ask(`query?query=${query}`)) as Answer;
      if (status !== 'success' || data.result.length === 0) missing.push(`${title}: ${expr}`);
    }
    return missing;
  };
  await expect.poll(() => without().catch(String), { timeout: 60_000, interval: 500 }).toEqual([]);
  const { data } = (await ask('rules')) as Rules;
  const rules = data.groups.flatMap((group) => group.rules);
  expect(rules.length).toBeGreaterThan(10);
  expect(rules.filter(({ lastError }) => lastError !== undefined)).toEqual([]);
  expect(rules.filter(({ state }) => state === 'firing')).toEqual([]);
});

interface Answer {
  readonly status: string;
  readonly data: { readonly result: readonly unknown[] };
}
interface Rules {
  readonly data: {
    readonly groups: readonly { readonly rules: readonly { readonly state: string; readonly lastError?: string }[] }[];
  };
}
