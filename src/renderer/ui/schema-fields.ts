/** The part of JSON Schema that a form can be made of, and what its values come to. Pure; must not know how a field looks. */

export interface FieldSchema {
  readonly type?: 'string' | 'number' | 'integer' | 'boolean';
  readonly title?: string;
  readonly description?: string;
  readonly default?: string | number | boolean;
  readonly enum?: readonly string[];
  /** A text of several lines. */
  readonly multiline?: boolean;
  readonly placeholder?: string;
  /** Offered while typing; anything else may be typed too. */
  readonly suggestions?: readonly string[];
}

export interface FormSchema {
  readonly properties: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
}

/** As typed: every field as text, a box as "true" or "". */
export type FieldTexts = Readonly<Record<string, string>>;

export type FieldValues = Record<string, string | number | boolean>;

export function firstTexts(schema: FormSchema): Record<string, string> {
  return Object.fromEntries(
    Object.entries(schema.properties).map(([name, field]) => {
      if (field.default === undefined || field.default === false) return [name, ''];
      return [name, String(field.default)];
    }),
  );
}

/** Field → what is wrong with it. Empty: the values can be used. */
export function problemsOf(schema: FormSchema, texts: FieldTexts): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const [name, field] of Object.entries(schema.properties)) {
    const text = texts[name] ?? '';
    if (text.trim() === '') {
      if (schema.required?.includes(name) === true && field.type !== 'boolean') problems[name] = 'Is needed.';
    } else if (field.type === 'number' || field.type === 'integer') {
      const number = Number(text);
      if (!Number.isFinite(number)) problems[name] = 'Must be a number.';
      else if (field.type === 'integer' && !Number.isInteger(number)) problems[name] = 'Must be a whole number.';
    } else if (field.enum !== undefined && !field.enum.includes(text)) {
      problems[name] = `Must be one of: ${field.enum.join(', ')}.`;
    }
  }
  return problems;
}

/** Empty fields are left out, so that the other side's defaults hold. */
export function valuesOf(schema: FormSchema, texts: FieldTexts): FieldValues {
  const values: FieldValues = {};
  for (const [name, field] of Object.entries(schema.properties)) {
    const text = texts[name] ?? '';
    if (field.type === 'boolean') values[name] = text === 'true';
    else if (text.trim() === '') continue;
    else values[name] = field.type === 'number' || field.type === 'integer' ? Number(text) : text;
  }
  return values;
}
