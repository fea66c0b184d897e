/** Text that must not act on anybody's terminal, and schema values full of it. */

export const forged = 'FORGED';

/** An escape sequence, C1, marks of direction, a lone carriage return, a tab, and a line that looks like a row. `mark` tells it apart. */
export const hostileText = (mark = ''): string =>
  `${mark}a\u001b]52;c;ZXZpbA==\u0007\u009b31m\u202e\u2066\u2028\rb\r\n${forged} row\tc`;

export const at = '2026-01-02T03:00:00.000Z';

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly prefixItems?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly minimum?: number;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/** How a sample is made: `turn` picks among alternatives, `text` says what stands in the text of a field, such as `run.intent`. */
export interface Sampling {
  readonly turn: number;
  readonly text: (path: string) => string;
}

/** A value of the schema. */
export function sampleOf(whole: JsonSchema, { turn, text }: Sampling): unknown {
  const defs = whole.$defs ?? {};
  const sample = (schema: JsonSchema, depth: number, path: string): unknown => {
    const inner = (one: JsonSchema) => sample(one, depth + 1, path);
    if (schema.$ref !== undefined) return depth > 12 ? null : inner(defs[schema.$ref.replace('#/$defs/', '')] ?? {});
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return schema.enum[turn % schema.enum.length];
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return inner(choices[turn % choices.length] ?? {});
    if (schema.allOf !== undefined) return Object.assign({}, ...schema.allOf.map(inner));
    switch (typeof schema.type === 'string' ? schema.type : schema.type?.[turn % schema.type.length]) {
      case 'string':
        return schema.format === 'date-time' ? at : text(path);
      case 'integer':
      case 'number':
        return Math.max(1, schema.minimum ?? 1);
      case 'boolean':
        return turn % 2 === 1;
      case 'null':
        return null;
      case 'array':
        return schema.prefixItems?.map(inner) ?? (depth > 12 ? [] : [inner(schema.items ?? {})]);
      case 'object': {
        const own = Object.entries(schema.properties ?? {}).map(([name, one]) => [
          name,
          sample(one, depth + 1, path === '' ? name : `${path}.${name}`),
        ]);
        const { additionalProperties: more } = schema;
        const free = typeof more === 'object' && depth < 12 ? [[text(path), inner(more)]] : [];
        return Object.fromEntries([...own, ...free]);
      }
      default:
        return text(path);
    }
  };
  return sample(whole, 0, '');
}
