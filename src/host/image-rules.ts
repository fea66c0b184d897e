/**
 * Who may name which images: in tasks of the queue, and for hosted computers. Read only from the environment; without a setting everybody may name any
 * image that the worker, or the engine of computers, has or takes. Must not start anything.
 */
import { AppError } from '../contracts/common/errors.ts';
import type { ImageRule } from '../kit/docker/image-rule.ts';

type Setting = 'GANTRY_TASK_IMAGES' | 'GANTRY_COMPUTERS_IMAGES';

/** `ghcr.io/acme/,user_01J…=docker.io/library/`: beginnings of names, some for one person only; `none`: no image. Null: any. */
export function readImageRules(
  env: Readonly<Record<string, string | undefined>>,
  name: Setting,
): readonly ImageRule[] | null {
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
