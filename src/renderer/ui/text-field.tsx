/** One line of text with its label, what is wrong with it, and what it is for. */
import type { ComponentProps, ReactNode } from 'react';
import { Field } from './schema-form.tsx';

export function TextField({
  label,
  required,
  problem,
  description,
  onChange,
  className = '',
  ...input
}: {
  label: string;
  required?: boolean;
  problem?: string | undefined;
  description?: ReactNode;
  value: string;
  onChange: (value: string) => void;
} & Omit<ComponentProps<'input'>, 'onChange' | 'value' | 'required'>) {
  return (
    <Field label={label} required={required} problem={problem} description={description}>
      {(ids) => (
        <input
          {...ids}
          autoComplete="off"
          {...input}
          onChange={(event) => onChange(event.target.value)}
          className={`${ids.className} h-7 pointer-coarse:h-10 ${className}`}
        />
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
      description="Such as https://example.com/mcp."
      {...field}
      inputMode="url"
      className="font-mono text-code"
    />
  );
}
