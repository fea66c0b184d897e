/** Images on the clipboard or in a drop, kept as files for a bot. Must not know where they are pasted. */
import type { Api } from '../../base/data/api.ts';

const types: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** Empty if there is no extension: then it is text. */
export function imagesIn(data: DataTransfer | null): readonly File[] {
  return [...(data?.files ?? [])].filter((file) => types.includes(file.type));
}

/** Uploads images and returns their paths on the bot's computer, each followed by a space. `onProgress` gets how many are done, before each upload. */
export async function keepImages(
  factory: Pick<Api['factory'], 'addAgentImage'>,
  botId: string,
  images: readonly File[],
  onProgress: (done: number) => void = () => {},
): Promise<string> {
  let text = '';
  for (const [done, image] of images.entries()) {
    onProgress(done);
    const data = await base64Of(image);
    const { path } = await factory.addAgentImage({ params: { id: botId }, body: { data } });
    text += `${path} `;
  }
  return text;
}

function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(',', 2)[1] ?? '');
    reader.onerror = () => reject(reader.error ?? new Error('The image could not be read.'));
    reader.readAsDataURL(file);
  });
}
