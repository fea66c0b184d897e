/** Fields made from a schema: the params of a template, the inputs of a tool. Says below a field what is wrong with it. */
import { Plus, X } from 'lucide-react';
import { type ReactNode, useId, useRef } from 'react';
import { flushSync } from 'react-dom';
import { Button, IconButton } from './button.tsx';
import { Check } from './choice.tsx';
import {
  type FieldSchema,
  type FieldTexts,
  type FormSchema,
  jsonProblem,
  pathTo,
  rowsOf,
  withRow,
} from './schema-fields.ts';

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
        {required && <span className="font-normal text-faint"> required</span>}
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

interface FieldsProps {
  readonly texts: FieldTexts;
  /** By path of the field; shown only after the first attempt, so that nobody sees errors before typing. */
  readonly problems: Readonly<Record<string, string>>;
  /** `path` is the field's name, or within objects and lists its path. */
  readonly onChange: (path: string, text: string) => void;
}

export function SchemaFields({ schema, parent = '', ...form }: FieldsProps & { schema: FormSchema; parent?: string }) {
  return Object.entries(schema.properties).map(([name, field]) => (
    <SchemaField
      key={name}
      {...form}
      field={field}
      label={field.title ?? name}
      path={pathTo(parent, name)}
      required={schema.required?.includes(name) === true}
    />
  ));
}

interface FieldProps extends FieldsProps {
  readonly field: FieldSchema;
  readonly label: string;
  readonly path: string;
  readonly required: boolean;
}

function SchemaField(props: FieldProps) {
  const { field, label, path, required, texts, problems, onChange } = props;
  const text = texts[path] ?? '';
  if (field.type === 'object') {
    return (
      <Group label={label} required={required} description={field.description}>
        <SchemaFields
          schema={{ properties: field.properties ?? {}, required: field.required }}
          parent={path}
          texts={texts}
          problems={problems}
          onChange={onChange}
        />
      </Group>
    );
  }
  if (field.type === 'array' && field.items !== undefined) return <ListField {...props} items={field.items} />;
  if (field.type === 'boolean') {
    return (
      <Check
        on={text === 'true'}
        onChange={(on) => onChange(path, on ? 'true' : '')}
        className="flex-wrap pointer-coarse:min-h-10"
      >
        {label}
        {field.description !== undefined && <span className="text-meta text-muted">{field.description}</span>}
      </Check>
    );
  }
  // What is no JSON is said while it is typed: where it breaks is hard to find afterwards.
  const live = field.type === 'json' && text.trim() !== '' ? (jsonProblem(text) ?? undefined) : undefined;
  return (
    <Field label={label} required={required} description={field.description} problem={live ?? problems[path]}>
      {(ids) => <Control name={path} field={field} required={required} text={text} onChange={onChange} ids={ids} />}
    </Field>
  );
}

function Group({
  label,
  required,
  description,
  children,
}: {
  label: string;
  required: boolean;
  description: string | undefined;
  children: ReactNode;
}) {
  return (
    <fieldset className="min-w-0">
      <legend className="font-medium">
        {label}
        {required && <span className="font-normal text-faint"> required</span>}
      </legend>
      {description !== undefined && <p className="text-meta break-words text-muted">{description}</p>}
      <div className="mt-1 flex min-w-0 flex-col gap-3 border-l border-line-strong pl-3">{children}</div>
    </fieldset>
  );
}

/** A row for each item, and a way to add and to take away. */
function ListField({ field, items, label, path, required, ...form }: FieldProps & { items: FieldSchema }) {
  const box = useRef<HTMLDivElement>(null);
  const rows = rowsOf(form.texts, path);
  /** The focus is where the next key belongs before that key is pressed. */
  function change(next: string, selector: string): void {
    flushSync(() => form.onChange(path, next));
    [...(box.current?.querySelectorAll<HTMLElement>(selector) ?? [])].at(-1)?.focus();
  }
  return (
    <Group label={label} required={required} description={field.description}>
      <div ref={box} className="flex flex-col items-start gap-2">
        {rows.map((row, index) => (
          <div key={row} data-item="true" className="flex w-full min-w-0 items-end gap-1.5">
            <div className="min-w-0 flex-1">
              <SchemaField
                {...form}
                field={items}
                label={`${items.title ?? label} ${index + 1}`}
                path={pathTo(path, row)}
                // Marking every row as required would be noise; an empty row is reported all the same.
                required={false}
              />
            </div>
            <IconButton
              label={`Remove ${items.title ?? label} ${index + 1}`}
              className="mb-0.5 pointer-coarse:mb-0"
              onClick={() => change(rows.filter((one) => one !== row).join(' '), '[data-add]')}
            >
              <X aria-hidden="true" />
            </IconButton>
          </div>
        ))}
        <Button
          icon={Plus}
          data-add="true"
          aria-label={`Add to ${label}`}
          onClick={() => change(withRow(rows), '[data-item] :is(input, textarea, select)')}
        >
          Add
        </Button>
      </div>
    </Group>
  );
}

function Control({
  name,
  field,
  required,
  text,
  onChange,
  ids,
}: {
  name: string;
  field: FieldSchema;
  required: boolean;
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
    const open = !required || text === '';
    return (
      <select {...common} className={`${ids.className} h-7 pointer-coarse:h-10`}>
        {open && <option value="">{required ? '' : 'not set'}</option>}
        {text !== '' && !field.enum.includes(text) && <option value={text}>{text}</option>}
        {field.enum.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    );
  }
  if (field.multiline === true || field.type === 'json') {
    const json = field.type === 'json';
    return (
      <textarea
        {...common}
        rows={json ? 3 : 1}
        spellCheck={false}
        placeholder={field.placeholder ?? (json ? 'JSON' : undefined)}
        className={`${ids.className} ${json ? 'font-mono text-code' : ''} field-sizing-content max-h-80 min-h-7 resize-y py-[3px] leading-5 pointer-coarse:min-h-10 pointer-coarse:py-[9px]`}
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
