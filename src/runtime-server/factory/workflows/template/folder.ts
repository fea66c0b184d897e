/**
 * Templates on disk: `.gantry/templates/` of the workspace and the folder of those that ship. A template of the workspace hides
 * the shipped one with its id. Files are small and few: they are read when asked for, so that an edit counts at once.
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../../../contracts/common/errors.ts';
import type { Template } from '../../../../contracts/factory/workflow.ts';
import { type ReadTemplate, readTemplate, toFile } from './read.ts';

export interface TemplateFolder {
  /** Every template there is, by id; those that cannot be read with their problems. */
  list(): { readonly id: string; readonly read: ReadTemplate }[];
  /** Null: there is none with this id. */
  find(id: string): ReadTemplate | null;
  /** As {@link find}; `not_found` or `usage` (with the first problems) instead of what cannot be used. */
  use(id: string): Template;
  /** Whether the workspace itself has this id. */
  has(id: string): boolean;
  /** Writes `<id>.json`; a Markdown file with the id makes room. */
  save(template: Template): void;
}

const endings = ['json', 'md'] as const;

export function createTemplateFolder(options: {
  readonly workspace: string;
  readonly shipped: string;
}): TemplateFolder {
  const own = join(options.workspace, '.gantry', 'templates');

  function find(id: string): ReadTemplate | null {
    if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(id)) return null;
    return readOne(own, id) ?? readOne(options.shipped, id);
  }

  return {
    list: () =>
      [...new Set([...idsIn(own), ...idsIn(options.shipped)])]
        .sort()
        .map((id) => ({ id, read: (readOne(own, id) ?? readOne(options.shipped, id)) as ReadTemplate })),
    find,
    use(id) {
      const read = find(id);
      if (read === null) {
        throw new AppError(
          'not_found',
          `There is no template ${JSON.stringify(id)}.`,
          'See GET /templates, or `gantry workflows templates`.',
        );
      }
      if (read.ok) return read.template;
      const said = read.problems.slice(0, 5).map((one) => `line ${one.line ?? 1}: ${one.message}`);
      throw new AppError(
        'usage',
        `The template "${id}" has problems: ${said.join(' ')}`,
        `Mend the file; \`gantry workflows check ${id}\` shows all.`,
      );
    },
    has: (id) => readOne(own, id) !== null,
    save(template) {
      mkdirSync(own, { recursive: true });
      const file = join(own, `${template.id}.json`);
      const draft = join(own, `.${template.id}.json.new`);
      const handle = openSync(draft, 'w');
      try {
        writeSync(handle, `${JSON.stringify(toFile(template), null, 2)}\n`);
        fsyncSync(handle);
      } finally {
        closeSync(handle);
      }
      renameSync(draft, file);
      rmSync(join(own, `${template.id}.md`), { force: true });
    },
  };
}

function idsIn(folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const match = /^([^.].*)\.(json|md)$/.exec(name);
    return match === null ? [] : [match[1] as string];
  });
}

function readOne(folder: string, id: string): ReadTemplate | null {
  const texts = endings.flatMap((ending) => {
    const text = textOf(join(folder, `${id}.${ending}`));
    return text === null ? [] : [{ ending, text }];
  });
  const [first, second] = texts;
  if (first === undefined) return null;
  if (second !== undefined) {
    const message = `Both ${id}.json and ${id}.md are there. Keep one of them.`;
    return { ok: false, problems: [{ path: '', line: null, message }] };
  }
  return readTemplate(first.text, id, first.ending);
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw new AppError('refused', `${file} cannot be read (${(error as Error).message}).`, 'Check its rights.');
  }
}
