/** The location, beside the program, of the tables that map codes of Chinese, Japanese and Korean fonts to characters. */
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder with a closing slash. Run from source it is the package's own; a build carries a copy (vite.config.ts). */
export function cMapFolder(moduleUrl: string = import.meta.url): string {
  const self = fileURLToPath(moduleUrl);
  if (self.endsWith('.ts'))
    return resolve(dirname(self), '../../../../..', 'node_modules', 'pdfjs-dist', 'cmaps') + sep;
  const built = self.lastIndexOf(`${sep}server${sep}`);
  return join(self.slice(0, built), 'server', 'cmaps') + sep;
}
