/** `gantry workspace campaigns|board`. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Board } from '../../contracts/factory/board.ts';
import { type Action, type Context, flag, type Input, optionalText, text } from '../command.ts';
import { table } from '../table.ts';
import { inCell, oneLine, spoken } from '../words.ts';
import { nodeTable } from './show-nodes.ts';

export const campaigns: Action = async (context, input) => {
  const title = optionalText(input, 'create');
  if (title !== undefined) return create(context, input, title);
  const { factory } = await context.connect();
  const answer = await factory.listCampaigns();
  context.output.result(answer, () => {
    if (answer.campaigns.length === 0) {
      return `No campaigns yet. A run opens one: ${context.names.gantry} workflows run <template> --project <project>`;
    }
    const rows = answer.campaigns.map((one) => [
      one.id,
      one.status,
      `${one.proven}/${one.total}`,
      one.needsYou === 0 ? '-' : String(one.needsYou),
      oneLine(one.title, 200),
    ]);
    return table(['campaign', 'status', 'proven', 'needs you', 'title'], rows, context.output.width);
  });
  return undefined;
};

async function create(context: Context, input: Input, title: string): Promise<undefined> {
  const intent = optionalText(input, 'intent');
  if (intent === undefined) throw new AppError('usage', 'A campaign needs an intent.', 'Give --intent "<text>".');
  const { factory } = await context.connect();
  const answer = await factory.createCampaign({ body: { title, intent, dryRun: flag(input, 'dryRun') || undefined } });
  context.output.result(answer, () =>
    'dryRun' in answer ? `Would open the campaign ${JSON.stringify(title)}.` : `Campaign ${answer.id} is open.`,
  );
  return undefined;
}

export const board: Action = async (context, input) => {
  const { factory } = await context.connect();
  const answer = await factory.getBoard({ params: { id: text(input, 'campaign') } });
  context.output.result(answer, () => inWords(context, answer));
  return undefined;
};

function inWords(context: Context, { campaign, summary, runs, waves }: Board): string {
  const part = (name: string, refs: Board['summary']['now']) =>
    refs.length === 0 ? [] : [`${name}: ${refs.map((ref) => oneLine(ref.title, 80)).join(', ')}`];
  return [
    `${inCell(campaign.title)}: ${summary.proven.k} of ${summary.proven.n} proven`,
    ...part('Needs you', summary.needsYou),
    ...part('Now', summary.now),
    ...part('Next', summary.next),
    ...runs.map((run) => `Run ${run.dagId}: ${spoken(run.status)} (${oneLine(run.title, 80)})`),
    ...waves.map((wave) => `\nWave ${wave.depth + 1}\n${nodeTable(context, wave.nodes)}`),
  ].join('\n');
}
