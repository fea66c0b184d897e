/**
 * The rights that the bases give, and the calls of the code that uses them, read from its source: each call is permitted, and each right is used. The
 * worker's Role is held against its calls on the wire, in test/programs/worker/jobs.test.ts.
 */
import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { root, textOf } from '../../docs/blocks.ts';

const verbs: Readonly<Record<string, string>> = {
  read: 'get',
  list: 'list',
  create: 'create',
  replace: 'update',
  patch: 'patch',
  delete: 'delete',
};
const plural = (kind: string) => `${kind.toLowerCase()}s`;

/** `core.readNamespacedPodLog` is `get pods/log`; `cluster.watch` names its paths. */
function callsIn(source: string): string[] {
  const asked = [...source.matchAll(/\.(read|list|create|replace|patch|delete)Namespaced([A-Z]\w*)\(/g)].map(
    ([, verb = '', kind = '']) => `${verbs[verb]} ${plural(kind)}`,
  );
  const watched = [...source.matchAll(/\b(?:path|follow)\('(\w+)'/g)].map(([, resource]) => `watch ${resource}`);
  return [...asked, ...watched];
}

function rightsIn(file: string): string[] {
  const roles = parseAllDocuments(textOf(file))
    .map((document) => document.toJS() as { kind: string; rules?: { resources: string[]; verbs: string[] }[] })
    .filter(({ kind }) => kind === 'Role');
  return roles
    .flatMap(({ rules = [] }) => rules)
    .flatMap(({ resources, verbs: its }) => resources.flatMap((one) => its.map((verb) => `${verb} ${one}`)));
}

test('the driver of hosted computers may make each of its calls, and nothing else', () => {
  const sources = globSync('src/cloud-api/hosted-computers/kubernetes*.ts', { cwd: root });
  const calls = new Set(sources.flatMap((file) => callsIn(textOf(file))));
  expect(calls.size).toBeGreaterThan(5);
  expect([...calls].toSorted()).toEqual(rightsIn('deploy/kubernetes/components/computers/role.yaml').toSorted());
});
