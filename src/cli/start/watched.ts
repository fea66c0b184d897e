/** Who watches a server of the command line: systemd where it asks for that, otherwise a watcher of the launcher. Must not know servers. */
import { basename } from 'node:path';
import { placesIn } from '../../host/places.ts';
import { systemdWatches, type Watchdog, watchOver } from '../../host/watchdog.ts';
import type { Env } from '../connect.ts';

/** Begin it once the server is ready. `service`: the operating system starts it again. `more`: what the command needs where nobody is at the terminal. */
export function watchServer(
  env: Env,
  home: string,
  { service = false, more = [] }: { readonly service?: boolean; readonly more?: readonly string[] } = {},
): Watchdog {
  const { argv, execArgv, execPath } = process;
  const launched = basename(argv[1] ?? '') === 'gantry.mjs';
  // A developer runs it from the sources, with breakpoints and a program that starts it again.
  if (!launched && !systemdWatches(env)) return { rest() {}, end() {} };
  const again = service ? null : [execPath, ...execArgv, ...argv.slice(1), ...more];
  return watchOver({ beat: placesIn(home).beat, env, again });
}
