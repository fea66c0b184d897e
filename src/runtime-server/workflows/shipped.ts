/** The location of the templates that ship with Gantry. Works from source and from the built program. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** One that always ships: how the folder is known among others of its name. */
const known = 'find-fix-prove.md';

export function shippedTemplates(from: string = import.meta.dirname): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'templates', known))) return join(folder, 'templates');
    if (dirname(folder) === folder) throw new Error(`The templates that ship were not found above ${from}.`);
  }
}
