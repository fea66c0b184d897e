/** Jupyter notebooks: Markdown as it is, code in fences of the kernel's language, outputs as text. Pictures are named, not shown. */
import { type ConvertContext, type Converted, ConvertFault, type Format } from '../../format.ts';
import { codeBlock } from '../../markdown/escape.ts';

/** Of one output, characters: logs of a training fill notebooks. */
const maxOutputLength = 10_000;

interface Output {
  readonly output_type?: string;
  readonly text?: unknown;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly ename?: string;
  readonly evalue?: string;
}

interface Cell {
  readonly cell_type?: string;
  readonly source?: unknown;
  readonly outputs?: readonly Output[];
}

export const notebookFormat: Format = { name: 'ipynb', family: 'data', kinds: ['ipynb'], convert };

async function convert(_bytes: Uint8Array, context: ConvertContext): Promise<Converted> {
  let notebook: { cells?: unknown; metadata?: Record<string, Record<string, unknown>>; nbformat?: number };
  try {
    notebook = JSON.parse(context.text());
  } catch (cause) {
    throw new ConvertFault(
      'damaged',
      `The notebook is not valid JSON (${(cause as Error).message.slice(0, 120)}): it is truncated or damaged.`,
      'Get a complete copy of the file.',
      { cause },
    );
  }
  if (!Array.isArray(notebook.cells))
    throw new ConvertFault('damaged', 'The notebook has no cells.', 'Save it again in Jupyter.');
  const { kernelspec, language_info } = notebook.metadata ?? {};
  const language = String(language_info?.name ?? kernelspec?.language ?? 'python');
  const notes: string[] = [];
  let pictures = 0;
  const blocks: string[] = [];
  for (const cell of notebook.cells as Cell[]) {
    const source = joined(cell.source);
    if (cell.cell_type === 'code') {
      if (source.trim() !== '') blocks.push(codeBlock(source, language));
      for (const output of Array.isArray(cell.outputs) ? cell.outputs : []) {
        const { text, picture } = textOf(output);
        if (picture) pictures += 1;
        if (text.trim() !== '') blocks.push(`Output:\n\n${codeBlock(cut(text))}`);
      }
    } else if (cell.cell_type === 'raw') blocks.push(codeBlock(source));
    else blocks.push(source.trim());
  }
  if (pictures > 0)
    notes.push(`${pictures} output${pictures === 1 ? ' is a picture' : 's are pictures'} and not shown.`);
  const title = /^#\s+(.+)$/m.exec(blocks.find((block) => !block.startsWith('`')) ?? '')?.[1]?.trim();
  const metadata = {
    ...(title === undefined ? {} : { title }),
    language,
    ...(typeof kernelspec?.display_name === 'string' ? { kernel: kernelspec.display_name } : {}),
    cells: notebook.cells.length,
  };
  return { markdown: `${blocks.filter((block) => block !== '').join('\n\n')}\n`, metadata, notes };
}

const joined = (value: unknown): string =>
  Array.isArray(value) ? value.join('') : typeof value === 'string' ? value : '';

function textOf(output: Output): { text: string; picture: boolean } {
  if (output.output_type === 'stream') return { text: joined(output.text), picture: false };
  if (output.output_type === 'error')
    return { text: `${output.ename ?? 'Error'}: ${output.evalue ?? ''}`, picture: false };
  const data = output.data ?? {};
  const picture = Object.keys(data).some((type) => type.startsWith('image/'));
  const text = joined(data['text/markdown'] ?? data['text/plain'] ?? '');
  // `<Figure size 640x480>` only stands in for the picture.
  return { text: picture && /^<.*>$/.test(text.trim()) ? '' : text, picture };
}

function cut(text: string): string {
  // Colours of terminals are no text.
  const clean = text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, '');
  return clean.length <= maxOutputLength
    ? clean
    : `${clean.slice(0, maxOutputLength)}\n[cut: ${clean.length - maxOutputLength} characters more]`;
}
