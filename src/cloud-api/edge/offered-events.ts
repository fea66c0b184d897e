/**
 * The events that the edge's servers offer, for `events/list` and the catalog: exactly those of the registry. Pure. Must not know who is subscribed.
 */
import { z } from 'zod';
import { type NotifiableEvent, notifiableEvents } from '../../contracts/events/registry.ts';
import type { JsonObject } from '../../kit/mcp/service.ts';

/** `agents`, or `bots/<bot id>`. */
export type EdgeServer = 'agents' | `bots/${string}`;

interface OfferedEvent {
  readonly name: NotifiableEvent;
  readonly title: string;
  readonly description: string;
  readonly servers: readonly ('agents' | 'bots')[];
  readonly payloadSchema: JsonObject;
}

/** Events that no bot causes. */
const ofNoBot: ReadonlySet<NotifiableEvent> = new Set(['usage.threshold']);

const agentsArguments = z.strictObject({
  botId: z.string().min(1).max(200).optional().meta({ description: 'Only events of this bot.' }),
});
const botArguments = z.strictObject({});

export const offeredEvents: readonly OfferedEvent[] = notifiableEvents
  .map(({ type, title, description, payload }) => ({
    name: type,
    title,
    description,
    servers: ofNoBot.has(type) ? (['agents'] as const) : (['agents', 'bots'] as const),
    // Left open: an app that validates payloads must not fail on a new field.
    payloadSchema: schemaOf(z.looseObject(payload.shape)),
  }))
  .toSorted((a, b) => (a.name < b.name ? -1 : 1));

const kindOf = (server: EdgeServer) => (server === 'agents' ? 'agents' : 'bots');
const argumentsOf = (server: EdgeServer) => (server === 'agents' ? agentsArguments : botArguments);
const inputSchemas = { agents: schemaOf(agentsArguments), bots: schemaOf(botArguments) };

export function listedEvents(server: EdgeServer): readonly JsonObject[] {
  return offeredEvents
    .filter(({ servers }) => servers.includes(kindOf(server)))
    .map(({ name, title, description, payloadSchema }) => ({
      name,
      title,
      description,
      delivery: ['webhook'],
      inputSchema: inputSchemas[kindOf(server)],
      payloadSchema,
    }));
}

export function offers(server: EdgeServer, name: string): name is NotifiableEvent {
  return offeredEvents.some((event) => event.name === name && event.servers.includes(kindOf(server)));
}

/** The error in a subscription's arguments; null if they are valid. */
export function argumentsProblem(server: EdgeServer, given: JsonObject): string | null {
  const issue = argumentsOf(server).safeParse(given).error?.issues[0];
  return issue === undefined ? null : ['arguments', ...issue.path.map(String), issue.message].join(': ');
}

/** Whether an event is for a subscription: one at a bot's server, or with a bot's id, gets only that bot's events. */
export function concerns(
  subscription: { readonly server: string; readonly arguments: JsonObject },
  data: { readonly botId?: string | undefined },
): boolean {
  const { server, arguments: given } = subscription;
  if (server !== 'agents' && (data.botId === undefined || server !== `bots/${data.botId}`)) return false;
  return given.botId === undefined || given.botId === data.botId;
}

function schemaOf(type: z.ZodType): JsonObject {
  const { $schema, ...schema } = z.toJSONSchema(type, { io: 'input' });
  return schema;
}
