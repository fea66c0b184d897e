/**
 * A chart as Helm reads it: its values under those of a person, what its schema refuses, and its templates rendered. Stands for Helm, which is not at hand,
 * and knows of it only what the chart in deploy/helm uses.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../deploy/kubernetes/rendered.ts';
import { renderTemplate } from './template.ts';

export const switches = ['computers', 'autoscaling', 'workerJobs'] as const;
export type Switch = (typeof switches)[number];
/** Every combination, with its name. */
export const combinations = Array.from({ length: 2 ** switches.length }, (_, bits) =>
  switches.filter((_name, at) => (bits >> at) % 2 === 1),
).map((names) => [names.join(', ') || 'nothing', names] as const);
export const enabled = (names: readonly Switch[]): Values =>
  Object.fromEntries(names.map((name) => [name, { enabled: true }]));

type Values = Readonly<Record<string, unknown>>;

const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A person's value takes the place of the chart's, key by key; null removes it. */
export function mergedValues(own: Values, given: Values): Values {
  const merged: Record<string, unknown> = { ...own };
  for (const [key, value] of Object.entries(given)) {
    const before = merged[key];
    if (value === null) delete merged[key];
    else merged[key] = isMap(before) && isMap(value) ? mergedValues(before, value) : value;
  }
  return merged;
}

export const valuesOf = (folder: string, given: Values = {}): Values =>
  mergedValues(parse(readFileSync(join(folder, 'values.yaml'), 'utf8')) as Values, given);

/** What the chart's schema says against these values; empty: Helm takes them. */
export function refusals(folder: string, given: Values = {}): string[] {
  const validate = new Ajv({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true }).compile(
    JSON.parse(readFileSync(join(folder, 'values.schema.json'), 'utf8')) as object,
  );
  if (validate(valuesOf(folder, given))) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const name = params.additionalProperty ?? params.propertyName;
    return `${instancePath}: ${message}${name === undefined ? '' : ` (${name})`}`;
  });
}

const isOneOf = (versions: readonly string[]) => (version: unknown) => versions.includes(version as string);

/** Each template's text, by its path below `templates`. */
export function renderChart(
  folder: string,
  given: Values,
  apiVersions: readonly string[],
): ReadonlyMap<string, string> {
  const data = {
    Values: valuesOf(folder, given),
    Capabilities: { APIVersions: { Has: isOneOf(apiVersions) } },
  };
  const files = globSync('**/*.{yaml,txt}', { cwd: join(folder, 'templates') }).toSorted();
  return new Map(
    files.map((file) => [file, renderTemplate(readFileSync(join(folder, 'templates', file), 'utf8'), data)]),
  );
}

/** As Go's reader has it, whose YAML is 1.1: `0440` is an octal number. */
export function objectsIn(rendered: ReadonlyMap<string, string>): KubernetesObject[] {
  return [...rendered]
    .filter(([file]) => file.endsWith('.yaml'))
    .flatMap(([file, text]) =>
      parseAllDocuments(text, { version: '1.1' }).map((document) => {
        if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0]?.message}`);
        return document.toJS() as KubernetesObject | null;
      }),
    )
    .filter((object) => object !== null);
}
