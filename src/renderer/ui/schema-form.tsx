/** Fields made from a schema: the params of a template, the inputs of a tool. Says below a field what is wrong with it. */
import { type ReactNode, useId } from 'react';
import type { FieldSchema, FieldTexts, FormSchema } from './schema-fields.ts';

const control =
  'w-full rounded-control border border-line bg-window px-2 aria-[invalid=true]:border-fail disabled:opacity-60';

/** A label above, the control, then what is wrong, else what it is for. */
export function Field({
  label,
  required = false,
  description,
  problem,
  children,
}: {
  label: string;
  required?: boolean;
  description?: ReactNode;
  problem?: string;
  children: (ids: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': boolean;
    'aria-required': boolean;
    className: string;
  }) => ReactNode;
}) {
  const id = useId();
  const about = `${id}-about`;
  const says = problem ?? description;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
        {required && <span className="ml-1 font-normal text-faint">needed</span>}
      </label>
      {children({
        id,
        'aria-describedby': says === undefined ? undefined : about,
        'aria-invalid': problem !== undefined,
        'aria-required': required,
        className: control,
      })}
      {says !== undefined && (
        <p id={about} className={`text-meta break-words ${problem === undefined ? 'text-muted' : 'text-fail'}`}>
          {says}
        </p>
      )}
    </div>
  );
}

export function SchemaFields({
  schema,
  texts,
  problems,
  onChange,
}: {
  schema: FormSchema;
  texts: FieldTexts;
  /** By field; shown only once they are given, so that nobody is told off before typing. */
  problems: Readonly<Record<string, string>>;
  onChange: (name: string, text: string) => void;
}) {
  return Object.entries(schema.properties).map(([name, field]) =>
    field.type === 'boolean' ? (
      <label key={name} className="inline-flex items-center gap-1.5">
        <input
          type="checkbox"
          checked={texts[name] === 'true'}
          onChange={(event) => onChange(name, event.target.checked ? 'true' : '')}
          className="size-3.5 accent-accent"
        />
        {field.title ?? name}
        {field.description !== undefined && <span className="text-meta text-muted">{field.description}</span>}
      </label>
    ) : (
      <Field
        key={name}
        label={field.title ?? name}
        required={schema.required?.includes(name)}
        description={field.description}
        problem={problems[name]}
      >
        {(ids) => <Control name={name} field={field} text={texts[name] ?? ''} onChange={onChange} ids={ids} />}
      </Field>
    ),
  );
}

function Control({
  name,
  field,
  text,
  onChange,
  ids,
}: {
  name: string;
  field: FieldSchema;
  text: string;
  onChange: (name: string, text: string) => void;
  ids: { id: string; className: string };
}) {
  const common = {
    ...ids,
    name,
    value: text,
    onChange: (event: { target: { value: string } }) => onChange(name, event.target.value),
  };
  if (field.enum !== undefined) {
    return (
      <select {...common} className={`${ids.className} h-7 pointer-coarse:h-10`}>
        {!field.enum.includes(text) && <option value={text}>{text}</option>}
        {field.enum.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    );
  }
  if (field.multiline === true) {
    return (
      <textarea
        {...common}
        rows={3}
        placeholder={field.placeholder}
        className={`${ids.className} resize-y py-1.5 leading-5`}
      />
    );
  }
  return (
    <>
      <input
        {...common}
        inputMode={field.type === 'number' || field.type === 'integer' ? 'decimal' : undefined}
        placeholder={field.placeholder}
        autoComplete="off"
        spellCheck={false}
        list={field.suggestions === undefined ? undefined : `${ids.id}-list`}
        className={`${ids.className} h-7 pointer-coarse:h-10`}
      />
      {field.suggestions !== undefined && (
        <datalist id={`${ids.id}-list`}>
          {field.suggestions.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </>
  );
}
