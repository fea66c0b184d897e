/** `gantry` alone: what needs the person on this computer, and the commands that continue from here. */
import { AppError } from '../../contracts/common/errors.ts';
import { connectHome, heldHere } from '../approvals/home.ts';
import type { Action, Context } from '../command.ts';
import type { FactoryClient } from '../connect.ts';
import { paint } from '../paint.ts';
import { table } from '../table.ts';
import { count, inCell, inset, lasting, oneLine, spoken } from '../words.ts';

/** More than a screen of each is read with the command that lists them all. */
const maxShown = 10;
/** Older ones are on the Work page. */
const maxCampaigns = 20;

export const home: Action = async (context) => {
  const { gantry, start } = context.names;
  let factory: FactoryClient;
  try {
    factory = (await context.connect()).factory;
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'transport')) throw error;
    const next = [`Start it: ${start}`, `All commands: ${gantry} --help`];
    context.output.result({ running: false }, () => [inCell(error.fact), ...next].join('\n'));
    return undefined;
  }
  const [{ agents }, approvals, runs] = await Promise.all([
    factory.listAgents(),
    readApprovals(context),
    readRuns(factory),
  ]);
  const bots = agents.filter((agent) => agent.state === 'needs_you');
  context.output.result({ running: true, approvals, bots, runs }, () => {
    const { width } = context.output;
    const blocks = [
      block(
        count(approvals.length, 'approval'),
        approvals.slice(0, maxShown).map((one) => [one.id, one.risk, oneLine(one.title, 200)]),
        ['approval', 'risk', 'asks'],
        `Read and answer: ${gantry} workspace approvals`,
        width,
      ),
      block(
        `${count(bots.length, 'bot')} waiting for you`,
        bots
          .slice(0, maxShown)
          .map((one) => [one.address, lasting(one.since, context.now()), oneLine(one.stateReason ?? '', 200)]),
        ['bot', 'for', 'reason'],
        `Look: ${gantry} agents attach ${inCell(bots[0]?.address ?? '')}`,
        width,
      ),
      block(
        `${count(runs.length, 'run')} stopped`,
        runs.slice(0, maxShown).map((one) => [one.dagId, spoken(one.status), oneLine(one.title, 200)]),
        ['run', 'status', 'title'],
        `See why: ${gantry} why ${inCell(runs[0]?.dagId ?? '')}`,
        width,
      ),
    ].filter((one) => one !== null);
    const working = agents.filter((agent) => agent.state === 'working').length;
    const up = agents.filter((agent) => agent.state !== 'offline').length;
    const state = up === 0 ? 'No bots are running.' : `${count(up, 'bot')} running, ${working} at work.`;
    const head = blocks.length === 0 ? [`Nothing needs you. ${state}`] : [...blocks, state];
    const next =
      up === 0
        ? [`Start a team: ${gantry} teams ls`, `Or try the demo: ${gantry} teams demo`]
        : [`Open the page: ${gantry} open`, `Write to a bot: ${gantry} orchestration send <bot@team> "Hello"`];
    return [...head, [...next, `All commands: ${gantry} --help`].join('\n')].join('\n\n');
  });
  return undefined;
};

function block(title: string, rows: string[][], heads: string[], next: string, width: number): string | null {
  if (rows.length === 0) return null;
  return `${paint('bold', title)}\n${inset(table(heads, rows, width <= 0 ? width : width - 2))}\n  ${next}`;
}

/** A bot answers none; where the home cloud cannot be reached, those that wait here. */
async function readApprovals(context: Context) {
  try {
    const cloud = await connectHome(context);
    return (await cloud.listApprovals({ query: { state: 'pending' } })).approvals;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'refused') return [];
    if (error.code !== 'transport') throw error;
    return (await heldHere(context)).approvals;
  }
}

/** Runs of the newest campaigns that failed or wait for the person. */
async function readRuns(factory: FactoryClient) {
  const { campaigns } = await factory.listCampaigns();
  const under = campaigns.filter((one) => one.status === 'active').slice(0, maxCampaigns);
  const boards = await Promise.all(under.map((one) => factory.getBoard({ params: { id: one.id } })));
  return boards.flatMap(({ runs }) => runs.filter((run) => run.status === 'failed' || run.status === 'needs_you'));
}
