/**
 * The schemas of two Kubernetes APIs, against which objects are held: 1.20 as a real API server of that version described itself
 * (`record-api.ts` recorded it), and the newest that the types of @kubernetes/client-node are made from, which do not say what is required. A field that
 * a version does not know is a fault: an API server would drop it without a word.
 */
import * as client from '@kubernetes/client-node';
import { Ajv } from 'ajv';
import recorded from '../../data/kubernetes/api-1.20.json' with { type: 'json' };
import type { KubernetesObject } from './rendered.ts';

type Schema = Readonly<Record<string, unknown>>;

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

const intOrString = { type: ['integer', 'string'] };
const ofObject = ({ apiVersion, kind }: Pick<KubernetesObject, 'apiVersion' | 'kind'>): GroupVersionKind => {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  return { group, version, kind };
};

/** OpenAPI's schemas as they are, but that objects are closed, and what it has no type for. */
function closed(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema), (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value;
    const one = value as Record<string, unknown>;
    if (one.format === 'int-or-string') return intOrString;
    const isOpen = !('properties' in one) || one.type !== 'object';
    return isOpen ? one : { ...one, additionalProperties: false };
  }) as Schema;
}

const old = new Ajv({ strict: false, allErrors: true, validateFormats: false });
old.addSchema({ $id: 'old', definitions: closed(recorded.definitions) });
const oldNames = new Map(
  Object.entries(recorded.definitions as Record<string, Schema>).flatMap(([name, schema]) =>
    ((schema['x-kubernetes-group-version-kind'] ?? []) as GroupVersionKind[]).map(
      (one) => [JSON.stringify([one.group, one.version, one.kind]), name] as const,
    ),
  ),
);

/** The classes of the client say of each field what its type is, in TypeScript's words. */
interface Typed {
  getAttributeTypeMap(): readonly { readonly baseName: string; readonly type: string }[];
}
const classes = client as unknown as Readonly<Record<string, Typed | undefined>>;
const simple: Readonly<Record<string, Schema>> = {
  string: { type: 'string' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  Date: { type: 'string' },
  any: {},
  object: {},
  IntOrString: intOrString,
};

function typed(type: string, definitions: Record<string, Schema>): Schema {
  const known = simple[type];
  if (known !== undefined) return known;
  const array = /^Array<(.*)>$/.exec(type)?.[1];
  if (array !== undefined) return { type: 'array', items: typed(array, definitions) };
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (map !== undefined) return { type: 'object', additionalProperties: typed(map, definitions) };
  if (definitions[type] === undefined) {
    const one = classes[type];
    if (one === undefined) throw new Error(`@kubernetes/client-node has no type ${type}.`);
    definitions[type] = {};
    const properties = Object.fromEntries(
      one.getAttributeTypeMap().map(({ baseName, type: itsType }) => [baseName, typed(itsType, definitions)]),
    );
    definitions[type] = { type: 'object', properties, additionalProperties: false };
  }
  return { $ref: `#/definitions/${type}` };
}

/** `HorizontalPodAutoscaler` of `autoscaling/v2` is the class V2HorizontalPodAutoscaler; some names carry their group. */
function classOf({ version, kind }: GroupVersionKind): string | null {
  const name = `${version.charAt(0).toUpperCase()}${version.slice(1)}${kind}`;
  return classes[name]?.getAttributeTypeMap === undefined ? null : name;
}

const newest = new Ajv({ strict: false, allErrors: true });
/** A schema is compiled once, as long as it is the same object. */
const newestSchemas = new Map<string, Schema>();
function newestSchema(name: string): Schema {
  const known = newestSchemas.get(name);
  if (known !== undefined) return known;
  const definitions: Record<string, Schema> = {};
  const schema = { ...typed(name, definitions), definitions };
  newestSchemas.set(name, schema);
  return schema;
}

const problems = (object: KubernetesObject, validator: Ajv, schema: Schema): string[] => {
  const isValid: boolean = validator.validate(schema, object as unknown);
  if (isValid) return [];
  return (validator.errors ?? []).map(({ instancePath, message, params }) => {
    const more = 'additionalProperty' in params ? ` (${params.additionalProperty})` : '';
    return `${object.kind} ${object.metadata.name}${instancePath}: ${message}${more}`;
  });
};

export const apis = {
  '1.20': (object: KubernetesObject): string[] => {
    const { group, version, kind } = ofObject(object);
    const name = oldNames.get(JSON.stringify([group, version, kind]));
    if (name === undefined) return [`${object.apiVersion} has no ${kind}.`];
    return problems(object, old, { $ref: `old#/definitions/${name}` });
  },
  newest: (object: KubernetesObject): string[] => {
    const name = classOf(ofObject(object));
    if (name === null) return [`${object.apiVersion} has no ${object.kind}.`];
    return problems(object, newest, newestSchema(name));
  },
} as const;
