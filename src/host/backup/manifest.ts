/**
 * The manifest of an archive of `gantry backup`, and the parts of a data folder in it. The manifest is the first entry, so that all others are known
 * before they are unpacked. Must not read or write files.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';

export const manifestName = 'manifest.json';
/** Far above any real one: a line a file. */
export const largestManifest = 64 * 1024 * 1024;

export const databases = ['runtime.db', 'cloud.db'] as const;
/** With these files a program can act as this computer and open what is sealed in the databases. */
export const secrets = ['master.key', 'token', 'internal-token', 'pairing.json', 'service.env'] as const;
const others = [
  'computer.json',
  'settings.json',
  'issuer-keys.json',
  'demo-phone.json',
  'last-workspace',
  'computer-use',
] as const;
export const kept: readonly string[] = [...databases, ...secrets, ...others];
/** What bots reported and nobody has taken yet, by bot: from `run/bots/<bot>/spool`, and back there. */
export const spools = 'spools';
/** Files of a running process, of its disk, or that are recreated: never part of a backup. */
export const leftOut: readonly string[] = [
  'run',
  'logs',
  'backups',
  'worktrees',
  'peers',
  'workspace',
  'workspaces',
  // Sign-ins of other programs, which a copy would double.
  'accounts',
];

/** Names that stand beside what they belong to. */
export const besides = (name: string): boolean =>
  /^(runtime|cloud)\.db(-wal|-shm|\.id|\.damaged-.*)$/.test(name) ||
  name.startsWith(asidePrefix) ||
  name.startsWith(stagingPrefix) ||
  name === underWay;

export const asidePrefix = 'before-restore-';
export const stagingPrefix = '.backup-';
/** Stands in a data folder while its parts are exchanged. */
export const underWay = 'restore-under-way.json';

/** With "/" between names; never a way out of the folder it is unpacked into. */
const segment = /^(?!\.{1,2}$)[^/\\\0]{1,255}$/;
const Path = z
  .string()
  .max(2000)
  .refine((path) => path.split('/').every((part) => segment.test(part)) && isKnown(path), 'is not a path in a backup');

function isKnown(path: string): boolean {
  const [root, first = '', ...more] = path.split('/');
  if (root === 'home' && first === spools) return more.length === 2;
  if (root === 'home') return kept.includes(first) && (more.length === 0 || first === 'computer-use');
  return root === 'workspaces' && /^(0|[1-9]\d{0,2})$/.test(first) && more.length > 0;
}

const File = z.strictObject({
  path: Path,
  size: z.number().int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** May be run: a script beside a team. */
  exec: z.literal(true).optional(),
});
export type ArchivedFile = z.infer<typeof File>;

const Manifest = z.strictObject({
  gantry: z.literal('backup'),
  v: z.literal(1),
  /** Of the Gantry that wrote it. */
  version: z.string().max(100),
  at: z.iso.datetime(),
  /** The folder it was taken of. */
  home: z.string().max(4096),
  /** Null for a cloud of many people. */
  computer: z.strictObject({ id: z.string().max(100), name: z.string().max(300) }).nullable(),
  /** Which installation, without naming it: see {@link installationOf}. */
  installation: z.string().regex(/^[0-9a-f]{64}$/),
  secrets: z.boolean(),
  /** Folder `workspaces/<place in this list>` of the archive is its `.gantry`. */
  workspaces: z.array(z.string().min(1).max(4096)).max(1000),
  files: z.array(File).max(500_000),
});
export type Manifest = z.infer<typeof Manifest>;

/** Throws `usage` for what is no backup, `refused` for one of a newer Gantry. */
export function parseManifest(text: string, archive: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notOne(archive, 'its manifest is not JSON');
  }
  const head = z
    .object({ gantry: z.literal('backup'), v: z.number(), version: z.string().optional() })
    .safeParse(value);
  if (!head.success) throw notOne(archive, 'its manifest belongs to something else');
  if (head.data.v > 1) {
    throw new AppError(
      'refused',
      `${archive} was written by a newer Gantry (${head.data.version ?? 'unnamed'}, format ${head.data.v}; this one knows 1).`,
      'Restore it with that version.',
    );
  }
  const parsed = Manifest.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw notOne(archive, `its manifest is damaged (${[...issue!.path, issue!.message].join(': ')})`);
  }
  const paths = new Set(parsed.data.files.map((file) => file.path));
  if (paths.size !== parsed.data.files.length) throw notOne(archive, 'its manifest names a file twice');
  return parsed.data;
}

export function notOne(archive: string, why: string): AppError {
  return new AppError(
    'usage',
    `${archive} is not a readable backup: ${why}. Nothing was changed.`,
    'Use a file that `gantry backup` wrote, or another copy of this one.',
  );
}

/**
 * The same for one data folder on one machine for as long as its system lives, different for a copy elsewhere. Of two such, only one may be
 * paired as this computer.
 */
export function installationOf(machine: string, home: string): string {
  return createHash('sha256').update(`gantry backup\n${machine}\n${home}`).digest('hex');
}
