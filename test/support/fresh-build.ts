/** The folder of the build, where it is of these very sources; `npm test` has it made before the tests. Else null. */
import { join } from 'node:path';

const { buildIsFresh, root } = (await import(new URL('../../scripts/node-runtime.mjs', import.meta.url).href)) as {
  buildIsFresh(): boolean;
  root: string;
};

export function freshBuild(): string | null {
  return buildIsFresh() ? join(root, 'out') : null;
}
