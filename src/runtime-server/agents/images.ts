/**
 * Images that a person pastes or drops for a bot: kept as files in the bot's own folder, so that its program can be told their path. The content
 * decides what they are. Must not know panes or messages.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { addAgentImage, type imageTypes, largestImage } from '../../contracts/factory/image-routes.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Member } from './member.ts';

/** Of one bot; the oldest goes first. */
const maxImages = 50;

type ImageType = (typeof imageTypes)[number];
const endings: Readonly<Record<ImageType, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
};

/** By its first bytes; null for anything else. */
function imageTypeOf(bytes: Buffer): ImageType | null {
  const head = bytes.subarray(0, 16).toString('latin1');
  if (head.startsWith('\u0089PNG\r\n\u001a\n')) return 'image/png';
  if (head.startsWith('\u00ff\u00d8\u00ff')) return 'image/jpeg';
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif';
  return head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP' ? 'image/webp' : null;
}

export function agentImageRoutes({
  home,
  find,
}: {
  /** The data folder. */
  readonly home: string;
  readonly find: (idOrAddress: string) => Member | null;
}): BoundRoute[] {
  return [
    bind(addAgentImage, async ({ params, body }) => {
      const bot = find(params.id);
      if (bot === null) {
        throw new AppError('not_found', `There is no bot ${params.id}.`, 'List them with `gantry agents ls`.');
      }
      if (!bot.placement.inPaneHere) {
        throw new AppError('refused', `${bot.address} cannot read files of this computer.`, 'Send it text.');
      }
      const bytes = Buffer.from(body.data, 'base64');
      if (bytes.length > largestImage) {
        throw new AppError('refused', `The image has ${bytes.length} bytes.`, `Send one of at most ${largestImage}.`);
      }
      const type = imageTypeOf(bytes);
      if (type === null) {
        throw new AppError('usage', 'The file is not a PNG, JPEG, GIF or WebP image.', 'Convert it to one of these.');
      }
      const folder = join(home, 'run', 'bots', bot.id, 'images');
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const name = `${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}.${endings[type]}`;
      const path = join(folder, name);
      await writeFile(path, bytes, { mode: 0o600 });
      await forgetOldest(folder);
      return { status: 201 as const, body: { path, type, bytes: bytes.length } };
    }),
  ];
}

async function forgetOldest(folder: string): Promise<void> {
  const names = await readdir(folder);
  if (names.length <= maxImages) return;
  const files = await Promise.all(
    names.map(async (name) => ({ path: join(folder, name), at: (await stat(join(folder, name))).mtimeMs })),
  );
  const old = files.sort((a, b) => b.at - a.at).slice(maxImages);
  await Promise.all(old.map(({ path }) => rm(path, { force: true })));
}
