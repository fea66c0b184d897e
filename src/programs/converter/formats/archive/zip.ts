/** Zip archives: every document in them under a heading with its name, archives in archives as well. Nothing is written to disk. */
import { type ConvertContext, type Converted, ConvertFault, type Format, type Kind } from '../../format.ts';
import { codeBlock, escapeLine } from '../../markdown/escape.ts';
import { readZip, type ZipEntry } from '../../zip-reader.ts';

/** Documents of one archive that are converted; the others are named. */
const maxConverted = 500;
/** Names in a note. */
const named = 10;

export const zipFormat: Format = { name: 'zip', family: 'archive', kinds: ['zip'], convert };

async function convert(bytes: Uint8Array, context: ConvertContext): Promise<Converted> {
  const zip = await readZip(bytes, context);
  const notes: string[] = [];
  if (zip.refused.length > 0)
    notes.push(`Entries whose names lead out of the archive were not read: ${list(zip.refused)}.`);
  const files = zip.entries.filter((entry) => !entry.folder && !isLitter(entry.name));
  const blocks: string[] = [];
  const skipped: string[] = [];
  let late = false;
  for (const [index, entry] of files.entries()) {
    context.step(index, files.length, 'files');
    const block: string | null = late || blocks.length >= maxConverted ? null : await entryOf(entry, zip.read, context);
    // What is done by then is worth having.
    late ||= block === null && blocks.length < maxConverted;
    if (block === null) skipped.push(entry.name);
    else blocks.push(`## ${escapeLine(entry.name)}\n\n${block}`);
  }
  if (files.length === 0) notes.push('The archive has no files in it.');
  if (skipped.length > 0)
    notes.push(
      `${late ? 'Time ran out' : `At most ${maxConverted} documents are converted`}. Not converted: ${list(skipped)}.`,
    );
  const metadata = { files: files.length, unpackedBytes: files.reduce((sum, entry) => sum + entry.size, 0) };
  return { markdown: blocks.length === 0 ? '' : `${blocks.join('\n\n')}\n`, metadata, notes };
}

/** What cannot be converted says so in its place, and the others are converted all the same. Null when the time is over. */
async function entryOf(
  entry: ZipEntry,
  read: (name: string) => Promise<Uint8Array>,
  context: ConvertContext,
): Promise<string | null> {
  try {
    context.mustHaveTime();
    return standing(await context.convertInner({ filename: entry.name, bytes: await read(entry.name) }));
  } catch (error) {
    if (!(error instanceof ConvertFault)) throw error;
    if (error.code === 'timeout') return null;
    return refusal(error);
  }
}

/** A document inside another, below its name. Plain text is not Markdown and is fenced; losses are listed below it. */
export function standing(inner: Converted & { readonly kind: Kind }): string {
  const text = inner.markdown.trim();
  // Two levels lower: what is around it has the first, its name has the second.
  const shown = inner.kind === 'text' && text !== '' ? codeBlock(text) : lowered(text);
  const notes = inner.notes.map((note) => `> Note: ${escapeLine(note)}`).join('\n>\n');
  return [shown, notes].filter((part) => part !== '').join('\n\n');
}

/** In place of one that could not be read. */
export function refusal(fault: ConvertFault): string {
  return `> Not converted: ${escapeLine(`${fault.fact} ${fault.action}`)}`;
}

/** Headings of an entry are below its own heading; fences are left unchanged. */
function lowered(markdown: string): string {
  let fence: string | null = null;
  return markdown
    .split('\n')
    .map((line) => {
      const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1];
      if (mark !== undefined && (fence === null || (mark.startsWith(fence) && line.trim() === mark)))
        fence = fence === null ? mark : null;
      const heading = fence === null ? /^(#{1,6})(?=\s)/.exec(line)?.[1] : undefined;
      return heading === undefined
        ? line
        : `${'#'.repeat(Math.min(6, heading.length + 2))}${line.slice(heading.length)}`;
    })
    .join('\n');
}

/** What systems leave in archives beside the files. */
const isLitter = (name: string): boolean => /^__MACOSX\/|(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$/.test(name);

function list(names: readonly string[]): string {
  const shown = names.slice(0, named).map((name) => JSON.stringify(name.slice(0, 200)));
  return `${shown.join(', ')}${names.length > named ? ` and ${names.length - named} more` : ''}`;
}
