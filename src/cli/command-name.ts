/**
 * How a person calls this program where they are: in a clone `npx gantry`, installed or linked `gantry`. Every message that names a
 * command goes through here, so that it can be copied from the screen and works.
 */
import { realpathSync } from 'node:fs';
import { delimiter, join, sep } from 'node:path';

export interface CommandNames {
  /** `npx gantry` or `gantry`. */
  readonly gantry: string;
  /** What starts Gantry here: `npm start` or `gantry start`. */
  readonly start: string;
}

export function commandNames(
  root: string,
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): CommandNames {
  // A bot's pane has the bare command on its PATH (GANTRY_PANE is set there).
  const installed = root.includes(`${sep}node_modules${sep}`) || env.GANTRY_PANE !== undefined;
  if (installed) return { gantry: 'gantry', start: 'gantry start' };
  const inside = cwd === root || cwd.startsWith(root + sep);
  if (inside) return { gantry: 'npx gantry', start: 'npm start' };
  if (isLinked(root, env.PATH)) return { gantry: 'gantry', start: 'gantry start' };
  // The packed app brings its own Node; none need be on the path.
  const node = root.endsWith('app.asar.unpacked') ? quote(process.execPath) : 'node';
  const script = `${node} ${quote(join(root, 'scripts', 'gantry.mjs'))}`;
  return { gantry: script, start: `${script} start` };
}

/** Whether `gantry` in a shell starts this very program, as after `npm link` in the clone. */
function isLinked(root: string, path = ''): boolean {
  for (const folder of path.split(delimiter)) {
    try {
      return realpathSync(join(folder, 'gantry')) === join(root, 'scripts', 'gantry.mjs');
    } catch {
      // No such command in this folder.
    }
  }
  return false;
}

/** Servers do not know where their words are read and say `gantry`: the name that works here stands in its place. */
export function calledHere(text: string, names: CommandNames): string {
  return text.replaceAll('`gantry ', `\`${names.gantry} `);
}

function quote(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
