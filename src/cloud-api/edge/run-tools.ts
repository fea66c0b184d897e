/** Runs of bots as both servers show them; the server decides whose runs. Must not know how a computer is asked. */
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { Id } from '../../contracts/common/values.ts';
import {
  type AgentRun,
  agentRunSources,
  agentRunStatuses,
  getAgentRun,
} from '../../contracts/factory/work-engine/agent-runs.ts';
import type { McpRequest } from '../../kit/mcp/service.ts';
import type { AskedComputer } from './ask-computer.ts';
import { type EdgeTool, edgeTool } from './tools.ts';

/** The JSON page that routes return. */
export const pages = {
  limit: z.int().min(1).max(200).optional().meta({ description: 'Default 50.' }),
  cursor: z.string().max(500).optional().meta({ description: '`nextCursor` of the previous answer.' }),
};

export const runFilter = {
  source: z.enum(agentRunSources).optional().meta({ description: 'What started it.' }),
  ref: z
    .string()
    .max(300)
    .optional()
    .meta({ description: 'Id within that source, such as that of a step; with `source`.' }),
  status: z.enum(agentRunStatuses).optional(),
};
const oneRun = z.strictObject({ run: Id.meta({ description: 'Id of a run, from list_runs.' }) });

/** The bot whose runs are shown; null for all of the person's. Throws if the bot is not the caller's. */
export type BotOf = (computer: AskedComputer, request: McpRequest) => Promise<string | null>;

export function runTools(botOf: BotOf, of: string): readonly EdgeTool[] {
  const find = async (id: string, computer: AskedComputer, request: McpRequest): Promise<AgentRun> => {
    const bot = await botOf(computer, request);
    const run = await computer.get(getAgentRun, { params: { id } });
    // Another bot's run is reported like one that does not exist.
    if (bot !== null && run.botId !== bot)
      throw new AppError('not_found', `There is no run ${JSON.stringify(id)}.`, 'List them with list_runs.');
    return run;
  };
  return [
    edgeTool({
      name: 'get_run',
      title: 'Get a run',
      description: `One run of ${of}: what started it, its state and its times. get_run_result has its output.`,
      input: oneRun,
      async run({ run: id }, computer, request) {
        const { output, error, ...run } = await find(id, computer, request);
        return run;
      },
    }),
    edgeTool({
      name: 'get_run_result',
      title: 'Get the result of a run',
      description: `The output of a run of ${of}, or why it failed. A running one has neither.`,
      input: oneRun,
      async run({ run }, computer, request) {
        const { id, status, endedAt, output = null, error = null } = await find(run, computer, request);
        return { id, status, endedAt, output, error };
      },
    }),
  ];
}
