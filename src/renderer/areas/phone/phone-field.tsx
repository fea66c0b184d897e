/** A field for a person's phone number. */
import type { ComponentProps } from 'react';
import { TextField } from '../../ui/text-field.tsx';

export function PhoneField({
  label = 'Number',
  ...field
}: Omit<ComponentProps<typeof TextField>, 'label'> & { label?: string }) {
  return <TextField label={label} inputMode="tel" placeholder="+1 202 555 0123" {...field} className="tabular-nums" />;
}
