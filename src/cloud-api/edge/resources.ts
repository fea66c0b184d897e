/**
 * The resources that apps may read at the edge beside calling tools: boards and runs at their tool-server addresses, read from the caller's computer.
 * There are no files and no prompts: an app sees bots, not the workspace. Must not know how a computer is asked.
 */
import { hash } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';
import { type AgentRun, getAgentRun, listAgentRuns } from '../../contracts/factory/work-engine/agent-runs.ts';
import { getBoard, listCampaigns } from '../../contracts/factory/workflow-routes.ts';
import { resourcePlaces } from '../../contracts/tool-server/mcp.ts';
import type {
  ListedResource,
  ListedTemplate,
  PromptProvider,
  ResourceContents,
  ResourceProvider,
} from '../../kit/mcp/service.ts';
import type { AskComputer } from './ask-computer.ts';
import type { BotOf } from './run-tools.ts';

const mimeType = 'application/json';
/** Limit for each kind in a list. */
const maxListed = 50;

const runTemplate: ListedTemplate = {
  uriTemplate: `${resourcePlaces.runs}{runId}`,
  name: 'run',
  title: 'A run and its result',
  mimeType,
};
const boardTemplate: ListedTemplate = {
  uriTemplate: `${resourcePlaces.boards}{campaignId}`,
  name: 'board',
  title: 'Board of a campaign',
  mimeType,
};

export const noPrompts: PromptProvider = {
  list: () => ({ items: [], revision: 0 }),
  get(name) {
    throw new AppError('not_found', `There is no prompt ${JSON.stringify(name)}.`, 'This server has no prompts.');
  },
};

/** `botOf`: the bot whose runs are shown, as for the tools. `boards`: off for one bot's server, as a campaign belongs to no single bot. */
export function createEdgeResources(ask: AskComputer, botOf: BotOf, { boards }: { boards: boolean }): ResourceProvider {
  const templates = boards ? [boardTemplate, runTemplate] : [runTemplate];
  return {
    templates: () => ({ items: templates, revision: 1 }),
    async list(request) {
      const computer = ask(request);
      const bot = (await botOf(computer, request)) ?? undefined;
      const [{ runs }, { campaigns }] = await Promise.all([
        computer.get(listAgentRuns, { query: { bot, limit: maxListed } }),
        boards ? computer.get(listCampaigns) : { campaigns: [] },
      ]);
      const items = [
        ...campaigns.map(({ id, title }) => entry(resourcePlaces.boards, id, title)),
        ...runs.map(({ id, source, status }) => entry(resourcePlaces.runs, id, `Run for a ${source.kind}`, status)),
      ];
      return { items, revision: hash('sha256', JSON.stringify(items), 'base64url') };
    },
    async read(uri, request) {
      const computer = ask(request);
      const board = boards ? idIn(uri, resourcePlaces.boards) : null;
      if (board !== null) return asJson(uri, await orNull(computer.get(getBoard, { params: { id: board } })));
      const run = idIn(uri, resourcePlaces.runs);
      if (run === null) return null;
      const bot = await botOf(computer, request);
      const found = await orNull<AgentRun>(computer.get(getAgentRun, { params: { id: run } }));
      // Another bot's run is reported like one that does not exist.
      return asJson(uri, bot !== null && found?.botId !== bot ? null : found);
    },
  };
}

function entry(place: string, id: string, title: string, description?: string): ListedResource {
  const uri = place + encodeURIComponent(id);
  return { uri, name: id, title, ...(description === undefined ? {} : { description }), mimeType };
}

function idIn(uri: string, place: string): string | null {
  if (!uri.startsWith(place) || uri.length === place.length) return null;
  try {
    return decodeURIComponent(uri.slice(place.length));
  } catch {
    return null;
  }
}

function asJson(uri: string, found: object | null): readonly ResourceContents[] | null {
  return found === null ? null : [{ uri, mimeType, text: JSON.stringify(found, null, 2) }];
}

async function orNull<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
}
