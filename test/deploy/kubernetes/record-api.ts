/**
 * Keeps of a cluster's OpenAPI what the bases and Gantry's own calls use, as test/data/kubernetes/api-<version>.json:
 *   kubectl get --raw /openapi/v2 | node test/deploy/kubernetes/record-api.ts
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { root } from '../../docs/blocks.ts';

const kinds = new Set(
  `Namespace ServiceAccount ConfigMap Secret Service Pod PersistentVolumeClaim ResourceQuota LimitRange Deployment Job NetworkPolicy PodDisruptionBudget
   HorizontalPodAutoscaler Role RoleBinding ClusterRole ClusterRoleBinding APIService`.split(/\s+/),
);

interface Schema {
  readonly 'x-kubernetes-group-version-kind'?: readonly { readonly kind: string }[];
}
const { info, definitions } = (await json(process.stdin)) as {
  readonly info: { readonly version: string };
  readonly definitions: Readonly<Record<string, Schema>>;
};
const kept: Record<string, unknown> = {};

/** Without what is for people; what it refers to is kept, too. */
function keep(name: string): void {
  if (name in kept) return;
  kept[name] = JSON.parse(JSON.stringify(definitions[name]), (key, value) =>
    key === 'description' && typeof value === 'string' ? undefined : value,
  );
  for (const [, other = ''] of JSON.stringify(kept[name]).matchAll(/"#\/definitions\/([^"]+)"/g)) keep(other);
}

for (const [name, schema] of Object.entries(definitions)) {
  if (schema['x-kubernetes-group-version-kind']?.some(({ kind }) => kinds.has(kind))) keep(name);
}
const sorted = Object.fromEntries(Object.entries(kept).sort(([a], [b]) => (a < b ? -1 : 1)));
const file = join(root, 'test', 'data', 'kubernetes', `api-${/1\.\d+/.exec(info.version)?.[0]}.json`);
writeFileSync(file, `${JSON.stringify({ version: info.version, definitions: sorted })}\n`);
console.log(`${file}: ${Object.keys(sorted).length} definitions of ${Object.keys(definitions).length}`);
