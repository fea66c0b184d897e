/** Fields for what the losing carrier asks; a file is read here and sent with the rest. */
import { useState } from 'react';
import { Field } from '../../ui/schema-form.tsx';
import { portFields } from './phone-words.ts';
import { maxFileLength, type PortDraft, type PortField, unread } from './port-form.ts';

const line = 'h-7 pointer-coarse:h-10';

export function PortFields({
  names,
  needed = [],
  draft,
  problems,
  onChange,
}: {
  /** Which of them. */
  names: readonly string[];
  /** Those that cannot be left out. */
  needed?: readonly string[];
  draft: PortDraft;
  problems: Readonly<Partial<Record<string, string>>>;
  onChange: (change: Partial<PortDraft>) => void;
}) {
  return portFields
    .filter(({ name }) => names.includes(name))
    .map(({ name, word, says, kind }) =>
      kind === 'file' ? (
        <FileField
          key={name}
          {...{ name, word, says, problem: problems[name], required: needed.includes(name), onChange }}
        />
      ) : (
        <Field
          key={name}
          label={word}
          required={needed.includes(name)}
          problem={problems[name]}
          description={says === '' ? undefined : says}
        >
          {(ids) => (
            <input
              {...ids}
              name={name}
              type={kind === 'secret' ? 'password' : 'text'}
              autoComplete={kind === 'secret' ? 'new-password' : 'off'}
              spellCheck={false}
              value={draft[name]}
              onChange={(event) => onChange({ [name]: event.target.value })}
              className={`${ids.className} ${line}`}
            />
          )}
        </Field>
      ),
    );
}

function FileField({
  name,
  word,
  says,
  problem,
  required,
  onChange,
}: {
  name: PortField;
  word: string;
  says: string;
  problem: string | undefined;
  required: boolean;
  onChange: (change: Partial<PortDraft>) => void;
}) {
  const [wrong, setWrong] = useState<string | undefined>();
  async function read(file: File | undefined): Promise<void> {
    setWrong(undefined);
    onChange({ [name]: file === undefined ? '' : unread });
    if (file === undefined) return;
    const refuse = (why: string) => {
      setWrong(why);
      onChange({ [name]: '' });
    };
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      if (bytes.length * 1.34 > maxFileLength) return refuse('The file is larger than 5 MB.');
      // Each page of the specification begins so (ISO 32000, 7.5.2).
      if (new TextDecoder().decode(bytes.subarray(0, 5)) !== '%PDF-') return refuse('This file is not a PDF.');
      onChange({ [name]: await base64Of(file) });
    } catch {
      refuse('The file could not be read. Choose it again.');
    }
  }
  return (
    <Field label={word} required={required} problem={wrong ?? problem} description={says}>
      {(ids) => (
        <input
          {...ids}
          type="file"
          name={name}
          accept="application/pdf"
          onChange={(event) => void read(event.target.files?.[0])}
          className={`${ids.className} py-1 file:mr-2 file:rounded-control file:border file:border-line file:bg-raised file:px-2`}
        />
      )}
    </Field>
  );
}

function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(',', 2)[1] ?? '');
    reader.onerror = () => reject(new Error(`${file.name} could not be read.`));
    reader.readAsDataURL(file);
  });
}
