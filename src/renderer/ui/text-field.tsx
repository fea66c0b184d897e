/** Fields with their label, what is wrong with them, and what they are for: one line of text, several, and one of a list. */
import type { ComponentProps, ReactNode } from 'react';
import { Field } from './schema-form.tsx';

/** Of a field around `Tag`: what is in it, and what is typed or chosen. */
type FieldOf<Tag extends 'input' | 'textarea' | 'select', V extends string = string> = {
  label: string;
  required?: boolean | undefined;
  problem?: string | undefined;
  description?: ReactNode;
  value: V;
  onChange: (value: V) => void;
} & Omit<ComponentProps<Tag>, 'onChange' | 'value' | 'required'>;

const oneLine = 'h-7 pointer-coarse:h-10';

export function TextField({
  label,
  required,
  problem,
  description,
  onChange,
  className = '',
  ...input
}: FieldOf<'input'>) {
  return (
    <Field label={label} required={required} problem={problem} description={description}>
      {(ids) => (
        <input
          {...ids}
          autoComplete="off"
          {...input}
          onChange={(event) => onChange(event.target.value)}
          className={`${ids.className} ${oneLine} ${className}`}
        />
      )}
    </Field>
  );
}

/** Several lines; how it grows is the caller's, as a class. */
export function AreaField({
  label,
  required,
  problem,
  description,
  onChange,
  className = 'py-1.5',
  ...area
}: FieldOf<'textarea'>) {
  return (
    <Field label={label} required={required} problem={problem} description={description}>
      {(ids) => (
        <textarea
          {...ids}
          {...area}
          onChange={(event) => onChange(event.target.value)}
          className={`${ids.className} resize-y ${className}`}
        />
      )}
    </Field>
  );
}

/** One of a list: `options` by their words, after those among its children. */
export function SelectField<K extends string>({
  label,
  required,
  problem,
  description,
  onChange,
  options,
  children,
  ...select
}: FieldOf<'select', K> & { options?: Readonly<Record<K, string>> }) {
  return (
    <Field label={label} required={required} problem={problem} description={description}>
      {(ids) => (
        <select
          {...ids}
          {...select}
          onChange={(event) => onChange(event.target.value as K)}
          className={`${ids.className} ${oneLine}`}
        >
          {children}
          {Object.entries<string>(options ?? {}).map(([key, word]) => (
            <option key={key} value={key}>
              {word}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Where something of others that speaks MCP is reached. */
export function AddressField(field: Omit<ComponentProps<typeof TextField>, 'label' | 'required' | 'description'>) {
  return (
    <TextField
      label="Address"
      required
      description="E.g. https://example.com/mcp."
      {...field}
      inputMode="url"
      className="font-mono text-code"
    />
  );
}
