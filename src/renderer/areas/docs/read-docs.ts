/** The text and pictures of the docs, built into the app: each page is loaded when it is opened, all of them for the first search. */
import { contents } from './contents.ts';

const files = import.meta.glob<string>(
  ['../../../../docs/*.md', '../../../../docs/how-to/*.md', '../../../../docs/api/*.md'],
  { query: '?raw', import: 'default' },
);

/** Where this server has each picture. */
const pictures = import.meta.glob<string>('../../../../docs/images/*.png', {
  query: '?url',
  import: 'default',
  eager: true,
});

/** `path`: below `docs/`. Null: there is no such picture. */
export const addressOfPicture = (path: string): string | null => pictures[`../../../../docs/${path}`] ?? null;

const keyOf = (page: string) => `../../../../docs/${page}.md`;

export const isPage = (page: string): boolean => keyOf(page) in files;

export async function readPage(page: string): Promise<string | null> {
  return (await files[keyOf(page)]?.()) ?? null;
}

export async function readAll(): Promise<ReadonlyMap<string, string>> {
  const pages = contents.flatMap((chapter) => chapter.pages.map(([page]) => page)).filter(isPage);
  return new Map(await Promise.all(pages.map(async (page) => [page, (await readPage(page)) ?? ''] as const)));
}
