/**
 * A plain verb of a route of the runtime: its options are the fields of the route's query and body, in the words of the contract, and it has
 * `--dry-run` where the route changes something. A field that is added to the route is an option of the verb.
 */
import { z } from 'zod';
import type { Route } from '../contracts/common/route.ts';
import { factoryRoutes } from '../contracts/factory/routes.ts';
import type { Option, Verb } from './command.ts';

interface PlainVerb extends Omit<Verb, 'options' | 'mutation'> {
  /** What the help calls a value; by default the name of its field, and `n` for a number. */
  readonly values?: Readonly<Record<string, string>>;
  /** Fields that the verb fills from its arguments, besides those named like one. */
  readonly filled?: readonly string[];
}

export function plain(
  op: (typeof factoryRoutes)[number]['op'],
  { values = {}, filled = [], ...verb }: PlainVerb,
): Verb {
  const route: Route = factoryRoutes.find((one) => one.op === op)!;
  const args = (verb.args ?? '').match(/\w+/g) ?? [];
  const passed = new Set([...args, ...filled, 'dryRun']);
  const fields = [route.query, route.body].flatMap((part) =>
    part instanceof z.ZodObject ? Object.entries(part.shape) : [],
  );
  const options = fields
    .filter(([name]) => !passed.has(name))
    .map(([name, field]) => optionOf(name, field as z.ZodType, values[name]));
  return {
    ...verb,
    ...(options.length === 0 ? {} : { options }),
    ...(route.method === 'GET' ? {} : { mutation: true }),
  };
}

function optionOf(name: string, field: z.ZodType, value: string | undefined): Option {
  let kind = field;
  while (kind instanceof z.ZodOptional || kind instanceof z.ZodNullable) kind = kind.unwrap() as z.ZodType;
  const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const takes = kind instanceof z.ZodBoolean ? '' : ` <${value ?? (kind instanceof z.ZodNumber ? 'n' : name)}>`;
  const choices =
    kind instanceof z.ZodEnum
      ? `: ${new Intl.ListFormat('en', { type: 'disjunction' }).format(kind.options.map(String))}`
      : '';
  // The contract says it in sentences, the help in phrases.
  const sentence = (field.meta()?.description ?? kind.meta()?.description ?? '').replace(/\.$/, '');
  return { flags: `${flag}${takes}`, about: `${sentence.slice(0, 1).toLowerCase()}${sentence.slice(1)}${choices}` };
}
