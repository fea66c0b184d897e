/**
 * Files of tasks: what a command needs and what it leaves, where that is too large for a task. A file is sent and fetched in parts, under a name that
 * its sender chooses. Must not know what a file means.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';

/** Bytes of every part but the last. Three of four characters in base64 are content, so a part fits into a signed call of a computer. */
export const filePartBytes = 1024 * 1024;
export const maxFileParts = 64;
export const maxFileBytes = maxFileParts * filePartBytes;

export const FileName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/, 'up to 200 letters, digits and . _ -, the first a letter or digit');

/** Where a file is, and the size and hash that are compared once it is fetched. */
export const TaskFile = z
  .strictObject({
    name: FileName,
    size: z.number().int().min(1).max(maxFileBytes).meta({ description: 'Bytes.' }),
    sha256: z.string().regex(/^[0-9a-f]{64}$/, '64 hexadecimal digits'),
  })
  .meta({ id: 'TaskFile' });
export type TaskFile = z.infer<typeof TaskFile>;

const mount = '/beta/work/files/:name';
const file = {
  area: 'work-queue',
  errors: 'plain',
  auth: ['owner', 'user', 'key', 'device'],
  scope: 'work',
  owner: { none: 'each statement names the caller, so that a foreign file is one that is not there' },
} as const;
const Part = z.coerce
  .number()
  .int()
  .min(0)
  .max(maxFileParts - 1)
  .meta({ description: 'From 0.' });
const part = { path: `${mount}/:part`, params: z.strictObject({ name: FileName, part: Part }) } as const;
const Data = z.base64().max(Math.ceil(filePartBytes / 3) * 4);

export const putTaskFilePart = defineRoute({
  ...file,
  ...part,
  op: 'putTaskFilePart',
  summary: 'Stores a part of a file of a task, of at most 1 MiB; 409 if your files are too many',
  method: 'PUT',
  body: z.strictObject({ data: Data.min(4).meta({ description: 'In base64.' }) }),
  bodyLimit: 2 * 1024 * 1024,
  answers: { 200: z.strictObject({ name: z.string(), part: z.number().int() }) },
});

export const getTaskFilePart = defineRoute({
  ...file,
  ...part,
  op: 'getTaskFilePart',
  summary: 'Reads a part of a file of a task',
  method: 'GET',
  answers: { 200: z.strictObject({ data: z.string().meta({ description: 'In base64.' }) }) },
});

export const removeTaskFile = defineRoute({
  ...file,
  op: 'removeTaskFile',
  summary: 'Removes a file of a task',
  method: 'DELETE',
  path: mount,
  params: z.strictObject({ name: FileName }),
  answers: { 200: z.strictObject({ removed: z.literal(true) }) },
});

export const taskFileRoutes = [putTaskFilePart, getTaskFilePart, removeTaskFile] as const;
