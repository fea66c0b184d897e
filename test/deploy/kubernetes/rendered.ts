/** What `kubectl kustomize` makes of the bases in deploy/kubernetes, for the tests that hold it against rules. Must not know any rule, or a cluster. */
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { root } from '../../docs/blocks.ts';
import { scratchFolder } from '../../support/scratch.ts';

export const kubernetesFolder = join(root, 'deploy', 'kubernetes');

/** `kubectl kustomize` needs no cluster. 1.22 is the first whose Kustomize has components and replacements. */
export const hasKubectl = spawnSync('kubectl', ['kustomize', '--help']).status === 0;

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has fields of its own, which the API's schemas check
  readonly [field: string]: any;
}

/** Renders the example as an operator uses it: a copy, with these components. */
export function renderExample(
  components: readonly string[] = [],
  edit: (text: string) => string = (text) => text,
): KubernetesObject[] {
  const folder = scratchFolder();
  const copy = join(folder, 'overlays', 'mine');
  cpSync(kubernetesFolder, folder, { recursive: true });
  cpSync(join(folder, 'overlays', 'example'), copy, { recursive: true });
  const file = join(copy, 'kustomization.yaml');
  const text = readFileSync(file, 'utf8').replace(/^# components:\n(?:# {3}- .*\n)+/m, '');
  const listed = components.map((name) => `  - ../../components/${name}\n`).join('');
  writeFileSync(file, edit(listed === '' ? text : `${text}components:\n${listed}`));
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', copy], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`kubectl kustomize ended with ${status}: ${stderr}`);
  return parseAllDocuments(stdout).map((document) => document.toJS() as KubernetesObject);
}
