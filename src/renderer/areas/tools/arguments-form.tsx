/** The arguments of a tool: fields made from its schema, or the same as JSON. */

import { type FormSchema, jsonProblem } from '../../ui/schema-fields.ts';
import { SchemaFields } from '../../ui/schema-form.tsx';
import { AreaField } from '../../ui/text-field.tsx';
import { Ways } from '../../ui/ways.tsx';
import { asFields, asJson } from './arguments.ts';
import type { ToolDraft } from './tool-calls.ts';

export function ArgumentsForm({
  schema,
  draft,
  problems,
  onChange,
  title = 'Arguments',
  none = 'This tool takes no arguments.',
}: {
  /** Null: no form can be made, only JSON can be typed. */
  schema: FormSchema | null;
  draft: ToolDraft;
  problems: Readonly<Record<string, string>>;
  onChange: (draft: ToolDraft) => void;
  title?: string;
  /** Shown if there are no arguments. */
  none?: string;
}) {
  const { json } = draft;
  const fields = schema === null || json === null ? null : asFields(schema, draft);
  const empty = schema !== null && json === null && Object.keys(schema.properties).length === 0;
  const live = json !== null && json.trim() !== '' ? (jsonProblem(json) ?? undefined) : undefined;
  return (
    <section aria-labelledby="arguments" className="flex min-w-0 flex-col gap-3">
      <div className="flex min-h-6 items-center gap-2">
        <h2 id="arguments" className="flex-1 font-semibold">
          {title}
        </h2>
        {schema !== null && (
          <Ways
            label="Input format"
            value={json === null ? 'fields' : 'json'}
            ways={[
              { key: 'fields', word: 'Form', disabled: json !== null && fields === null },
              { key: 'json', word: 'JSON' },
            ]}
            onChange={(way) => {
              const next = way === 'json' ? asJson(schema, draft) : fields;
              if (next !== null) onChange(next);
            }}
          />
        )}
      </div>
      <div data-fields="true" className="flex min-w-0 flex-col gap-3">
        {empty && <p className="text-muted">{none}</p>}
        {schema !== null && json === null ? (
          <SchemaFields
            schema={schema}
            texts={draft.texts}
            problems={problems}
            onChange={(path, text) => onChange({ ...draft, texts: { ...draft.texts, [path]: text } })}
          />
        ) : (
          <AreaField
            label="Arguments as JSON"
            problem={live ?? problems['']}
            description={
              schema !== null && fields === null ? 'Contains a value that the form has no field for.' : undefined
            }
            value={json ?? ''}
            rows={8}
            spellCheck={false}
            onChange={(typed) => onChange({ ...draft, json: typed })}
            className="field-sizing-content max-h-[50dvh] min-h-36 py-1.5 font-mono text-code"
          />
        )}
      </div>
    </section>
  );
}
