/**
 * The limits of somebody else's schema before it is compiled, and of a value before it is checked: depth, number of properties, patterns and other
 * costly things. Pure.
 */
import { deepest } from './messages.ts';

/** Schemas within one: properties, branches, definitions. */
const maxParts = 1000;
const maxPatterns = 64;
const maxPatternLength = 256;
/** Items of a list whose items must differ. */
const maxUnique = 1000;

/** Members that hold schemas by name, and those that hold a list of schemas. */
const maps = new Set(['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties']);
const lists = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems']);
/** Members that hold values. */
const values = new Set(['const', 'default', 'enum', 'examples', 'required', 'type']);

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Why a schema is not compiled, as the end of a sentence that begins with "it"; null: it may be. */
export function schemaProblem(schema: Json): string | null {
  if (isDeeper(schema, deepest)) return `is nested deeper than ${deepest}`;
  let parts = 0;
  let patterns = 0;
  // The list grows during the walk; anything that may be a schema is treated as one.
  const open: unknown[] = [schema];
  const pattern = (text: string) => {
    patterns += 1;
    return text.length > maxPatternLength;
  };
  for (const part of open) {
    if (!isObject(part)) continue;
    parts += 1;
    if (parts > maxParts) return `has more than ${maxParts} properties and branches`;
    for (const [name, value] of Object.entries(part)) {
      if (name === '__proto__') return 'has a member "__proto__"';
      if (name === '$async') return 'asks to be checked later ($async)';
      if (values.has(name)) continue;
      if (name === 'pattern' && typeof value === 'string' && pattern(value)) return longPattern;
      if (name === 'patternProperties' && isObject(value)) {
        for (const text of Object.keys(value)) if (pattern(text)) return longPattern;
      }
      if (patterns > maxPatterns) return `has more than ${maxPatterns} patterns`;
      if (maps.has(name) && isObject(value)) {
        if (Object.hasOwn(value, '__proto__')) return 'has a member "__proto__"';
        open.push(...Object.values(value));
      } else if (lists.has(name) && Array.isArray(value)) open.push(...value);
      else open.push(value);
    }
  }
  return null;
}

const longPattern = `has a pattern of more than ${maxPatternLength} characters`;

/** Why a value is not checked, as a sentence; null: it may be. */
export function valueProblem(schema: string, value: unknown): string | null {
  if (isDeeper(value, deepest)) return `It is nested deeper than ${deepest}.`;
  if (schema.includes('"uniqueItems"') && hasLonger(value, maxUnique)) {
    return `It has a list of more than ${maxUnique} items, too many to check that they differ.`;
  }
  return null;
}

/** Whether a value nests deeper than `levels`; looks no deeper itself. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}

function hasLonger(value: unknown, length: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value) && value.length > length) return true;
  return Object.values(value).some((member) => hasLonger(member, length));
}
