/**
 * The parts that Helm is made of, from Debian's packages: builds render.go and renders a chart with it. Knows no chart. Nothing is fetched: Go reads what
 * is installed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubernetesObject } from '../../deploy/kubernetes/rendered.ts';

const go = '/usr/lib/go-1.19/bin/go';
const gopath = '/usr/share/gocode';
const packages = {
  'golang-1.19-go': go,
  'golang-github-masterminds-sprig-dev': join(gopath, 'src/github.com/Masterminds/sprig'),
  'golang-github-xeipuuv-gojsonschema-dev': join(gopath, 'src/github.com/xeipuuv/gojsonschema'),
  'golang-k8s-sigs-yaml-dev': join(gopath, 'src/sigs.k8s.io/yaml'),
} as const;

interface Rendered {
  /** What the chart's schema says against the values; then nothing is rendered. */
  readonly refused: readonly string[];
  readonly templates: Readonly<Record<string, string>>;
  readonly objects: readonly KubernetesObject[];
}
export type Engine = (chart: string, values: object, apiVersions: readonly string[]) => Rendered;

/** Why it cannot be built; null: it can. */
export function noEngine(): string | null {
  const lacks = Object.entries(packages).flatMap(([name, path]) => (existsSync(path) ? [] : [name]));
  return lacks.length === 0 ? null : `there is no ${lacks.join(', no ')}`;
}

export function buildEngine(folder: string): Engine {
  mkdirSync(folder, { recursive: true });
  const program = join(folder, 'render');
  execFileSync(go, ['build', '-o', program, join(import.meta.dirname, 'render.go')], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, GOPATH: gopath, GO111MODULE: 'off', GOFLAGS: '', GOCACHE: join(folder, 'cache') },
  });
  return (chart, values, apiVersions) => {
    // JSON is YAML.
    const file = join(folder, 'values.yaml');
    writeFileSync(file, JSON.stringify(values));
    const said = execFileSync(program, [chart, file, ...apiVersions], { encoding: 'utf8', maxBuffer: 64 << 20 });
    return JSON.parse(said) as Rendered;
  };
}
