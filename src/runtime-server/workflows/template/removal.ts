/**
 * Removing a template of the workspace, and bringing it back: its bytes are kept in Gantry's own database until a template with the same id is removed.
 * What counted before its removal counts again; what waited for a yes still waits.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import type { TemplateRemoval } from '../../../contracts/factory/workflow.ts';
import { writeWithin } from '../../../kit/files/within.ts';
import type { Actor } from '../../base/actor.ts';
import type { Base } from '../../base/base.ts';
import type { Trust } from '../../trust/index.ts';
import { readSchedules } from '../schedules/store.ts';
import type { TemplateFolder } from './folder.ts';

interface Kept {
  /** Below the workspace. */
  readonly path: string;
  readonly bytes: Buffer;
  /** Its person had agreed to it. */
  readonly counted: boolean;
}

export interface TemplateRemovals {
  remove(
    id: string,
    dryRun: boolean,
    by: Actor,
  ): Promise<{ removed: TemplateRemoval } | { dryRun: true; plan: TemplateRemoval }>;
  /** `not_found`: none with this id was removed. `refused`: there is one again. */
  restore(id: string, dryRun: boolean, by: Actor): Promise<{ id: string; files: string[]; applied: boolean }>;
}

export function createTemplateRemovals({
  store,
  ledger,
  clock,
  workspace,
  templates,
  trust,
}: Pick<Base, 'store' | 'ledger' | 'clock'> & {
  readonly workspace: string;
  readonly templates: TemplateFolder;
  readonly trust: Pick<Trust, 'judge' | 'sayYes'>;
}): TemplateRemovals {
  function filesOf(id: string): Kept[] {
    const files = templates.filesOf(id);
    if (files.length > 0) {
      return files.map(({ path, bytes }) => {
        const { waits } = trust.judge(join(workspace, path), bytes.toString('utf8'));
        return { path, bytes, counted: !waits };
      });
    }
    if (templates.find(id) === null) throw unknown(id);
    const fact = `The template "${id}" ships with Gantry, so it cannot be removed.`;
    const action = 'Save a template with the same id in the workspace to use yours instead.';
    throw new AppError('refused', fact, action, { status: 409 });
  }

  const record = (type: string, id: string, files: readonly Kept[], by: Actor) =>
    store.write((tx) => {
      const body = { v: 1, id, files: files.map(({ path }) => path) };
      ledger.append(tx, { type, subject: `template:${id}`, ...by, body });
    });

  return {
    async remove(id, dryRun, by) {
      const files = filesOf(id);
      const users = await store.read((tx) => readSchedules(tx, workspace).filter(({ run }) => run.template === id));
      const plan: TemplateRemoval = {
        id,
        files: files.map(({ path }) => path),
        shipped: templates.ships(id),
        schedules: users.map(({ title }) => title),
      };
      if (dryRun) return { dryRun: true, plan };
      // Kept first: whatever happens next, the files can be brought back.
      await store.write((tx) => {
        tx.run('DELETE FROM removed_template WHERE workspace = ? AND id = ?', workspace, id);
        for (const { path, bytes, counted } of files) {
          tx.run(
            'INSERT INTO removed_template (workspace, id, path, bytes, counted, removed_at) VALUES (?, ?, ?, ?, ?, ?)',
            workspace,
            id,
            path,
            bytes,
            counted ? 1 : 0,
            clock.now(),
          );
        }
      });
      for (const { path } of files) rmSync(join(workspace, path), { force: true });
      // The person wants it gone: its absence is no change that waits for them.
      await trust.sayYes(
        files.map(({ path }) => ({ path: join(workspace, path), text: null })),
        by,
      );
      await record('template.removed', id, files, by);
      return { removed: plan };
    },

    async restore(id, dryRun, by) {
      const rows = await store.read((tx) =>
        tx.all<{ path: string; bytes: Buffer; counted: number }>(
          'SELECT path, bytes, counted FROM removed_template WHERE workspace = ? AND id = ? ORDER BY path',
          workspace,
          id,
        ),
      );
      if (rows.length === 0) throw unknown(id);
      if (templates.has(id)) {
        const fact = `The workspace has a template "${id}" again.`;
        throw new AppError('refused', fact, 'Remove or rename it first.', { status: 409 });
      }
      const files = rows.map((row) => ({ ...row, counted: row.counted === 1 }));
      const answer = { id, files: files.map(({ path }) => path), applied: !dryRun };
      if (dryRun) return answer;
      for (const { path, bytes } of files) writeWithin(workspace, path, bytes);
      const agreed = files.filter(({ counted }) => counted);
      await trust.sayYes(
        agreed.map(({ path, bytes }) => ({ path: join(workspace, path), text: bytes.toString('utf8') })),
        by,
      );
      await store.write((tx) => {
        tx.run('DELETE FROM removed_template WHERE workspace = ? AND id = ?', workspace, id);
      });
      await record('template.restored', id, files, by);
      return answer;
    },
  };
}

const unknown = (id: string): AppError =>
  new AppError(
    'not_found',
    `There is no template ${JSON.stringify(id)}.`,
    'See GET /templates, or `gantry workflows templates`.',
  );
