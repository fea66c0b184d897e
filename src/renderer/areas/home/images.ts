/** Images that go along with a new run: which files are taken, under which names, and as what they are sent. */
import { largestQuickImage, maxQuickImages } from '../../../contracts/factory/quick-run-routes.ts';

export interface RunImage {
  readonly name: string;
  /** Base64. */
  readonly data: string;
}

const endings: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
};

interface Taken {
  readonly images: readonly RunImage[];
  /** Why a file was left out, in a sentence; null: none was. */
  readonly problem: string | null;
}

export async function withImages(before: readonly RunImage[], files: readonly File[]): Promise<Taken> {
  const images = [...before];
  let problem: string | null = null;
  for (const file of files) {
    const ending = endings[file.type];
    if (ending === undefined) problem = `${file.name} is not a PNG, JPEG, GIF or WebP image.`;
    else if (file.size > largestQuickImage)
      problem = `${file.name} is larger than ${largestQuickImage / 1024 ** 2} MB.`;
    else if (images.length >= maxQuickImages) problem = `A run takes at most ${maxQuickImages} images.`;
    else images.push({ name: nameFor(file.name, ending, images), data: await base64Of(file) });
  }
  return { images, problem };
}

/** Everything that is pasted is called the same: each image gets a name of its own, without what a path could read into it. */
function nameFor(name: string, ending: string, taken: readonly RunImage[]): string {
  const stem =
    name
      .replace(/\.[^.]*$/, '')
      .replaceAll(/[^\p{L}\p{N} ._-]/gu, '')
      .replace(/^[. ]+/, '')
      .slice(0, 60) || 'image';
  for (let number = 1; ; number += 1) {
    const own = `${number === 1 ? stem : `${stem}-${number}`}.${ending}`;
    if (taken.every((one) => one.name.toLowerCase() !== own.toLowerCase())) return own;
  }
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  // Not all at once: a call takes only so many arguments.
  const portion = 8192;
  let text = '';
  for (let at = 0; at < bytes.length; at += portion) text += String.fromCharCode(...bytes.subarray(at, at + portion));
  return btoa(text);
}
