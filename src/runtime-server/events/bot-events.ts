/**
 * Events about bots, with the bot's name as its person calls it. Used by runs, mail, tickets, and `thread.needs_user`. Must not know where events
 * go.
 */
import type { EventData, NotifiableEvent } from '../../contracts/events/registry.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { RuntimeEvents } from './outbox.ts';

/** A bot's names in an event. */
interface NamedBot {
  readonly id: string;
  readonly slug: string;
  readonly definition: { readonly name: string } | null;
}

export interface BotEvents {
  /** `bot`: agent id or address; null where it is about none. */
  emit<T extends NotifiableEvent>(
    tx: Tx,
    bot: string | null,
    event: { readonly type: T; readonly id: string; readonly data: EventData<T> },
  ): void;
}

/** Longer titles are no titles; the registry takes no more. */
const maxTitleLength = 200;

export function createBotEvents({
  events,
  registry,
}: {
  readonly events: RuntimeEvents;
  readonly registry: { find(idOrAddress: string): NamedBot | null };
}): BotEvents {
  return {
    emit(tx, bot, event) {
      const member = bot === null ? null : registry.find(bot);
      const about = member === null ? {} : { botId: member.id, botName: nameOf(member) };
      events.emit(tx, { ...event, data: { ...about, ...event.data } });
    },
  };
}

export function nameOf(member: Pick<NamedBot, 'slug' | 'definition'>): string {
  return member.definition?.name ?? member.slug;
}

/** Its first line with text, cut to the length of a title. */
export function titleOf(text: string): string {
  const [line = ''] = text.trim().split('\n');
  return line.length > maxTitleLength ? `${line.slice(0, maxTitleLength - 1)}…` : line;
}
