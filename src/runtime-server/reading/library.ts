/** Templates, boards and runs as resources for clients of the tool server. Reads; changes nothing. Must not know protocols. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Template, TemplateStep } from '../../contracts/factory/workflow.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Store } from '../../kit/store/store.ts';
import type { AgentRunReader } from '../agent-runs/agent-runs.ts';
import type { Library } from '../tool-server/index.ts';
import type { Workflows } from '../workflows/index.ts';
import { readCampaigns, recentRuns } from '../workflows/store/campaigns.ts';
import { fillIn, type Reference } from '../workflows/template/references.ts';

/** The most entries of each kind in a list. */
const maxListed = 50;

export function createLibrary({
  store,
  workspace,
  workflows,
  agentRuns,
}: {
  readonly store: Pick<Store, 'read'>;
  readonly workspace: string;
  readonly workflows: Pick<Workflows, 'templates' | 'pages'>;
  readonly agentRuns: AgentRunReader;
}): Library {
  const { templates, pages } = workflows;
  const there = async <T>(found: Promise<T>): Promise<T | null> => {
    try {
      return await found;
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return null;
      throw error;
    }
  };

  return {
    prompts: () =>
      templates.list().flatMap(({ read }) => {
        if (!read.ok) return [];
        const { id, name, description, params } = read.template;
        const asked = params.map((param) => ({
          name: param.name,
          ...(param.description === undefined ? {} : { description: param.description }),
          required: param.required && param.default === undefined,
        }));
        const intent = { name: 'intent', description: 'What it is for, in your words.', required: false };
        const named = params.some((param) => param.name === 'intent') ? [] : [intent];
        return [{ name: id, title: name, description, arguments: [...named, ...asked] }];
      }),
    prompt(name, args) {
      const template = templates.use(name);
      const unknown = Object.keys(args).find(
        (given) => given !== 'intent' && !template.params.some((param) => param.name === given),
      );
      if (unknown !== undefined) {
        const known = ['intent', ...template.params.map((param) => param.name)].join(', ');
        throw new AppError('usage', `${name} has no argument ${JSON.stringify(unknown)}.`, `It has: ${known}.`);
      }
      return { description: template.description, text: wordsOf(template, args) };
    },
    boards: () =>
      store.read((tx) =>
        readCampaigns(tx, workspace).map(({ id, title, status, proven, total }) => ({
          id,
          title,
          about: `${status}, ${proven} of ${total} steps done`,
        })),
      ),
    board: (id) => there(pages.board(id)),
    async runs(agentId) {
      const [flows, own] = await Promise.all([
        store.read((tx) => recentRuns(tx, workspace, maxListed)),
        agentRuns.recent(agentId, maxListed),
      ]);
      return [
        ...flows.map((run) => ({
          id: run.dagId,
          title: run.title,
          about: `${run.status}, from ${iso(run.createdAt)}`,
        })),
        ...own.map((run) => ({
          id: run.id,
          title: `Run of ${run.botId} for a ${run.source.kind}`,
          about: `${run.status}, from ${run.startedAt}`,
        })),
      ];
    },
    async run(id, agentId) {
      return (await there(pages.results(id))) ?? (await agentRuns.find(id, agentId));
    },
  };
}

function wordsOf(template: Template, args: Readonly<Record<string, string>>): string {
  const param = (name: string) =>
    Object.hasOwn(args, name) ? args[name] : template.params.find((one) => one.name === name)?.default;
  const fill = (text: string) =>
    fillIn(text, (reference: Reference) => {
      if (reference.kind === 'intent') return args.intent ?? '';
      if (reference.kind === 'param') return param(reference.name) ?? '';
      return `(${reference.what} of the step ${reference.step})`;
    });
  const intent = args.intent === undefined ? [] : [`What it is for: ${args.intent}`];
  const parts = [`# ${template.name}`, fill(template.description), ...intent, ...template.steps.map(stepOf(fill))];
  return parts.filter((part) => part !== '').join('\n\n');
}

function stepOf(fill: (text: string) => string): (step: TemplateStep, index: number) => string {
  return (step, index) =>
    [
      `## ${index + 1}. ${fill(step.title)} (${step.id})`,
      `By ${step.executor}${step.blockedBy.length === 0 ? '' : `, after ${step.blockedBy.join(', ')}`}`,
      fill(step.description),
      ...(step.command === undefined ? [] : [`Command: ${fill(step.command)}`]),
      ...(step.verify === undefined ? [] : [`Checked by: ${fill(step.verify.command)}`]),
      ...step.proof.map(({ line, required }) => `Proof${required ? '' : ' (optional)'}: ${fill(line)}`),
    ]
      .filter((part) => part !== '')
      .join('\n');
}
