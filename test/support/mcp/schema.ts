/**
 * Whether an answer is what the protocol's own schema of its version says (test/data/mcp-schema). An `id` of null, which JSON-RPC asks
 * for where none could be read, is left out before: those schemas do not have it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type AnySchema, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';

const folder = join(import.meta.dirname, '..', '..', 'data', 'mcp-schema');

const resultOf: Readonly<Record<string, string>> = {
  initialize: 'InitializeResult',
  ping: 'EmptyResult',
  'server/discover': 'DiscoverResult',
  'tools/list': 'ListToolsResult',
  'tools/call': 'CallToolResult',
  'prompts/list': 'ListPromptsResult',
  'prompts/get': 'GetPromptResult',
  'resources/list': 'ListResourcesResult',
  'resources/templates/list': 'ListResourceTemplatesResult',
  'resources/read': 'ReadResourceResult',
  'completion/complete': 'CompleteResult',
};

const validators = new Map<string, ValidateFunction>();

function validator(version: string, name: string): ValidateFunction {
  const key = `${version} ${name}`;
  let found = validators.get(key);
  if (found === undefined) {
    const schema = JSON.parse(readFileSync(join(folder, `${version}.json`), 'utf8')) as Record<string, unknown>;
    const modern = schema.$defs !== undefined;
    const place = modern ? '$defs' : 'definitions';
    const options = { strict: false, validateFormats: false };
    const ajv = modern ? new Ajv2020(options) : new Ajv(options);
    const { $schema: _, ...rest } = schema;
    if (!Object.hasOwn(schema[place] as object, name)) throw new Error(`${version} has no ${name}`);
    found = ajv.compile({ ...rest, $ref: `#/${place}/${name}` } as AnySchema);
    validators.set(key, found);
  }
  return found;
}

/** Every way in which the body breaks its schema; none of a good answer. */
export function schemaProblems(version: string, method: string, body: unknown): string[] {
  const { id, ...rest } = body as { id?: unknown; result?: unknown; error?: unknown };
  const newest = version >= '2025-11-25';
  if (rest.error !== undefined) {
    const whole = id === null ? { ...rest, ...(newest ? {} : { id: 0 }) } : { ...rest, id };
    return problems(validator(version, newest ? 'JSONRPCErrorResponse' : 'JSONRPCError'), whole);
  }
  const kind = newest ? 'JSONRPCResultResponse' : 'JSONRPCResponse';
  const name = resultOf[method];
  if (name === undefined) throw new Error(`No result of ${method} is known.`);
  return [...problems(validator(version, kind), body), ...problems(validator(version, name), rest.result)];
}

function problems(validate: ValidateFunction, value: unknown): string[] {
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
