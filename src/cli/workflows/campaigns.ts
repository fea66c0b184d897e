/** `gantry workspace campaigns|board`. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Board } from '../../contracts/factory/board.ts';
import { type Context, optionalText } from '../command.ts';
import { byOption, verb } from '../route-verb.ts';
import { listed } from '../table.ts';
import { inCell, oneLine, spoken } from '../words.ts';
import { runBudget } from './budgets.ts';
import { nodeTable } from './show-nodes.ts';

const list = verb('listCampaigns', {
  words: (answer, context) => {
    const none = `No campaigns yet. A run opens one: ${context.names.gantry} workflows run <template> --project <project>`;
    return listed(context, answer.campaigns, none, {
      campaign: (one) => one.id,
      status: (one) => one.status,
      done: (one) => `${one.proven}/${one.total}`,
      'needs you': (one) => (one.needsYou === 0 ? '-' : String(one.needsYou)),
      title: (one) => oneLine(one.title, 200),
    });
  },
});

const create = verb('createCampaign', {
  fields: {
    title: 'create',
    intent: (input) => {
      const intent = optionalText(input, 'intent');
      if (intent === undefined) throw new AppError('usage', 'A campaign needs an intent.', 'Give --intent "<text>".');
      return intent;
    },
    budget: runBudget,
  },
  words: (answer) =>
    'dryRun' in answer
      ? `Would open the campaign ${JSON.stringify(answer.plan.title)}.`
      : `Campaign ${answer.id} is open.`,
});

export const campaigns = byOption({ create }, list);

export const board = verb('getBoard', { fields: { id: 'campaign' }, words: inWords });

function inWords({ campaign, summary, runs, waves }: Board, context: Context): string {
  const part = (name: string, refs: Board['summary']['now']) =>
    refs.length === 0 ? [] : [`${name}: ${refs.map((ref) => oneLine(ref.title, 80)).join(', ')}`];
  return [
    `${inCell(campaign.title)}: ${summary.proven.k} of ${summary.proven.n} done`,
    ...part('Needs you', summary.needsYou),
    ...part('Now', summary.now),
    ...part('Next', summary.next),
    ...runs.map((run) => `Run ${run.dagId}: ${spoken(run.status)} (${oneLine(run.title, 80)})`),
    ...waves.map((wave) => `\nWave ${wave.depth + 1}\n${nodeTable(context, wave.nodes)}`),
  ].join('\n');
}
