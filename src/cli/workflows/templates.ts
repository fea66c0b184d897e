/** `gantry workflows templates|show|check|save`. */
import { exitCode } from '../../contracts/common/errors.ts';
import type { TeamProblem } from '../../contracts/factory/agent.ts';
import type { Template } from '../../contracts/factory/workflow.ts';
import { type Action, flag, optionalText, text } from '../command.ts';
import { facts, table } from '../table.ts';
import { count, inCell, oneLine } from '../words.ts';

export const list: Action = async (context) => {
  const { factory } = await context.connect();
  const answer = await factory.listTemplates();
  context.output.result(answer, () => {
    const rows = answer.templates.map((one) => [
      one.id,
      String(one.steps),
      String(one.params),
      oneLine(one.description === '' ? one.name : one.description, 200),
    ]);
    const broken = answer.invalid.map((one) => verdict(one.id, one.problems));
    return [table(['template', 'steps', 'params', 'what it is for'], rows, context.output.width), ...broken].join('\n');
  });
  return undefined;
};

export const show: Action = async (context, input) => {
  const { factory } = await context.connect();
  const template = await factory.getTemplate({ params: { id: text(input, 'template') } });
  context.output.result(template, () => inWords(template, context.output.width));
  return undefined;
};

function inWords(template: Template, width: number): string {
  const params = template.params.map((one) => [
    one.name,
    one.required ? 'must be given' : `default ${JSON.stringify(one.default ?? '')}`,
    oneLine(one.description ?? '', 200),
  ]);
  const steps = template.steps.map((one) => [
    one.id,
    one.executor,
    one.blockedBy.join(', ') || '-',
    one.onFail,
    oneLine(one.command ?? one.title, 200),
  ]);
  return [
    facts([
      ['template', template.id],
      ['name', template.name],
      ['for', template.description === '' ? null : oneLine(template.description, 500)],
    ]),
    ...(params.length === 0 ? [] : ['', table(['param', 'value', 'about'], params, width)]),
    '',
    table(['step', 'by', 'after', 'on failure', 'what'], steps, width),
  ].join('\n');
}

export const check: Action = async (context, input) => {
  const { factory } = await context.connect();
  const id = optionalText(input, 'template');
  if (id !== undefined) {
    const answer = await factory.checkTemplate({ params: { id } });
    context.output.result(answer, () => verdict(answer.id, answer.problems));
    return answer.ok ? undefined : exitCode.usage;
  }
  const { templates, invalid } = await factory.listTemplates();
  const checked = [
    ...templates.map((one) => ({ id: one.id, ok: true, problems: [] as TeamProblem[] })),
    ...invalid.map((one) => ({ id: one.id, ok: false, problems: one.problems })),
  ];
  const ok = invalid.length === 0;
  context.output.result({ ok, templates: checked }, () =>
    checked.map((one) => verdict(one.id, one.problems)).join('\n'),
  );
  return ok ? undefined : exitCode.usage;
};

function verdict(id: string, problems: readonly TeamProblem[]): string {
  if (problems.length === 0) return `${inCell(id)}: no problems`;
  const lines = problems.map((one) => {
    const line = one.line === null ? '' : `line ${one.line}, `;
    return `  ${line}${inCell(one.path || 'file')}: ${oneLine(one.message, 500)}`;
  });
  return `${inCell(id)}: ${count(problems.length, 'problem')}\n${lines.join('\n')}`;
}

export const save: Action = async (context, input) => {
  const { factory } = await context.connect();
  const answer = await factory.saveTemplate({
    body: {
      fromRun: text(input, 'run'),
      id: optionalText(input, 'id'),
      force: flag(input, 'force') || undefined,
      dryRun: flag(input, 'dryRun') || undefined,
    },
  });
  context.output.result(answer, () => {
    const saved = 'saved' in answer ? answer.saved : answer.plan;
    const verb = 'saved' in answer ? 'Saved' : 'Would save';
    const more = [
      saved.replaces ? 'It replaces the one that was there.' : '',
      saved.fromRun.finished ? '' : 'Not every step of the run had ended.',
    ].filter((words) => words !== '');
    return [`${verb} the run as template ${saved.id} (${count(saved.steps, 'step')}).`, ...more].join(' ');
  });
  return undefined;
};
