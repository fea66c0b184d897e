/** Files that an agent reads and writes through its client. Where the agent may not look or write, this program may not either. */
import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type FileText, maxFile, type Order } from './protocol.ts';

type Of<Kind extends Order['do']> = Extract<Order, { do: Kind }>;

/** `line` counts from 1. */
export async function readText({ path, line, limit }: Of<'read'>): Promise<FileText> {
  // Without O_NONBLOCK a named pipe would block forever.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new Error(`${path} is not a file`);
    if (found.size > maxFile) throw new Error(`${path} has ${found.size} bytes; at most ${maxFile} are read`);
    const text = (await handle.readFile()).toString('utf8');
    if (line === null && limit === null) return { text };
    const first = Math.max(0, (line ?? 1) - 1);
    const lines = text.split(/(?<=\n)/);
    return { text: lines.slice(first, limit === null ? undefined : first + limit).join('') };
  } finally {
    await handle.close();
  }
}

export async function writeText({ path, text }: Of<'write'>): Promise<null> {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxFile) throw new Error(`the text has ${bytes} bytes; at most ${maxFile} are written`);
  await mkdir(dirname(path), { recursive: true });
  const handle = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK, 0o666);
  try {
    if (!(await handle.stat()).isFile()) throw new Error(`${path} is not a file`);
    await handle.truncate(0);
    await handle.writeFile(text);
    return null;
  } finally {
    await handle.close();
  }
}
