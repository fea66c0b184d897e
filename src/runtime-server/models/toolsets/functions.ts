/**
 * The toolsets as plain functions, `browser.left_click`: for every model without its own form for them, and for members that a vendor's form leaves
 * out. Pure. Must not know wires: they write `_` for the dot.
 */
import { z } from 'zod';
import { membersOf, type Toolset, toolsets } from '../../../contracts/computer-use/members.ts';
import type { ToolOffer } from '../model.ts';
import { isRecord, offered, type ReadCall, reading } from './adapter.ts';

/** `only`: names of members, where not all are wanted. */
export function functionOffers(wanted: readonly Toolset[], only?: readonly string[]): ToolOffer[] {
  return wanted.flatMap((toolset) =>
    offered(toolset)
      .filter((name) => only === undefined || only.includes(name))
      .map((name) => ({
        name: `${toolset}.${name}`,
        description: membersOf[toolset][name]?.about ?? '',
        inputSchema: plainSchema(z.toJSONSchema(membersOf[toolset][name]?.input ?? z.object({}), { io: 'input' })),
      })),
  );
}

export const readFunction: ReadCall = (call, context) => {
  const toolset = toolsets.find((name) => call.name.startsWith(`${name}.`));
  if (call.problem !== undefined) return { problem: call.problem };
  if (toolset === undefined) return { problem: `There is no tool "${call.name}".` };
  if (!isRecord(call.input)) return { problem: `The arguments of ${call.name} are not an object.` };
  return reading([{ toolset, member: call.name.slice(toolset.length + 1), input: call.input }], context);
};

/**
 * Only features that every server reads: no `$schema`, no null beside a type (omitting the field means the same), tuples as lists of a fixed length.
 */
function plainSchema(value: unknown): Record<string, unknown> {
  if (!isRecord(value)) return {};
  const { $schema: _, additionalProperties: __, prefixItems, anyOf, oneOf, ...rest } = value;
  const choices = [...list(anyOf), ...list(oneOf)].filter((one) => !(isRecord(one) && one.type === 'null'));
  const [only] = choices;
  if (choices.length === 1) return { ...rest, ...plainSchema(only) };
  const plain: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(rest)) {
    if (key === 'properties' && isRecord(inner)) {
      plain[key] = Object.fromEntries(Object.entries(inner).map(([name, schema]) => [name, plainSchema(schema)]));
    } else plain[key] = key === 'items' ? plainSchema(inner) : inner;
  }
  if (choices.length > 1) plain.anyOf = choices.map(plainSchema);
  const tuple = list(prefixItems);
  if (tuple.length > 0) {
    Object.assign(plain, { items: plainSchema(tuple[0]), minItems: tuple.length, maxItems: tuple.length });
  }
  return plain;
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
