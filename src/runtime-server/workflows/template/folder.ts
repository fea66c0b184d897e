/**
 * Templates on disk: `.gantry/templates/` of the workspace and the folder of those that ship. A template of the workspace hides the shipped one with
 * its id. Files are small and few: each request reads them, so that an edit counts at once.
 */
import { lstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { byName } from '../../../contracts/common/by-name.ts';
import { AppError } from '../../../contracts/common/errors.ts';
import { largestTemplate, type Template } from '../../../contracts/factory/workflow.ts';
import { listWithin, readTextWithin, readWithin, writeWithin } from '../../../kit/files/within.ts';
import { type By, type FileTrust, type Trust, waitsForYes } from '../../trust/index.ts';
import { type ReadTemplate, readTemplate, toFile } from './read.ts';

export interface TemplateFolder {
  /** Every template there is, by id; those that cannot be read with their problems. */
  list(): { readonly id: string; readonly read: ReadTemplate }[];
  /** Null: none has this id. */
  find(id: string): ReadTemplate | null;
  /** As {@link find}; throws `not_found` or `usage` (with the first problems) for an unusable one. */
  use(id: string): Template;
  /** Whether the workspace itself has this id. */
  has(id: string): boolean;
  /** Writes `<id>.json`; a Markdown file with the id makes room. `yes`: of the person who saves it; null: it waits for their yes. */
  save(template: Template, yes: By | null): Promise<void>;
  /** Whether one with this id ships with Gantry, hidden by the workspace's or not. */
  ships(id: string): boolean;
  /** The workspace's files of this id, below the workspace. `refused` for what is no plain file: a person removes that by hand. */
  filesOf(id: string): { readonly path: string; readonly bytes: Buffer }[];
}

const endings = ['json', 'md'] as const;
/** Of a folder: further files are not read. */
const maxFiles = 1000;

/** A folder of templates, and the folder that contains all its files. */
interface Place {
  readonly root: string;
  readonly folder: string;
}

export function createTemplateFolder(options: {
  readonly workspace: string;
  readonly shipped: string;
  readonly trust: Pick<Trust, 'judge' | 'sayYes'>;
}): TemplateFolder {
  const ownFolder = join('.gantry', 'templates');
  const own = { root: options.workspace, folder: ownFolder };
  const shipped = { root: options.shipped, folder: '.' };
  const readOwn = (id: string) => readOne(own, id, options.trust);

  const isId = (id: string): boolean => /^[a-z0-9][a-z0-9_-]{0,63}$/.test(id);

  function find(id: string): ReadTemplate | null {
    if (!isId(id)) return null;
    return readOwn(id) ?? readOne(shipped, id);
  }

  return {
    list: () =>
      [...new Set([...idsIn(own), ...idsIn(shipped)])]
        .sort(byName)
        .map((id) => ({ id, read: (readOwn(id) ?? readOne(shipped, id)) as ReadTemplate })),
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
      if (read.waits !== undefined) throw waitsForYes([read.waits]);
      const said = read.problems.slice(0, 5).map((one) => `line ${one.line ?? 1}: ${one.message}`);
      throw new AppError(
        'usage',
        `The template "${id}" has problems: ${said.join(' ')}`,
        `Fix the file; \`gantry workflows check ${id}\` shows all problems.`,
      );
    },
    has: (id) => readOwn(id) !== null,
    ships: (id) => isId(id) && readOne(shipped, id) !== null,
    filesOf(id) {
      if (!isId(id)) return [];
      return endings.flatMap((ending) => {
        const path = join(ownFolder, `${id}.${ending}`);
        const link = lstatSync(join(options.workspace, path), { throwIfNoEntry: false })?.isSymbolicLink() === true;
        const found = link
          ? { is: 'unfit' as const, why: 'It is a link.' }
          : readWithin(options.workspace, path, largestTemplate);
        if (found.is === 'file') return [{ path: path.replaceAll('\\', '/'), bytes: found.bytes }];
        if (found.is === 'absent') return [];
        const fact = `${path.replaceAll('\\', '/')} cannot be removed here: ${found.why}`;
        throw new AppError('refused', fact, 'Remove it by hand.', { status: 409 });
      });
    },
    async save(template, yes) {
      const text = `${JSON.stringify(toFile(template), null, 2)}\n`;
      writeWithin(options.workspace, join(ownFolder, `${template.id}.json`), text);
      const path = join(options.workspace, ownFolder, `${template.id}.json`);
      if (yes !== null) await options.trust.sayYes([{ path, text }], yes);
      rmSync(join(options.workspace, ownFolder, `${template.id}.md`), { force: true });
    },
  };
}

function idsIn({ root, folder }: Place): string[] {
  return listWithin(root, folder, maxFiles).entries.flatMap(({ name }) => {
    const match = /^([^.].*)\.(json|md)$/.exec(name);
    return match === null ? [] : [match[1] as string];
  });
}

/** `trust`: the folder is the workspace's, where a file counts once its person agreed to it. */
function readOne({ root, folder }: Place, id: string, trust?: FileTrust): ReadTemplate | null {
  const texts = endings.flatMap((ending) => {
    const found = readTextWithin(root, join(folder, `${id}.${ending}`), largestTemplate);
    return typeof found !== 'string' && found.is === 'absent' ? [] : [{ ending, found }];
  });
  const [first, second] = texts;
  if (first === undefined) return null;
  if (second !== undefined) {
    const message = `Both ${id}.json and ${id}.md exist. Keep one of them.`;
    return { ok: false, problems: [{ path: '', line: null, message }] };
  }
  if (typeof first.found === 'string') {
    const path = join(folder, `${id}.${first.ending}`);
    if (trust?.judge(join(root, path), first.found).waits !== true) return readTemplate(first.found, id, first.ending);
    const shown = path.replaceAll('\\', '/');
    const message = `${shown} waits for your yes: it is new or changed. Review it with \`gantry trust\`.`;
    return { ok: false, problems: [{ path: '', line: null, message }], waits: shown };
  }
  return { ok: false, problems: [{ path: '', line: null, message: `${id}.${first.ending}: ${first.found.why}` }] };
}
