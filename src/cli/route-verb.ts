/**
 * A verb of one route. Arguments and options fill the route's fields of the same name, and `--json` prints the route's answer. The verb adds
 * only the text that a person reads. Must not know any part.
 *
 * @example
 * // `gantry workspace board <campaign>`: the route calls the campaign `id`.
 * export const board = verb('getBoard', {
 *   fields: { id: 'campaign' },
 *   words: ({ campaign }) => inCell(campaign.title),
 * });
 */
import { z } from 'zod';
import type { CallOptions, Client, RouteResult } from '../client/client.ts';
import { AppError } from '../contracts/common/errors.ts';
import type { Route } from '../contracts/common/route.ts';
import { QueryFlag } from '../contracts/common/values.ts';
import { factoryRoutes } from '../contracts/factory/routes.ts';
import {
  type Action,
  type Context,
  flag,
  type Input,
  integer,
  optionalFlag,
  optionalText,
  text,
  words,
} from './command.ts';
import { followed } from './followed.ts';
import { keptWords, report } from './report.ts';

type Awaitable<T> = T | Promise<T>;
const parts = ['params', 'query', 'body'] as const;
type FieldsOf<R extends Route, Part extends (typeof parts)[number]> = R extends {
  readonly [key in Part]: infer Schema extends z.ZodObject;
}
  ? z.input<Schema>
  : unknown;
/** One route at a time: the product of the fields of all would be too many. */
type Fields<R extends Route> = R extends Route
  ? FieldsOf<R, 'params'> & FieldsOf<R, 'query'> & FieldsOf<R, 'body'>
  : never;
type RouteOf<T extends readonly Route[], Op> = Extract<T[number], { readonly op: Op }>;

interface Own<R extends Route> {
  /** For fields with another name on the command line: the argument or option, or a function that makes the value. */
  readonly fields?: {
    readonly [Name in keyof Fields<R>]?: string | ((input: Input, context: Context) => Awaitable<Fields<R>[Name]>);
  };
  /** What a person reads; not asked with `--json`. */
  words(answer: RouteResult<R>, context: Context, input: Input): Awaitable<string>;
  /** For a call that may take long: the first words of the line that says how far it is. */
  readonly progress?: string;
  /** The exit code, where an answer can mean another one than 0. */
  exit?(answer: RouteResult<R>): number;
}

/** Makes verbs of the routes of a server that `connect` reaches. */
export function verbsOf<const T extends readonly Route[]>(
  routes: T,
  connect: (context: Context, input: Input) => Awaitable<Client<T>>,
) {
  return <Op extends T[number]['op']>(op: Op, own: Own<RouteOf<T, Op>>): Action => {
    const route = routes.find((one) => one.op === op) as Route;
    return async (context, input) => {
      const asked = await requestOf(route, own.fields ?? {}, context, input);
      const reported = await report(context, op, asked);
      if (reported !== null && 'kept' in reported) {
        context.output.result(reported.kept, keptWords);
        return undefined;
      }
      const send = async () => {
        const client = (await connect(context, input)) as Readonly<Record<string, unknown>>;
        const call = (headers: Readonly<Record<string, string>>) =>
          (client[op] as (asked: Request, options: CallOptions) => Promise<unknown>)(asked, { headers });
        return own.progress === undefined ? call({}) : followed(context, own.progress, call);
      };
      const answer = (reported === null ? await send() : reported.answer) as RouteResult<RouteOf<T, Op>>;
      const read = context.output.json ? '' : await own.words(answer, context, input);
      context.output.result(answer, () => read);
      return own.exit?.(answer);
    };
  };
}

/** A verb of the runtime. */
export const verb = verbsOf(factoryRoutes, async (context) => (await context.connect()).factory);

/** Chooses a verb by the first of these arguments and options that is given. */
export function byOption(ways: Readonly<Record<string, Action>>, otherwise: Action): Action {
  return (context, input) => {
    const given = Object.keys(ways).find((name) => flag(input, name) || optionalText(input, name) !== undefined);
    return (given === undefined ? otherwise : ways[given]!)(context, input);
  };
}

type Request = Record<string, Record<string, unknown>>;

async function requestOf(route: Route, own: object, context: Context, input: Input): Promise<Request> {
  const request: Request = {};
  const made = new Map<string, () => Promise<void>>();
  for (const part of parts) {
    const schema = route[part] as z.ZodObject | undefined;
    if (schema === undefined) continue;
    const values: Record<string, unknown> = {};
    request[part] = values;
    for (const [name, field] of Object.entries(schema.shape)) {
      const from: unknown = name in own ? own[name as never] : name;
      if (typeof from === 'function') {
        made.set(name, async () => {
          values[name] = await from(input, context);
        });
      } else values[name] = given(field as z.ZodType, input, String(from));
    }
  }
  // Check what was typed before connecting: a typing mistake can be reported without a runtime.
  for (const name of Object.keys(own)) await made.get(name)?.();
  return request;
}

/** `undefined` when it was not given and may be left out. */
function given(field: z.ZodType, input: Input, name: string): unknown {
  if (field === QueryFlag) return flag(input, name) ? '1' : undefined;
  let kind = field;
  while (kind instanceof z.ZodOptional || kind instanceof z.ZodNullable) kind = kind.unwrap() as z.ZodType;
  if (kind instanceof z.ZodNumber) return integer(input, name, kind.minValue ?? 0, kind.maxValue ?? 1_000_000);
  if (kind instanceof z.ZodBoolean) return optionalFlag(input, name);
  const several = words(input, name).join(' ');
  const value = several !== '' ? several : field.isOptional() ? optionalText(input, name) : text(input, name);
  if (value !== undefined && kind instanceof z.ZodEnum && !kind.options.includes(value)) {
    throw new AppError('usage', `${JSON.stringify(value)} is not a valid ${name}.`, `Use ${kind.options.join(', ')}.`);
  }
  return value;
}
