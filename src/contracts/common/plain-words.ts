/**
 * Describes the problem of a value as a person would: the end of a sentence whose beginning names the field. One place for every schema of every
 * program and page; a schema's own message takes precedence. Names kinds, never values: one of them may be a secret.
 */
import { config, type core } from 'zod';

type Issue = core.$ZodRawIssue;

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
  date: 'a date',
};

const formats: Readonly<Record<string, string>> = {
  email: 'must be an email address',
  url: 'must be an address such as https://example.com',
  datetime: 'must be a time such as 2026-01-31T08:30:00.000Z',
  date: 'must be a date such as 2026-01-31',
  uuid: 'must be a UUID',
  base64: 'must be base64',
  ipv4: 'must be an IP address',
  ipv6: 'must be an IP address',
  json_string: 'must be JSON',
};

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return Number.isNaN(value) ? 'an invalid number' : 'a number';
  return kinds[typeof value] ?? 'that';
}

/** `at least 1 character`, `at most 20 entries`, `at least 3`. */
function boundWords(word: string, bound: number | bigint, origin: string): string {
  const one = bound === 1 || bound === 1n;
  if (origin === 'string') return `must have ${word} ${bound} ${one ? 'character' : 'characters'}`;
  if (origin === 'array' || origin === 'set' || origin === 'map')
    return `must have ${word} ${bound} ${one ? 'entry' : 'entries'}`;
  if (origin === 'object') return `must have ${word} ${bound} ${one ? 'field' : 'fields'}`;
  return `must be ${word} ${bound}`;
}

const listed = (values: readonly unknown[]): string =>
  values.map((one) => JSON.stringify(one) ?? String(one)).join(', ');

/** Covers every issue of a schema; one that a later version of the library adds reads as "is not valid". */
export function plainWords(issue: Issue): string {
  const { input } = issue;
  switch (issue.code) {
    case 'invalid_type':
      if (input === undefined) return 'is missing';
      return `must be ${kinds[issue.expected] ?? `a ${issue.expected}`}, not ${kindOf(input)}`;
    case 'invalid_value':
      if (input === undefined) return 'is missing';
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${listed(issue.values)}`;
    case 'too_small':
      if (issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
      return boundWords(issue.inclusive === false ? 'more than' : 'at least', issue.minimum, issue.origin);
    case 'too_big':
      return boundWords(issue.inclusive === false ? 'less than' : 'at most', issue.maximum, issue.origin);
    case 'invalid_format':
      return formats[issue.format] ?? 'has the wrong format';
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return `has ${issue.keys.length === 1 ? 'a field that is' : 'fields that are'} unknown: ${listed(issue.keys)}`;
    case 'invalid_union':
      return input === undefined ? 'is missing' : 'matches none of its allowed forms';
    case 'invalid_key':
      return 'has an invalid name';
    case 'invalid_element':
      return 'has an invalid entry';
    default:
      return 'is not valid';
  }
}

/** Once a program: before its first value is checked. */
config({ customError: plainWords });
