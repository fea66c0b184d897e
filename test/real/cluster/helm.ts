/** The Helm chart with what Helm is made of, and its objects as the cluster's API server takes them. Helm is not run: Debian has no package of it. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { combinations, enabled, objectsIn, renderChart, switches } from '../../support/helm/chart.ts';
import { buildEngine, noEngine } from '../../support/helm/engine.ts';
import type { Scenes } from '../scenes.ts';
import type { Stage } from './stage.ts';

/** Its own, so that the bases that are installed stay as they are. */
const namespaces = { cloud: 'gantry-helm', workers: 'gantry-helm-workers', computers: 'gantry-helm-computers' };
/** Of values that are misspelt or of another type, what is refused. */
const wrong: readonly (readonly [values: object, said: string])[] = [
  [{ worker: { replicas: 3 } }, '(root): Additional property worker is not allowed'],
  [{ cloud: { replica: 3 } }, 'cloud: Additional property replica is not allowed'],
  [{ workerJobs: { enabled: 'yes' } }, 'workerJobs.enabled: Invalid type. Expected: boolean, given: string'],
  [
    { cloud: { settings: { GANTRY_COMPUTERS_MEMORY: 1024 } } },
    'cloud.settings.GANTRY_COMPUTERS_MEMORY: Invalid type. Expected: string, given: integer',
  ],
  [
    { cloud: { settings: { DATABASE_URL: 'postgres://x' } } },
    'cloud.settings: Property name of "DATABASE_URL" does not match',
  ],
];

export async function playHelm(stage: Pick<Stage, 'folder' | 'clone' | 'kubectl'>, scene: Scenes['scene']) {
  const why = noEngine();
  if (why !== null) {
    console.log(`SKIPPED, the Helm chart was not tried: ${why}`);
    return;
  }
  const { kubectl } = stage;
  const chart = join(stage.clone, 'deploy/helm/gantry');
  const engine = buildEngine(join(stage.folder, 'helm'));
  const own = (await kubectl('api-versions')).trim().split('\n');

  await scene('text/template and sprig render what the tests’ renderer renders', async () => {
    const clusters = [own, [...own, 'policy/v1', 'autoscaling/v2']];
    let count = 0;
    for (const [name, names] of combinations)
      for (const api of clusters) {
        const { refused, templates, objects } = engine(chart, enabled(names), api);
        const small = renderChart(chart, enabled(names), api);
        assert.deepEqual(refused, [], name);
        assert.deepEqual(templates, Object.fromEntries(small), name);
        assert.deepEqual(sorted(objects), sorted(objectsIn(small)), name);
        count += objects.length;
      }
    const ways = combinations.length * clusters.length;
    return `${ways} ways to install it, letter by letter, and the ${count} objects in them`;
  });

  await scene('Helm’s validator refuses values that the chart does not know, with their names', async () => {
    for (const [values, said] of wrong) {
      const { refused } = engine(chart, values, own);
      assert.ok(
        refused.some((one) => one.includes(said)),
        `${JSON.stringify(values)}: ${refused.join('; ')}`,
      );
    }
    return wrong.map(([, said]) => said).join('; ');
  });

  await scene('the API server takes every object of the chart', async () => {
    const { objects } = engine(chart, { ...enabled(switches), namespaces }, own);
    const file = join(stage.folder, 'helm/objects.json');
    const write = (items: readonly object[]) =>
      writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    // Nothing can be tried in a namespace that is not there.
    write(objects.filter(({ kind }) => kind === 'Namespace'));
    try {
      await kubectl(`apply -f ${file}`);
      write(objects);
      const said = (await kubectl(`apply --dry-run=server -f ${file}`)).trim().split('\n');
      assert.equal(said.filter((line) => / \(server dry run\)$/.test(line)).length, objects.length, said.join('\n'));
      const versions = new Set(objects.map(({ apiVersion }) => apiVersion));
      return `${said.length} objects of ${[...versions].toSorted().join(', ')}, in a dry run of the server`;
    } finally {
      await kubectl(`delete namespace ${Object.values(namespaces).join(' ')} --ignore-not-found`);
    }
  });
}

const sorted = (objects: readonly object[]) => objects.map((one) => JSON.stringify(inOrder(one))).toSorted();

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, inOrder(one)]));
}
