/** The steps of a direct run, each a member of a toolset with its schema's form; people add, move and remove them. */
import { ArrowDown, ArrowUp, Plus, X } from 'lucide-react';
import { useRef } from 'react';
import { flushSync } from 'react-dom';
import type { Toolset } from '../../../contracts/computer-use/members.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { SchemaFields } from '../../ui/schema-form.tsx';
import { type ActionDraft, memberForm, newAction } from './action-draft.ts';

export interface Member {
  readonly toolset: Toolset;
  readonly name: string;
  readonly description: string;
  readonly input_schema: Readonly<Record<string, unknown>>;
}

const noSchema: Member['input_schema'] = {};
const groups: Readonly<Record<Toolset, string>> = { browser: 'In the browser', computer: 'On the desktop' };
const idOf = ({ toolset, name }: { toolset: Toolset; name: string }) => `${toolset} ${name}`;
const said = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`;

export function schemaOf(members: readonly Member[], toolset: Toolset, name: string): Member['input_schema'] {
  return members.find((one) => one.toolset === toolset && one.name === name)?.input_schema ?? noSchema;
}

export function ActionEditor({
  members,
  all,
  actions,
  problems,
  none,
  onChange,
}: {
  /** Those that may be chosen. */
  members: readonly Member[];
  all: readonly Member[];
  actions: readonly ActionDraft[];
  /** A step each, by path of the field. */
  problems: readonly Readonly<Record<string, string>>[];
  /** One is needed. */
  none: boolean;
  onChange: (actions: readonly ActionDraft[]) => void;
}) {
  const box = useRef<HTMLFieldSetElement>(null);
  /** The focus is where the next key belongs before that key is pressed. */
  function replace(next: readonly ActionDraft[], selector: string): void {
    flushSync(() => onChange(next));
    [...(box.current?.querySelectorAll<HTMLElement>(selector) ?? [])].at(-1)?.focus();
  }
  const put = (index: number, next: ActionDraft) => onChange(actions.map((one, at) => (at === index ? next : one)));
  function choose(index: number, id: string): void {
    const member = all.find((one) => idOf(one) === id);
    const old = actions[index];
    if (member === undefined || old === undefined) return;
    put(index, newAction(old.key, member.toolset, member.name, member.input_schema));
  }
  function move(index: number, by: number): void {
    const next = [...actions];
    const [one] = next.splice(index, 1);
    next.splice(index + by, 0, one!);
    onChange(next);
  }
  return (
    <fieldset ref={box} className="min-w-0">
      <legend className="font-medium">Steps</legend>
      <ol className="mt-1 flex flex-col gap-2">
        {actions.map((action, index) => {
          const form = memberForm(schemaOf(all, action.toolset, action.member));
          const about = all.find((one) => idOf(one) === `${action.toolset} ${action.member}`)?.description;
          return (
            <li key={action.key} data-action={action.member} className="rounded-panel border border-line bg-panel p-2">
              <div className="flex items-center gap-1.5">
                <span className="w-5 shrink-0 text-right text-meta text-muted tabular-nums">{index + 1}</span>
                <select
                  aria-label={`Step ${index + 1}`}
                  data-member="true"
                  value={`${action.toolset} ${action.member}`}
                  onChange={(event) => choose(index, event.target.value)}
                  className="h-7 min-w-0 flex-1 rounded-control border border-line bg-window px-1.5 pointer-coarse:h-10 sm:max-w-60"
                >
                  {(['browser', 'computer'] as const).map((toolset) => {
                    const some = members
                      .filter((one) => one.toolset === toolset || idOf(one) === `${action.toolset} ${action.member}`)
                      .filter((one) => one.toolset === toolset);
                    if (some.length === 0 && action.toolset !== toolset) return null;
                    return (
                      <optgroup key={toolset} label={groups[toolset]}>
                        {some.map((one) => (
                          <option key={one.name} value={idOf(one)}>
                            {said(one.name)}
                          </option>
                        ))}
                        {some.length === 0 && (
                          <option value={`${action.toolset} ${action.member}`}>{said(action.member)}</option>
                        )}
                      </optgroup>
                    );
                  })}
                </select>
                <span className="min-w-0 flex-1 truncate text-meta text-muted max-sm:hidden" title={about}>
                  {about}
                </span>
                <IconButton label={`Move step ${index + 1} up`} disabled={index === 0} onClick={() => move(index, -1)}>
                  <ArrowUp aria-hidden="true" />
                </IconButton>
                <IconButton
                  label={`Move step ${index + 1} down`}
                  disabled={index === actions.length - 1}
                  onClick={() => move(index, 1)}
                >
                  <ArrowDown aria-hidden="true" />
                </IconButton>
                <IconButton
                  label={`Remove step ${index + 1}`}
                  onClick={() =>
                    replace(
                      actions.filter((one) => one.key !== action.key),
                      '[data-add]',
                    )
                  }
                >
                  <X aria-hidden="true" />
                </IconButton>
              </div>
              {Object.keys(form.properties).length > 0 && (
                <div className="mt-2 grid gap-2 pl-6 sm:grid-cols-2">
                  <SchemaFields
                    schema={form}
                    texts={action.texts}
                    problems={problems[index] ?? {}}
                    onChange={(path, text) => put(index, { ...action, texts: { ...action.texts, [path]: text } })}
                  />
                </div>
              )}
            </li>
          );
        })}
      </ol>
      {none && <p className="mt-1 text-meta text-fail">Add at least one step.</p>}
      <Button
        icon={Plus}
        data-add="true"
        className="mt-2"
        onClick={() => {
          const key = 1 + actions.reduce((max, one) => Math.max(max, one.key), -1);
          const last = actions.at(-1);
          const member =
            all.find((one) => last !== undefined && idOf(one) === `${last.toolset} ${last.member}`) ?? members[0];
          if (member !== undefined) {
            replace([...actions, newAction(key, member.toolset, member.name, member.input_schema)], '[data-member]');
          }
        }}
      >
        Add a step
      </Button>
    </fieldset>
  );
}
