/**
 * The templates of the Helm chart, made from the Kustomize bases: each file of deploy/kubernetes becomes a template, what a component adds stands in an
 * `if` of its switch, and the lines below take their value from values.yaml. Owns that translation and knows only as much of Kustomize as the bases use:
 * it throws at everything else. Chart.yaml, values.yaml, values.schema.json and templates/settings.yaml are written by hand.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMap, isScalar, isSeq, type Pair, parse, parseAllDocuments, type YAMLMap, type YAMLSeq } from 'yaml';

const root = resolve(import.meta.dirname, '..');
const bases = join(root, 'deploy/kubernetes');
export const chartFolder = join(root, 'deploy/helm/gantry');
/** Below `templates`: what is made, and nothing else is in these. */
export const madeFolders = ['cloud', 'workers', 'computers', 'autoscaling', 'worker-jobs'] as const;

/** In the order in which an overlay lists them. */
const switches = {
  computers: '.Values.computers.enabled',
  autoscaling: '.Values.autoscaling.enabled',
  'worker-jobs': '.Values.workerJobs.enabled',
} as const;

const namespaces: Readonly<Record<string, string>> = {
  gantry: '.Values.namespaces.cloud',
  'gantry-workers': '.Values.namespaces.workers',
  'gantry-computers': '.Values.namespaces.computers',
};

/**
 * Of the bases, but not of the chart. The cluster makes the account `default` of a namespace, and Helm refuses to install over what it has not made. Pods of
 * computers mount no token of it anyway: the cloud's driver says so in each.
 */
export const leftOut: readonly string[] = ['components/computers/service-account.yaml'];

/** Lines of a base, and what the template has in their place. */
const values: Readonly<Record<string, readonly (readonly [line: string, template: string])[]>> = {
  'cloud/deployment.yaml': [
    ...deployment('cloud'),
    ['image: gantry-cloud:latest', 'image: {{ .Values.cloud.image | quote }}'],
    [
      '# The cloud answers only at its public name. overlays/example fills this in from GANTRY_BASE_URL.',
      '# The cloud answers only at its public name.',
    ],
    ['value: gantry.example', 'value: {{ .Values.cloud.settings.GANTRY_BASE_URL | trimPrefix "https://" | quote }}'],
    ['value: gantry-computers', 'value: {{ .Values.namespaces.computers | quote }}'],
    ['http://gantry-cloud.gantry.svc:80', 'http://gantry-cloud.{{ .Values.namespaces.cloud }}.svc:80'],
    [
      'resources:\n            requests: { cpu: 250m, memory: 384Mi }\n            limits: { memory: 1Gi }',
      'resources:\n            {{- toYaml .Values.cloud.resources | nindent 12 }}',
    ],
  ],
  'cloud/disruption-budget.yaml': [[' Before Kubernetes 1.21 this is policy/v1beta1: components/kubernetes-1.20.', '']],
  'cloud/network-policy.yaml': [['where components/autoscaling is used', 'where autoscaling is enabled']],
  'workers/deployment.yaml': [
    ...deployment('workers'),
    ['image: gantry-worker:latest', 'image: {{ .Values.workers.image | quote }}'],
    ['value: gantry-workers', 'value: {{ .Values.namespaces.workers | quote }}'],
    [
      'resources:\n            requests: { cpu: 250m, memory: 256Mi }\n            # Of the worker with its tasks.\n            limits: { memory: 2Gi }',
      'resources:\n            {{- toYaml .Values.workers.resources | nindent 12 }}',
    ],
  ],
  'workers/network-policy.yaml': [['the Jobs of components/worker-jobs', 'their Jobs']],
  'components/computers/limits.yaml': [
    ['# An example to change: how much', '# How much'],
    [
      'hard:\n    pods: "60"\n    requests.memory: 64Gi\n    persistentvolumeclaims: "200"\n    requests.storage: 1Ti\n    # Nothing here is to be reached from outside.\n    services: "0"',
      'hard:\n    {{- toYaml .Values.computers.quota | nindent 4 }}',
    ],
  ],
  'components/autoscaling/worker-autoscaler.yaml': [
    ['minReplicas: 1', 'minReplicas: {{ .Values.autoscaling.minWorkers }}'],
    ['maxReplicas: 20', 'maxReplicas: {{ .Values.autoscaling.maxWorkers }}'],
  ],
};

function deployment(part: 'cloud' | 'workers'): [string, string][] {
  const replicas = part === 'cloud' ? 3 : 2;
  return [
    [`  replicas: ${replicas}`, `  replicas: {{ .Values.${part}.replicas }}`],
    [
      '  template:\n    metadata:\n',
      `  template:\n    metadata:\n      annotations:\n        # A changed setting replaces the Pods.\n        checksum/settings: {{ toYaml .Values.${part}.settings | sha256sum | quote }}\n`,
    ],
    [
      '      enableServiceLinks: false\n',
      `      enableServiceLinks: false\n      {{- with .Values.${part}.pod }}\n      {{- toYaml . | nindent 6 }}\n      {{- end }}\n`,
    ],
  ];
}

interface Kustomization {
  readonly resources?: readonly string[];
  readonly patches?: readonly { readonly path?: string; readonly target?: Target; readonly patch?: string }[];
}
interface Target {
  readonly kind: string;
  readonly name?: string;
}
interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: string;
}
/** A file of the bases on its way to a template. */
interface Base {
  /** Below deploy/kubernetes. */
  readonly file: string;
  readonly text: string;
  /** What kustomizations select by. */
  readonly kind: string;
  readonly name: string;
  readonly conditions: readonly string[];
  /** [from, to) of the text becomes `put`. */
  readonly edits: { readonly from: number; readonly to: number; readonly put: string }[];
}

/** Each template's text, by its path below the chart. */
export function chartTemplates(folder = bases): ReadonlyMap<string, string> {
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  const kustomization = (name: string) => {
    const said = parse(read(posix.join(name, 'kustomization.yaml'))) as Kustomization;
    const unknown = Object.keys(said).filter((key) => !['apiVersion', 'kind', 'resources', 'patches'].includes(key));
    if (unknown.length > 0) throw new Error(`${name}: no ${unknown.join(', no ')} that this script knows.`);
    return said;
  };
  const resourcesOf = (name: string) =>
    (kustomization(name).resources ?? [])
      .map((file) => posix.join(name, file))
      .filter((file) => !leftOut.includes(file));
  const components = Object.entries(switches).map(([name, condition]) => [`components/${name}`, condition] as const);
  const made = [['cloud', null] as const, ['workers', null] as const, ...components].flatMap(([name, condition]) =>
    resourcesOf(name).map((file): Base => {
      const text = read(file);
      const { kind, metadata } = objectOf(text);
      const conditions = [condition, kind === 'Namespace' ? '.Values.createNamespaces' : null];
      return { file, text, kind, name: metadata.name, conditions: conditions.filter((one) => one !== null), edits: [] };
    }),
  );
  for (const [name, condition] of [...components, ['components/kubernetes-1.20', null] as const]) {
    for (const { path, target, patch } of kustomization(name).patches ?? []) {
      if (path !== undefined && condition !== null) {
        const text = read(posix.join(name, path));
        const { kind, metadata } = objectOf(text);
        for (const base of targets(made, { kind, name: metadata.name })) weave(base, text, condition);
      } else if (target !== undefined && patch !== undefined) {
        for (const base of targets(made, target))
          for (const operation of parse(patch) as Operation[]) operate(base, operation, condition);
      } else throw new Error(`${name}: no patch that this script knows.`);
    }
  }
  return new Map(
    made.map((base) => [posix.join('templates', base.file.replace(/^components\//, '')), templateOf(base)]),
  );
}

/** The first of a file. */
const objectOf = (text: string) =>
  parseAllDocuments(text)[0]!.toJS() as { readonly kind: string; readonly metadata: { readonly name: string } };

function targets(made: readonly Base[], { kind, name }: Target): Base[] {
  const found = made.filter((one) => one.kind === kind && (name === undefined || one.name === name));
  if (found.length === 0) throw new Error(`The bases have no ${kind} ${name ?? ''}.`);
  return found;
}

function templateOf({ file, text, kind, conditions, edits }: Base): string {
  let result = text;
  // From the end, so that offsets stay true. At one place a later component stands first, as Kustomize has it.
  for (const { from, to, put } of edits.toSorted((a, b) => b.from - a.from))
    result = `${result.slice(0, from)}${put}${result.slice(to)}`;
  for (const [line, template] of values[file] ?? []) {
    if (!result.includes(line)) throw new Error(`deploy/kubernetes/${file} has no ${JSON.stringify(line)}.`);
    result = result.replaceAll(line, template);
  }
  result = result.replace(
    kind === 'Namespace' ? /^( {2}name: )(.*)$/gm : /^( +namespace: )(.*)$/gm,
    (line, key, name) => {
      if (name === 'kube-system') return line;
      if (namespaces[name] === undefined) throw new Error(`deploy/kubernetes/${file} has the namespace ${name}.`);
      return `${key}{{ ${namespaces[name]} | quote }}`;
    },
  );
  const opened = conditions.map((condition) => `{{- if ${condition} }}\n`).join('');
  const note = `# Made by scripts/helm-chart.ts from deploy/kubernetes/${file}. Do not edit: npm run references\n`;
  return `${opened}${note}${result.trimEnd()}\n${'{{- end }}\n'.repeat(conditions.length)}`;
}

/** A JSON patch on one line of the first level or the second. */
function operate(base: Base, { op, path, value }: Operation, condition: string | null): void {
  const document = parseAllDocuments(base.text)[0]!;
  const words = path.split('/').slice(1);
  const inside = words.length === 1 ? document.contents : document.getIn(words.slice(0, -1));
  const pair = isMap(inside) ? pairOf(inside, words.at(-1)!) : null;
  if (pair === null) throw new Error(`${base.file} has no ${path}.`);
  const { from, to, indent, text } = blockOf(base.text, pair);
  const lines = (...all: string[]) => all.map((line) => `${indent}${line}\n`).join('');
  if (op === 'remove' && condition !== null) {
    base.edits.push({ from, to, put: `${lines(`{{- if not ${condition} }}`)}${text}${lines('{{- end }}')}` });
  } else if (op === 'replace' && path === '/apiVersion' && isScalar(pair.value)) {
    const has = `{{- if .Capabilities.APIVersions.Has "${pair.value.value}" }}`;
    base.edits.push({
      from,
      to,
      put: `${lines(has)}${text}${lines('{{- else }}', `apiVersion: ${value}`, '{{- end }}')}`,
    });
  } else throw new Error(`${base.file}: no ${op} of ${path} that this script knows.`);
}

/** What tells the items of these lists from each other. */
const keys: Readonly<Record<string, string>> = {
  containers: 'name',
  env: 'name',
  ports: 'containerPort',
  volumeMounts: 'mountPath',
  volumes: 'name',
};

/** A strategic merge: scalars take another value, lists get further items at their beginning, as Kustomize has it. */
function weave(base: Base, patchText: string, condition: string): void {
  const mapIn = (text: string) => parseAllDocuments(text)[0]!.contents as YAMLMap;
  merge(mapIn(base.text), mapIn(patchText));

  function merge(its: YAMLMap, patch: YAMLMap): void {
    for (const pair of patch.items) {
      const key = String(pair.key);
      const own = pairOf(its, key);
      if (own !== null && isMap(own.value) && isMap(pair.value)) merge(own.value, pair.value);
      else if (own !== null && isSeq(own.value) && isSeq(pair.value)) mergeLists(key, own, own.value, pair, pair.value);
      else if (own !== null && isScalar(own.value) && isScalar(pair.value)) {
        if (own.value.value === pair.value.value) continue;
        const { from, to, indent, text } = blockOf(base.text, own);
        const put = indented(blockOf(patchText, pair).text, indent);
        const line = (words: string) => `${indent}{{- ${words} }}\n`;
        base.edits.push({ from, to, put: `${line(`if ${condition}`)}${put}${line('else')}${text}${line('end')}` });
      } else throw new Error(`${base.file}: no patch of ${key} that this script knows.`);
    }
  }

  function mergeLists(name: string, own: Pair, its: YAMLSeq, pair: Pair, patch: YAMLSeq): void {
    const key = keys[name];
    if (key === undefined) throw new Error(`${base.file}: nothing tells the items of ${name} from each other.`);
    const same = patch.items.map((item) =>
      its.items.find((one) => (one as YAMLMap).get(key) === (item as YAMLMap).get(key)),
    );
    if (same.every((one) => one !== undefined)) {
      for (const [at, one] of same.entries()) merge(one as YAMLMap, patch.items[at] as YAMLMap);
    } else if (same.every((one) => one === undefined)) {
      const from = base.text.indexOf('\n', (own.key as { range: number[] }).range[1]) + 1;
      const indent = ' '.repeat(
        (its.items[0] as YAMLMap).range![0] - base.text.lastIndexOf('\n', (its.items[0] as YAMLMap).range![0]) - 3,
      );
      const block = blockOf(patchText, pair).text;
      const items = block.slice(block.indexOf('\n', block.search(new RegExp(`^ *${name}:`, 'm'))) + 1);
      base.edits.push({
        from,
        to: from,
        put: `${indent}{{- if ${condition} }}\n${indented(items, indent)}${indent}{{- end }}\n`,
      });
    } else throw new Error(`${base.file}: a patch changes some items of ${name} and adds others.`);
  }
}

const pairOf = (map: YAMLMap, key: string): Pair | null => map.items.find((pair) => String(pair.key) === key) ?? null;

/** The lines of a key with its value and with the comment above it, which `from` and `to` leave where it is. */
function blockOf(whole: string, { key, value }: Pair): { from: number; to: number; indent: string; text: string } {
  const [at] = (key as { range: number[] }).range;
  const from = whole.lastIndexOf('\n', at!) + 1;
  const to = whole.indexOf('\n', (value as { range: number[] }).range[1]! - 1) + 1;
  return { from, to, indent: whole.slice(from, at), text: whole.slice(from, to) };
}

function indented(text: string, indent: string): string {
  const lines = text.split('\n');
  const has = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  return lines.map((line) => (line === '' ? '' : `${indent}${line.slice(has)}`)).join('\n');
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const name of madeFolders) rmSync(join(chartFolder, 'templates', name), { recursive: true, force: true });
  for (const [path, text] of chartTemplates()) {
    mkdirSync(dirname(join(chartFolder, path)), { recursive: true });
    writeFileSync(join(chartFolder, path), text);
  }
}
