/** The Helm chart in deploy/helm/gantry, held against what Kustomize makes of the bases with the same settings, and against the API's schemas. */
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { chartFolder, chartTemplates, leftOut, madeFolders } from '../../../scripts/helm-chart.ts';
import { blocksOf, root, textOf } from '../../docs/blocks.ts';
import {
  combinations,
  enabled,
  objectsIn,
  refusals,
  renderChart,
  type Switch,
  switches,
} from '../../support/helm/chart.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { hasKubectl, type KubernetesObject, kubernetesFolder, renderExample } from '../kubernetes/rendered.ts';
import { apis } from '../kubernetes/schemas.ts';

const components: Readonly<Record<Switch, string>> = {
  computers: 'computers',
  autoscaling: 'autoscaling',
  workerJobs: 'worker-jobs',
};
const clusters = {
  '1.20': ['v1', 'apps/v1', 'policy/v1beta1', 'autoscaling/v1', 'autoscaling/v2beta2'],
  newest: ['v1', 'apps/v1', 'policy/v1', 'autoscaling/v1', 'autoscaling/v2'],
} as const;
type Cluster = keyof typeof clusters;

const chart = (values: object, cluster: Cluster = 'newest', folder = chartFolder) =>
  objectsIn(renderChart(folder, values as Record<string, unknown>, clusters[cluster]));

/**
 * Kustomize puts a hash of a ConfigMap into its name, the chart one into an annotation of the Pods that use it: both replace the Pods when a setting
 * changes. The account `default` is the cluster's own.
 */
function comparable(objects: readonly KubernetesObject[]): Record<string, unknown> {
  const compared = objects
    .filter(({ kind, metadata: { name } }) => !(kind === 'ServiceAccount' && name === 'default'))
    .map((object) => {
      const text = JSON.stringify(object).replaceAll(/"(gantry-(?:cloud|worker))-[a-z0-9]{10}"/g, '"$1"');
      const one = JSON.parse(text) as KubernetesObject;
      if (one.kind === 'Deployment') delete one.spec.template.metadata.annotations;
      return [`${one.kind} ${one.metadata.namespace ?? ''} ${one.metadata.name}`, one] as const;
    });
  expect(new Set(compared.map(([name]) => name)).size).toBe(compared.length);
  return Object.fromEntries(compared.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

test('its templates are what the bases say; if this fails, run: npm run references', () => {
  const made = chartTemplates();
  expect(made.size).toBeGreaterThan(20);
  const written = madeFolders.flatMap((name) =>
    globSync(`templates/${name}/**`, { cwd: chartFolder, withFileTypes: true }),
  );
  const files = written
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name).slice(chartFolder.length + 1));
  expect(files.toSorted()).toEqual([...made.keys()].toSorted());
  for (const [file, text] of made) expect(readFileSync(join(chartFolder, file), 'utf8'), file).toBe(text);
});

test('a base that has changed changes its template, and what the script does not understand stops it', () => {
  const folder = scratchFolder();
  cpSync(kubernetesFolder, folder, { recursive: true });
  const edit = (file: string, from: string, to: string) => {
    const text = readFileSync(join(folder, file), 'utf8');
    expect(text).toContain(from);
    writeFileSync(join(folder, file), text.replace(from, to));
  };
  expect(chartTemplates(folder)).toEqual(chartTemplates());
  edit('cloud/service.yaml', 'port: 80', 'port: 8080');
  expect(chartTemplates(folder).get('templates/cloud/service.yaml')).toContain('port: 8080');
  edit('components/computers/cloud.yaml', 'automountServiceAccountToken: true', 'hostNetwork: true');
  expect(() => chartTemplates(folder)).toThrow(
    'cloud/deployment.yaml: no patch of hostNetwork that this script knows.',
  );
});

describe.skipIf(!hasKubectl)('beside Kustomize (needs kubectl)', () => {
  for (const cluster of Object.keys(clusters) as Cluster[])
    test.each(combinations)(`for ${cluster}, it renders the objects of the bases with %s enabled`, (_title, used) => {
      const overlay = renderExample([
        ...used.map((name) => components[name]),
        ...(cluster === '1.20' ? ['kubernetes-1.20'] : []),
      ]);
      const objects = chart(enabled(used), cluster);
      expect(comparable(objects)).toEqual(comparable(overlay));
      expect(objects.flatMap(apis[cluster])).toEqual([]);
      // Beyond what is allowed to differ, nothing is left out.
      expect(overlay.length - objects.length).toBe(used.includes('computers') ? leftOut.length : 0);
    });

  test('settings, images and numbers lead to what an overlay with the same ones renders', () => {
    const settings = {
      GANTRY_BASE_URL: 'https://work.example:8443',
      GANTRY_OIDC_ISSUER: 'https://id.example',
      GANTRY_OIDC_CLIENT_ID: 'yes',
      GANTRY_TRUSTED_PROXY: '10.0.0.1,10.0.0.2',
      GANTRY_COMPUTERS_MEMORY: '1024',
    };
    const literals = Object.entries(settings).map(([name, value]) => `      - "${name}=${value}"\n`);
    const overlay = renderExample([], (text) =>
      text
        .replace('    envs: [cloud.env]\n', `    literals:\n${literals.join('')}`)
        .replaceAll('newTag: latest', 'newTag: "7"')
        .replace('newName: gantry-cloud', 'newName: registry.example/gantry-cloud')
        .concat('replicas:\n  - { name: gantry-cloud, count: 5 }\n'),
    );
    const objects = chart({
      cloud: { image: 'registry.example/gantry-cloud:7', replicas: 5, settings },
      workers: { image: 'gantry-worker:7' },
    });
    expect(comparable(objects)).toEqual(comparable(overlay));
  });
});

test('a changed setting replaces the Pods that use it, and no others', () => {
  const hashes = (values: object) =>
    chart(values)
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ spec }) => spec.template.metadata.annotations['checksum/settings'] as string);
  const [cloud, worker] = hashes({});
  expect([cloud, worker]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)]);
  const changed = hashes({ cloud: { settings: { GANTRY_TRUSTED_PROXY: '10.1.0.0/16' } } });
  expect(changed).toEqual([expect.not.stringMatching(cloud!), worker]);
});

test('everything is in the namespaces of the values, which it makes unless they exist', () => {
  const namespaces = { cloud: 'one', workers: 'two', computers: 'three' };
  const usual = chart(enabled(switches));
  const objects = chart({ ...enabled(switches), namespaces });
  const given: Readonly<Record<string, string>> = {
    gantry: 'one',
    'gantry-workers': 'two',
    'gantry-computers': 'three',
  };
  expect(objects.map(({ metadata }) => metadata.namespace)).toEqual(
    usual.map(({ metadata: { namespace } }) => (namespace === undefined ? undefined : given[namespace])),
  );
  const text = JSON.stringify(objects);
  expect(text).toContain('http://gantry-cloud.one.svc:80');
  expect(text).not.toMatch(/"(?:namespace|value)":"gantry(?:-workers|-computers)?"/);
  const names = (all: readonly KubernetesObject[]) =>
    all.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata.name);
  expect(names(objects).toSorted()).toEqual(['one', 'three', 'two']);
  expect(names(chart({ createNamespaces: false, ...enabled(switches) }))).toEqual([]);
});

test('where Pods run is added to them', () => {
  const pod = { nodeSelector: { disk: 'fast' }, imagePullSecrets: [{ name: 'registry' }] };
  for (const part of ['cloud', 'workers']) {
    expect(refusals(chartFolder, { [part]: { pod } })).toEqual([]);
    const objects = chart({ [part]: { pod } });
    const deployments = objects.filter(({ kind, spec }) => kind === 'Deployment' && spec.template.spec.nodeSelector);
    expect(deployments).toEqual([
      expect.objectContaining({
        spec: expect.objectContaining({ template: expect.objectContaining({ spec: expect.objectContaining(pod) }) }),
      }),
    ]);
    expect(objects.flatMap(apis.newest)).toEqual([]);
  }
});

test('values that nobody knows or of another type are refused with their name, and secrets too', () => {
  expect(refusals(chartFolder)).toEqual([]);
  const settings = (values: object) => ({ cloud: { settings: values } });
  for (const [values, said] of [
    [{ worker: { replicas: 3 } }, ': must NOT have additional properties (worker)'],
    [{ cloud: { replica: 3 } }, '/cloud: must NOT have additional properties (replica)'],
    [{ computers: { enable: true } }, '/computers: must NOT have additional properties (enable)'],
    [{ workerJobs: { enabled: 'yes' } }, '/workerJobs/enabled: must be boolean'],
    [{ cloud: { replicas: '3' } }, '/cloud/replicas: must be integer'],
    [{ workers: { resources: { limit: {} } } }, '/workers/resources: must NOT have additional properties (limit)'],
    [{ cloud: { pod: { securityContext: {} } } }, '/cloud/pod: must NOT have additional properties (securityContext)'],
    [{ namespaces: { cloud: 'Gantry' } }, '/namespaces/cloud: must match pattern'],
    [{ cloud: { image: null } }, "/cloud: must have required property 'image'"],
    [settings({ GANTRY_COMPUTERS_MEMORY: 1024 }), '/cloud/settings/GANTRY_COMPUTERS_MEMORY: must be string'],
    [settings({ GANTRY_BASE_URL: 'https://work.example/' }), '/cloud/settings/GANTRY_BASE_URL: must match pattern'],
    [settings({ gantry_listen: 'x' }), '/cloud/settings: property name must be valid (gantry_listen)'],
    [settings({ DATABASE_URL: 'postgres://x' }), '/cloud/settings: property name must be valid (DATABASE_URL)'],
    [settings({ GANTRY_TELNYX_API_KEY: 'x' }), '/cloud/settings: property name must be valid (GANTRY_TELNYX_API_KEY)'],
  ] as const)
    expect(refusals(chartFolder, values), JSON.stringify(values)).toContainEqual(expect.stringContaining(said));
});

test('the values that the guide shows are taken', () => {
  const [shown] = blocksOf('docs/deploy.md').filter(({ notRun }) => notRun?.includes('chart'));
  expect(refusals(chartFolder, parse(shown!.text) as Record<string, unknown>)).toEqual([]);
});

test('its version is that of Gantry', () => {
  const { version } = JSON.parse(textOf('package.json')) as { version: string };
  const said = parse(readFileSync(join(chartFolder, 'Chart.yaml'), 'utf8')) as Record<string, unknown>;
  expect(said).toMatchObject({ apiVersion: 'v2', name: 'gantry', version, appVersion: version });
  expect(globSync('deploy/helm/*/Chart.yaml', { cwd: root })).toHaveLength(1);
});

test('what it prints after the install names the Secrets that are still missing', () => {
  const notes = renderChart(chartFolder, enabled(['autoscaling']), clusters.newest).get('NOTES.txt');
  for (const said of [
    'gantry-cloud in the namespace gantry,',
    'gantry-worker in gantry-workers',
    'gantry-cluster in gantry,',
  ])
    expect(notes).toContain(said);
  expect(renderChart(chartFolder, {}, clusters.newest).get('NOTES.txt')).not.toContain('gantry-cluster');
});
