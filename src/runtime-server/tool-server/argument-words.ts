/**
 * Explains wrong arguments of a call in sentences that its caller can act on: the schema libraries' messages use their own terms. Pure; must not
 * know tools.
 */
import type { z } from 'zod';
import { nearestOf } from '../../contracts/common/nearest.ts';

type Issue = z.core.$ZodIssue;

const maxIssues = 5;
const maxValueLength = 60;

/** `names`: of the existing arguments. */
export function wrongArguments(issues: readonly Issue[], given: unknown, names: readonly string[]): string {
  return issues
    .slice(0, maxIssues)
    .map((issue) => sentence(issue, given, names))
    .join(' ');
}

function sentence(issue: Issue, given: unknown, names: readonly string[]): string {
  const path = issue.path.map(String);
  const name = path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = path.length === 0 ? names : [];
    return issue.keys.map((key) => unknown([...path, key].join('.'), key, known)).join(' ');
  }
  const value = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], given);
  if (value === undefined && name !== '') return missing(name);
  if (issue.code === 'invalid_type') return wrongType(name, issue.expected, value);
  if (issue.code === 'invalid_value') {
    return `${name} must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(shown).join(', ')}, not ${shown(value)}.`;
  }
  return `${name === '' ? 'The arguments' : name}: ${issue.message.replace(/(?<![.!?])$/, '.')}`;
}

export const missing = (name: string): string => `${name} is missing.`;

export function unknown(name: string, key: string, known: readonly string[]): string {
  const near = nearestOf(key, known);
  if (near !== undefined) return `${name} is not known; did you mean ${near}?`;
  return `${name} is not known${known.length === 0 ? '' : `; known: ${known.join(', ')}`}.`;
}

/** `type` as JSON Schema and zod call it. */
export function wrongType(name: string, type: string, value: unknown): string {
  const wanted = kinds[type] ?? type;
  return `${name === '' ? 'the arguments' : name} must be ${wanted}, not ${shown(value)}.`;
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text;
}
