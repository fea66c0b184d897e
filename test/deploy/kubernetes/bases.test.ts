/** The bases in deploy/kubernetes as an operator's `kubectl` renders them, held against what Gantry reads and what its rules promise. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readCloudSettings } from '../../../src/host/cloud-settings.ts';
import { readComputersCluster } from '../../../src/host/computers-engine.ts';
import { textOf } from '../../docs/blocks.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { hasKubectl, type KubernetesObject, renderExample } from './rendered.ts';

interface Container {
  readonly name: string;
  readonly image: string;
  // biome-ignore lint/suspicious/noExplicitAny: the fields that a test looks at
  readonly [field: string]: any;
}

/** Without the hash that Kustomize adds to a ConfigMap. */
const nameOf = ({ kind, metadata: { name } }: KubernetesObject): string =>
  kind === 'ConfigMap' ? name.replace(/-[a-z0-9]{10}$/, '') : name;
const one = (objects: readonly KubernetesObject[], kind: string, name: string): KubernetesObject => {
  const found = objects.filter((object) => object.kind === kind && nameOf(object) === name);
  expect(found, `${kind} ${name}`).toHaveLength(1);
  return found[0]!;
};
const podOf = (deployment: KubernetesObject) => deployment.spec.template.spec;
const containersOf = (deployment: KubernetesObject): Container[] => {
  const pod = podOf(deployment);
  return [...(pod.initContainers ?? []), ...pod.containers];
};

describe.skipIf(!hasKubectl)('the bases for Kubernetes (needs kubectl)', () => {
  test('the cloud takes what its Pod gives it', () => {
    const objects = renderExample();
    const deployment = one(objects, 'Deployment', 'gantry-cloud');
    const [cloud] = podOf(deployment).containers as [Container];
    const settings = one(objects, 'ConfigMap', 'gantry-cloud');
    expect(cloud.envFrom).toEqual([{ configMapRef: { name: settings.metadata.name } }]);
    const secret = join(scratchFolder(), 'secret');
    writeFileSync(secret, 'a secret');
    const given: Record<string, string> = { POD_IP: '10.4.0.7', DATABASE_URL: 'postgres://gantry:abc@db/gantry' };
    const env: Record<string, string> = { ...settings.data };
    for (const { name, value } of cloud.env)
      env[name] = (value ?? given[name]).replace(/\$\((\w+)\)/g, (_: string, of: string) => given[of]);
    expect(env.GANTRY_OIDC_CLIENT_SECRET_FILE).toBe('/run/gantry/oidc/client-secret');
    expect(readCloudSettings({ ...env, GANTRY_OIDC_CLIENT_SECRET_FILE: secret })).toMatchObject({
      home: '/var/lib/gantry/home',
      baseUrl: 'https://gantry.example',
      listen: { host: '0.0.0.0', port: 3010 },
      oidc: { issuer: 'https://id.example', clientId: 'gantry', clientSecret: 'a secret' },
      databaseUrl: 'postgres://gantry:abc@db/gantry',
      replicaUrl: 'http://10.4.0.7:3010',
    });
  });

  test('probes ask at the name in GANTRY_BASE_URL, with its port', () => {
    const objects = renderExample([], (text) =>
      text.replace('envs: [cloud.env]', 'literals: [GANTRY_BASE_URL=https://work.example:8443]'),
    );
    const [cloud] = podOf(one(objects, 'Deployment', 'gantry-cloud')).containers as [Container];
    for (const probe of [cloud.startupProbe, cloud.readinessProbe, cloud.livenessProbe])
      expect(probe.httpGet.httpHeaders).toEqual([{ name: 'Host', value: 'work.example:8443' }]);
    expect(cloud.readinessProbe.httpGet.path).toBe('/api/v1/health');
    // A database that is away must not restart the replicas.
    expect(cloud.livenessProbe.httpGet.path).not.toBe('/api/v1/health');
  });

  test('every secret comes from a Secret that the guide makes, and none is in a manifest', () => {
    const objects = renderExample();
    expect(objects.map(({ kind }) => kind)).not.toContain('Secret');
    const guide = textOf('docs/deploy.md');
    const made = new Map(
      [...guide.matchAll(/kubectl --namespace=\S+ create secret generic (\S+) (.*)$/gm)].map(
        ([, name = '', from = '']) => [name, [...from.matchAll(/--from-file=keys\/(\S+)/g)].map(([, key]) => key)],
      ),
    );
    for (const object of objects.filter(({ kind }) => kind === 'Deployment')) {
      const used = podOf(object).volumes.flatMap(
        ({ secret }: { secret?: { secretName: string; items: { key: string }[] } }) =>
          secret === undefined ? [] : secret.items.map(({ key }) => [secret.secretName, key]),
      );
      for (const { env = [] } of containersOf(object))
        for (const { valueFrom } of env)
          if (valueFrom?.secretKeyRef !== undefined)
            used.push([valueFrom.secretKeyRef.name, valueFrom.secretKeyRef.key]);
      expect(used).not.toEqual([]);
      for (const [name, key] of used) expect(made.get(name), `${name}: ${key}`).toContain(key);
    }
  });

  test('each Pod meets the level `restricted` that its namespace enforces, without a right and without a token', () => {
    const objects = renderExample();
    for (const name of ['cloud', 'worker']) {
      const deployment = one(objects, 'Deployment', `gantry-${name}`);
      const namespace = one(
        objects,
        'Namespace',
        deployment.metadata.namespace === 'gantry' ? 'gantry' : 'gantry-workers',
      );
      expect(namespace.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
      const pod = podOf(deployment);
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const { securityContext, resources } of containersOf(deployment)) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(resources.limits.memory).toBeDefined();
      }
      const account = one(objects, 'ServiceAccount', pod.serviceAccountName);
      expect(account.automountServiceAccountToken).toBe(false);
    }
    expect(objects.map(({ kind }) => kind).filter((kind) => kind.includes('Role'))).toEqual([]);
  });

  test('a rolling update takes no replica away before a new one serves, and a drained node only one at a time', () => {
    const objects = renderExample();
    for (const name of ['gantry-cloud', 'gantry-worker']) {
      const { spec } = one(objects, 'Deployment', name);
      expect(spec.strategy.rollingUpdate).toEqual({ maxUnavailable: 0, maxSurge: 1 });
      const budget = one(objects, 'PodDisruptionBudget', name);
      expect(budget.spec).toEqual({ maxUnavailable: 1, selector: spec.selector });
      expect(spec.template.metadata.labels).toEqual(spec.selector.matchLabels);
    }
    const cloud = podOf(one(objects, 'Deployment', 'gantry-cloud'));
    const [, seconds] = cloud.containers[0].lifecycle.preStop.exec.command;
    // What a replica may take to stop is five seconds.
    expect(cloud.terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + 5);
  });

  test('the Service and the NetworkPolicies select the Pods that they are for', () => {
    const objects = renderExample();
    const cloud = one(objects, 'Deployment', 'gantry-cloud');
    const service = one(objects, 'Service', 'gantry-cloud');
    expect(service.spec.selector).toEqual(cloud.spec.selector.matchLabels);
    expect(podOf(cloud).containers[0].ports).toContainEqual({
      name: service.spec.ports[0].targetPort,
      containerPort: 3010,
    });
    expect(one(objects, 'NetworkPolicy', 'gantry-cloud').spec.podSelector).toEqual(cloud.spec.selector);
    // Tasks reach neither the database nor other Pods.
    const worker = one(objects, 'NetworkPolicy', 'gantry-worker').spec;
    expect(worker).toMatchObject({ policyTypes: ['Ingress', 'Egress'] });
    expect(one(objects, 'NetworkPolicy', 'gantry-worker-none').spec).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    });
    const ports = worker.egress.flatMap(({ ports }: { ports: { port: number }[] }) => ports.map(({ port }) => port));
    expect([...new Set(ports)]).toEqual([53, 443]);
  });

  test('the cloud takes what the component of computers gives it, and its account has rights only there', () => {
    const objects = renderExample(['computers']);
    const pod = podOf(one(objects, 'Deployment', 'gantry-cloud'));
    const env = Object.fromEntries(
      pod.containers[0].env.map(({ name, value }: Record<string, string>) => [name, value]),
    );
    expect(readComputersCluster({ ...env, KUBERNETES_SERVICE_HOST: '10.0.0.1' })).toMatchObject({
      namespace: 'gantry-computers',
    });
    const { hostname } = new URL(env.GANTRY_COMPUTERS_CLOUD);
    const service = one(objects, 'Service', 'gantry-cloud');
    expect(hostname).toBe(`${service.metadata.name}.${service.metadata.namespace}.svc`);
    expect(pod.automountServiceAccountToken).toBe(true);
    const binding = objects.filter(({ kind }) => kind.endsWith('RoleBinding'));
    expect(binding.map(({ kind, metadata, subjects }) => [kind, metadata.namespace, subjects])).toEqual([
      ['RoleBinding', 'gantry-computers', [{ kind: 'ServiceAccount', name: 'gantry-cloud', namespace: 'gantry' }]],
    ]);
    expect(one(objects, 'ServiceAccount', 'default').automountServiceAccountToken).toBe(false);
    const policy = one(objects, 'NetworkPolicy', 'gantry-computers').spec;
    expect(policy).toMatchObject({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    expect(policy.ingress).toBeUndefined();
  });

  test('the port for the cluster is the one that its Service, its settings and its policy name', () => {
    const objects = renderExample(['autoscaling']);
    const deployment = one(objects, 'Deployment', 'gantry-cloud');
    const [cloud] = podOf(deployment).containers;
    const { targetPort } = one(objects, 'Service', 'gantry-cluster').spec.ports[0];
    const port = cloud.ports.find(({ name }: { name: string }) => name === targetPort).containerPort;
    expect(cloud.env).toContainEqual({ name: 'GANTRY_CLUSTER_LISTEN', value: `0.0.0.0:${port}` });
    expect(one(objects, 'NetworkPolicy', 'gantry-cloud').spec.ingress[0].ports).toContainEqual({
      protocol: 'TCP',
      port,
    });
    expect(one(objects, 'APIService', 'v1beta1.external.metrics.k8s.io').spec.service).toEqual({
      name: 'gantry-cluster',
      namespace: 'gantry',
      port: 443,
    });
    // It decides how many there are.
    expect(one(objects, 'Deployment', 'gantry-worker').spec.replicas).toBeUndefined();
    const scaler = one(objects, 'HorizontalPodAutoscaler', 'gantry-worker').spec;
    expect(textOf('src/host/serve-cluster.ts')).toContain(`  ${scaler.metrics[0].external.metric.name}: 'sum'`);
  });

  test('the component for 1.20 changes the version of the disruption budgets, and nothing else', () => {
    const usual = renderExample();
    const older = renderExample(['kubernetes-1.20']);
    expect(older).toEqual(
      usual.map((object) =>
        object.kind === 'PodDisruptionBudget' ? { ...object, apiVersion: 'policy/v1beta1' } : object,
      ),
    );
    expect(older).not.toEqual(usual);
  });
});
