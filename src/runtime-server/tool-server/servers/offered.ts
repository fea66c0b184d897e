/**
 * What the enabled servers offer to callers: the current list of all their tools and prompts, and its revision. Must not know rows, nor how a server is
 * reached.
 */

import { AppError } from '../../../contracts/common/errors.ts';
import { placeOf } from '../../../contracts/tool-server/servers.ts';
import type { Base } from '../../base/base.ts';
import type { ForeignPrompts, ForeignTools } from '../foreign-tools.ts';
import type { Attached } from './attached.ts';
import { createCallTool } from './calls.ts';
import { type Catalogue, createCatalogue } from './catalogue.ts';
import { failureOf } from './fault.ts';
import { createFollow, type FollowedServer } from './follow.ts';
import { failure } from './results.ts';

interface Offered {
  readonly tools: ForeignTools;
  /** A server, or its list, is another one. */
  renew(): void;
  /** Tools of a server that gave way to those of others. */
  collisions(id: string): readonly string[];
}

export function createOffered({
  clock,
  timers,
  minPollMs,
  entries,
  find,
}: Pick<Base, 'clock' | 'timers'> & {
  readonly minPollMs: number;
  /** Oldest first. */
  readonly entries: ReadonlyMap<string, Attached>;
  /** Throws `not_found`. */
  readonly find: (id: string) => Attached;
}): Offered {
  const follow = createFollow({ clock, timers, minPollMs });
  const call = createCallTool({ clock, follow });
  let catalogue: Catalogue = createCatalogue([]);
  let revision = 1;

  const prompts: ForeignPrompts = {
    list: () => catalogue.prompts,
    async get(name, args, { signal }) {
      const found = catalogue.findPrompt(name);
      const entry = found === undefined ? undefined : entries.get(found.serverId);
      if (found === undefined || entry === undefined) {
        throw new AppError('not_found', `There is no prompt ${JSON.stringify(name.slice(0, 100))}.`, 'List them.');
      }
      const { name: server, timeoutMs } = entry.record;
      const stop = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      try {
        return await entry.use(stop, (upstream) => upstream.prompt(found.prompt, args, { signal: stop, timeoutMs }));
      } catch (error) {
        const why = failureOf(error, entry.clean)?.message ?? `no answer within ${timeoutMs / 1000} s`;
        const fact = `The attached server "${server}" did not give the prompt: ${why.replace(/(?<![.!?])$/, '.')}`;
        throw new AppError('transport', fact, 'Try again, or look at the server on the Tools page.', { cause: error });
      }
    },
  };

  /**
   * It may be another connection, or none, by the time of a later request; another program than the one at `place` gets nothing that was meant for it.
   */
  function followed(
    { record: { id, name, timeoutMs, hidden }, clean }: Attached,
    place = placeOf(hidden),
  ): FollowedServer {
    const use: FollowedServer['connection']['use'] = async (signal, work) => {
      const entry = find(id);
      if (placeOf(entry.record.hidden) === place) return entry.use(signal, work);
      const fact = `The attached server "${name}" is another one now, and what the earlier one did is not known.`;
      throw new AppError('not_found', fact, 'Call the tool again if it shall run there.');
    };
    return { id, name, place, timeoutMs, connection: { use }, clean };
  }

  return {
    tools: {
      list: () => catalogue.tools,
      prompts,
      get revision() {
        return revision;
      },
      async call(name, args, options) {
        const found = catalogue.find(name);
        const entry = found === undefined ? undefined : entries.get(found.serverId);
        if (found === undefined || entry === undefined) return failure(`There is no tool "${name.slice(0, 100)}".`);
        if (entry.connection === null)
          return failure(`The attached server "${entry.record.name}" cannot be reached: ${entry.whyNone()}`);
        return call(followed(entry), found.tool, args, options);
      },
      async follow(name, task, options) {
        const entry = entries.get(task.server);
        if (entry !== undefined) return follow(followed(entry, task.place), name, task, options);
        return failure(`The attached server of ${name} was detached while it ran: whether it was done is not known.`);
      },
    },
    renew() {
      const enabled = [...entries.values()].filter(({ record }) => record.enabled);
      catalogue = createCatalogue(
        enabled.map(({ record: { id, name }, list }) => ({
          id,
          name,
          tools: list?.tools ?? [],
          prompts: list?.prompts ?? [],
        })),
      );
      revision += 1;
    },
    collisions: (id) => catalogue.problems.get(id) ?? [],
  };
}
