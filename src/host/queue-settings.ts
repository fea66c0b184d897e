/**
 * Who may name which images in tasks of the queue. Read only from the environment; without it everybody may name any image, as a worker of theirs runs
 * it. Must not start anything.
 */
import type { ImageRule } from '../cloud-api/work-queue/index.ts';
import { AppError } from '../contracts/common/errors.ts';

const name = 'GANTRY_TASK_IMAGES';

/** `ghcr.io/acme/,user_01J…=docker.io/library/`: beginnings of names, some for one person only; `none`: no image. Null: any. */
export function readTaskImages(env: Readonly<Record<string, string | undefined>>): readonly ImageRule[] | null {
  const given = env[name]?.trim() ?? '';
  if (given === '') return null;
  if (given === 'none') return [];
  return given.split(',').map((entry) => {
    const [, userId, beginning = ''] = /^(?:([A-Za-z0-9_]+)=)?([^\s=]+)$/.exec(entry.trim()) ?? [];
    if (beginning !== '') return { userId: userId ?? null, beginning };
    throw new AppError(
      'usage',
      `${name} has an entry that names no image: ${JSON.stringify(entry)}.`,
      'Give beginnings of image names with commas between them, such as ghcr.io/acme/,user_1=docker.io/library/, or none.',
    );
  });
}
