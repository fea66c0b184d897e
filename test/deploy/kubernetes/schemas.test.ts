/** Each object of the bases, held against the API of the oldest Kubernetes that they are for, and of the newest whose types are at hand. */
import { describe, expect, test } from 'vitest';
import { hasKubectl, type KubernetesObject, renderExample } from './rendered.ts';
import { apis } from './schemas.ts';

const components = ['computers', 'autoscaling', 'worker-jobs'];

describe.skipIf(!hasKubectl)('the bases for Kubernetes (needs kubectl)', () => {
  test('a cluster of 1.20 knows every object and every field, with its component', () => {
    const objects = renderExample([...components, 'kubernetes-1.20']);
    expect(objects.length).toBeGreaterThan(20);
    expect(objects.flatMap(apis['1.20'])).toEqual([]);
  });

  test('a cluster of today knows every object and every field', () => {
    expect(renderExample(components).flatMap(apis.newest)).toEqual([]);
  });

  test('neither knows the other’s versions', () => {
    const versions = (objects: readonly KubernetesObject[]) =>
      objects.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`);
    const usual = renderExample(components);
    const older = renderExample([...components, 'kubernetes-1.20']);
    const changed = ['PodDisruptionBudget', 'HorizontalPodAutoscaler'];
    const unknownOf = (objects: readonly KubernetesObject[], api: (one: KubernetesObject) => string[]) =>
      versions(objects.filter((one) => api(one).some((problem) => problem.includes('has no'))));
    expect(new Set(unknownOf(usual, apis['1.20']))).toEqual(
      new Set(versions(usual.filter(({ kind }) => changed.includes(kind)))),
    );
    expect(new Set(unknownOf(older, apis.newest))).toEqual(
      new Set(versions(older.filter(({ kind }) => changed.includes(kind)))),
    );
  });
});

test('a field that an API does not know, a wrong type and what is missing are found', () => {
  const policy = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'x' },
    spec: { podSelector: {}, policyTypes: 'Ingress', ingres: [] },
  };
  for (const api of [apis['1.20'], apis.newest]) {
    const problems = api(policy).join('\n');
    expect(problems).toContain('ingres');
    expect(problems).toContain('/spec/policyTypes: must be array');
  }
  const { spec: _, ...rest } = policy;
  expect(apis['1.20']({ ...rest, spec: {} })).toEqual([expect.stringContaining("required property 'podSelector'")]);
});
