/**
 * The family `document.*`: a document as Markdown. One tool takes all formats; each of the others takes one family and refuses
 * the rest by name. Long documents come in parts. Must not know formats, policy or approvals.
 */
import { z } from 'zod';
import { type Family, families } from '../../../programs/converter/protocol.ts';
import { createJail } from '../jail.ts';
import { defineTool, type Tool } from '../tool.ts';
import type { ConvertedDocument, Converter } from './converter.ts';
import { type DocumentFetch, sourceOf } from './sources.ts';

export { type Converter, createConverter } from './converter.ts';
export type { DocumentFetch } from './sources.ts';

/** About ten thousand tokens: the usual clients show a model this much without a warning. Characters. */
const defaultPart = 40_000;
const largestPart = 1_000_000;
/** Shorter Markdown is in the structured result as well; longer would be sent twice for nothing. Characters. */
const twiceUpTo = 10_000;
/** A document read in parts is converted once: the last ones are kept this long. Milliseconds. */
const retentionMs = 5 * 60_000;
const maxKept = 3;

const Input = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .meta({ description: 'File relative to your working folder, or absolute inside it.' }),
  url: z.string().min(1).max(8192).optional().meta({ description: 'Address of the document.' }),
  data: z
    .string()
    .max(12 * 1024 * 1024)
    .optional()
    .meta({ description: 'The document itself, as base64.' }),
  filename: z.string().max(500).optional().meta({ description: 'Its name: a hint if the bytes are plain text.' }),
  mimeType: z
    .string()
    .max(200)
    .optional()
    .meta({ description: 'Its MIME type, with the charset if known: also a hint.' }),
  offset: z
    .number()
    .int()
    .min(0)
    .optional()
    .meta({ description: 'Character of the Markdown to start at: `next` of the previous part.' }),
  limit: z
    .number()
    .int()
    .min(1)
    .max(largestPart)
    .optional()
    .meta({ description: `Characters; default ${defaultPart}.` }),
});

const Output = z.strictObject({
  kind: z.string().meta({ description: 'What the bytes are: pdf, docx, csv …' }),
  family: z.enum(families),
  mimeType: z.string(),
  charset: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()),
  notes: z.array(z.string()).meta({ description: 'What was lost, left out or guessed.' }),
  characters: z.number().meta({ description: 'Length of all the Markdown.' }),
  offset: z.number(),
  next: z.number().nullable().meta({ description: 'Where the next part begins.' }),
  markdown: z
    .string()
    .optional()
    .meta({ description: `The part; beyond ${twiceUpTo} characters it is only in the text of the result.` }),
});
type Output = z.infer<typeof Output>;

const about: Readonly<Record<Family, string>> = {
  pdf: 'a PDF',
  office: 'an office document (docx, pptx, xlsx, xls, odt, odp, ods, rtf)',
  html: 'a web page, e-book or feed (html, epub, rss, atom)',
  data: 'data or text (csv, tsv, json, jsonl, xml, ipynb, text)',
  archive: 'a zip archive and the documents in it',
  mail: 'a mail with its attachments (eml, msg)',
  media: 'an image or sound file (only its metadata, no recognition)',
};

export function createDocumentTools(deps: {
  readonly converter: Pick<Converter, 'convert'>;
  readonly fetch: DocumentFetch;
  /** As {@link createJail} has it. */
  readonly hidden: readonly string[];
  readonly freshName: () => string;
  readonly after: (ms: number, effect: () => void) => () => void;
}): Tool[] {
  /** The Markdown of a result is kept beside it, because it is not sent in both halves. */
  const texts = new WeakMap<Output, string>();
  const kept = new Map<string, ConvertedDocument>();

  function keep(key: string, document: ConvertedDocument): void {
    kept.delete(key);
    kept.set(key, document);
    for (const oldest of kept.keys()) if (kept.size > maxKept) kept.delete(oldest);
    deps.after(retentionMs, () => {
      if (kept.get(key) === document) kept.delete(key);
    });
  }

  function tool(name: string, title: string, description: string, family: Family | null): Tool {
    return defineTool({
      name: `document.${name}`,
      title,
      description: `${description} Give one of path, url and data. Headings, lists, tables and links are kept; notes say what was lost in conversion.`,
      input: Input,
      output: Output,
      readOnly: true,
      annotations: { openWorldHint: true },
      async plan(input, caller) {
        const jailOf = () => createJail({ root: caller.root, hidden: deps.hidden, freshName: deps.freshName });
        const source = await sourceOf(input, jailOf, deps.fetch);
        const offset = input.offset ?? 0;
        const key = [caller.client, name, source.key, input.filename ?? '', input.mimeType ?? ''].join('\n');
        return {
          ...source.plan,
          risk: 'low',
          title: `Convert ${source.name.slice(0, 150)}`,
          summary: source.name,
          async run(signal, may) {
            // Only a continuation uses the kept result: a new start reads the document as it is now.
            const before = offset > 0 ? kept.get(key) : undefined;
            if (before !== undefined) return part(before, offset, input.limit ?? defaultPart);
            caller.onProgress?.({ what: 'Fetching the document', done: 0, total: null, unit: null });
            const opened = await source.open(signal, may);
            try {
              const ask = {
                filename: input.filename ?? opened.filename,
                mimeType: input.mimeType ?? opened.mimeType,
                family,
              };
              const document = await deps.converter.convert(opened, ask, signal, caller.onProgress);
              if (document.markdown.length > (input.limit ?? defaultPart)) keep(key, document);
              return part(document, offset, input.limit ?? defaultPart);
            } finally {
              await opened.close();
            }
          },
        };
      },
      say: (output) => said(output, texts.get(output) ?? ''),
    });
  }

  function part(document: ConvertedDocument, offset: number, limit: number): Output {
    const { markdown, family, ...rest } = document;
    const end = endOfPart(markdown, offset, limit);
    const text = markdown.slice(offset, end);
    const output: Output = {
      ...rest,
      family: family as Family,
      notes: [...rest.notes],
      characters: markdown.length,
      offset,
      next: end < markdown.length ? end : null,
      ...(text.length <= twiceUpTo ? { markdown: text } : {}),
    };
    texts.set(output, text);
    return output;
  }

  return [
    tool(
      'convert',
      'Convert a document',
      'Any document as Markdown: PDF, office, web page, e-book, data, archive, mail, image or sound.',
      null,
    ),
    ...families.map((family) =>
      tool(family, `Convert ${about[family].split(' (')[0]}`, `As Markdown: ${about[family]}.`, family),
    ),
  ];
}

/** At the end of a line if the last part of the range has one; never inside a character. */
function endOfPart(markdown: string, offset: number, limit: number): number {
  const end = Math.min(markdown.length, offset + limit);
  if (end === markdown.length) return end;
  const line = markdown.lastIndexOf('\n', end - 1) + 1;
  if (line > offset + limit / 2) return line;
  const low = markdown.charCodeAt(end);
  return low >= 0xdc00 && low <= 0xdfff && end - 1 > offset ? end - 1 : end;
}

/** The text for a model: the part, then in brackets a description of it and of what is missing. */
function said(output: Output, text: string): string {
  const { kind, metadata, notes, next, characters } = output;
  const known = Object.entries(metadata)
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join('; ');
  const lines = [
    next === null ? '' : `[continues at offset ${next} of ${characters} characters]`,
    `[${kind}${known === '' ? '' : `; ${known.slice(0, 2000)}`}]`,
    ...notes.map((note) => `[note: ${note}]`),
  ];
  return `${text.replace(/\n*$/, '')}\n\n${lines.filter((line) => line !== '').join('\n')}`;
}
