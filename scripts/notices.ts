/**
 * The licences of other people's work that is in a build: of each package that was bundled, and of those that are packed beside it. Made at
 * the build (vite.config.ts) and put into the installers (electron-builder.yml).
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const licenceFile = /^(?:licen[cs]e|copying|notice|ofl)(?:[.-].*)?$/i;

export interface PackageFile {
  readonly name: string;
  readonly version: string;
  readonly license?: unknown;
  readonly author?: unknown;
  readonly homepage?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const read = (folder: string): PackageFile =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageFile;

/** The folder of the package that a module belongs to; null: it is ours. */
export function packageOf(id: string): string | null {
  return /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/@][^\\/]*)[\\/]/.exec(id.replace(/^\0/, ''))?.[1] ?? null;
}

/** These and all that they need at run time. */
export function withDependencies(root: string, names: readonly string[]): string[] {
  const found = new Set<string>();
  const add = (name: string): void => {
    const folder = join(root, 'node_modules', name);
    if (found.has(folder) || !existsSync(join(folder, 'package.json'))) return;
    found.add(folder);
    for (const one of Object.keys(read(folder).dependencies ?? {})) add(one);
  };
  for (const name of names) add(name);
  return [...found];
}

/** Each package once, by name. */
export function packagesAt(folders: Iterable<string>): { folder: string; about: PackageFile }[] {
  return [...new Set(folders)]
    .filter((folder) => existsSync(join(folder, 'package.json')))
    .map((folder) => ({ folder, about: read(folder) }))
    .toSorted((a, b) => (a.about.name < b.about.name ? -1 : 1));
}

export function noticesOf(folders: Iterable<string>): string {
  const parts = packagesAt(folders).map(({ folder, about }) => {
    const files = readdirSync(folder).filter((name) => licenceFile.test(name));
    const texts = files.map((name) => readFileSync(join(folder, name), 'utf8').trim());
    const licence = typeof about.license === 'string' ? about.license : JSON.stringify(about.license ?? 'see below');
    const author =
      typeof about.author === 'string' ? about.author : (about.author as { name?: string } | undefined)?.name;
    const from = [author, about.homepage].filter((one) => one !== undefined).join(', ');
    return [
      `${about.name} ${about.version}`,
      `Licence: ${licence}`,
      ...(from === '' ? [] : [`From: ${from}`]),
      '',
      ...texts,
    ].join('\n');
  });
  const line = `\n\n${'-'.repeat(80)}\n\n`;
  return `Gantry contains the following third-party software.${line}${parts.join(line)}\n`;
}
