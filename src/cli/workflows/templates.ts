/** `gantry workflows templates|show|check|save`. */
import { exitCode } from '../../contracts/common/errors.ts';
import type { TeamProblem } from '../../contracts/factory/agent.ts';
import type { Template } from '../../contracts/factory/workflow.ts';
import type { Action } from '../command.ts';
import { byOption, verb } from '../route-verb.ts';
import { facts, table } from '../table.ts';
import { count, inCell, oneLine } from '../words.ts';

export const list = verb('listTemplates', {
  words: ({ templates, invalid }, { output }) => {
    const rows = templates.map((one) => [
      one.id,
      String(one.steps),
      String(one.params),
      oneLine(one.description === '' ? one.name : one.description, 200),
    ]);
    const broken = invalid.map((one) => verdict(one.id, one.problems));
    return [table(['template', 'steps', 'params', 'what it is for'], rows, output.width), ...broken].join('\n');
  },
});

export const show = verb('getTemplate', {
  fields: { id: 'template' },
  words: (template, { output }) => inWords(template, output.width),
});

function inWords(template: Template, width: number): string {
  const params = template.params.map((one) => [
    one.name,
    one.required ? 'required' : `default ${JSON.stringify(one.default ?? '')}`,
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

const checkOne = verb('checkTemplate', {
  fields: { id: 'template' },
  words: ({ id, problems }) => verdict(id, problems),
  exit: ({ ok }) => (ok ? 0 : exitCode.usage),
});

const checkAll: Action = async (context) => {
  const { factory } = await context.connect();
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

export const check = byOption({ template: checkOne }, checkAll);

function verdict(id: string, problems: readonly TeamProblem[]): string {
  if (problems.length === 0) return `${inCell(id)}: no problems`;
  const lines = problems.map((one) => {
    const line = one.line === null ? '' : `line ${one.line}, `;
    return `  ${line}${inCell(one.path || 'file')}: ${oneLine(one.message, 500)}`;
  });
  return `${inCell(id)}: ${count(problems.length, 'problem')}\n${lines.join('\n')}`;
}

export const save = verb('saveTemplate', {
  fields: { fromRun: 'run' },
  words: (answer) => {
    const saved = 'saved' in answer ? answer.saved : answer.plan;
    const done = 'saved' in answer ? 'Saved' : 'Would save';
    const more = [
      saved.replaces ? 'It replaces the previous one.' : '',
      saved.fromRun.finished ? '' : 'Some steps of the run had not finished.',
    ].filter((words) => words !== '');
    return [`${done} the run as template ${saved.id} (${count(saved.steps, 'step')}).`, ...more].join(' ');
  },
});

export const remove = verb('removeTemplate', {
  fields: { id: 'template' },
  words: (answer, { names }) => {
    const { id, files, shipped, schedules } = 'removed' in answer ? answer.removed : answer.plan;
    return [
      `${'removed' in answer ? 'Deleted' : 'Would delete'} ${files.map(inCell).join(' and ')}.`,
      ...(shipped ? ['The template of this id that ships with Gantry is used again.'] : []),
      ...(schedules.length > 0 ? [`These schedules start it: ${schedules.map(inCell).join(', ')}.`] : []),
      ...('removed' in answer ? [`Bring it back: ${names.gantry} workflows restore ${id}`] : []),
    ].join('\n');
  },
});

export const restore = verb('restoreTemplate', {
  fields: { id: 'template' },
  words: ({ files, applied }) => `${applied ? 'Restored' : 'Would restore'} ${files.map(inCell).join(' and ')}.`,
});
