/** Builds the page as it is shipped. A program of its own: inside a test runner the page would be built for development. */
import { join } from 'node:path';
import { createBuilder } from 'vite';

const root = join(import.meta.dirname, '..', '..', '..');
const builder = await createBuilder({
  configFile: join(root, 'vite.config.ts'),
  logLevel: 'error',
  mode: 'production',
});
for (const name of ['client', 'worker']) {
  const environment = builder.environments[name];
  if (environment === undefined) throw new Error(`vite.config.ts has no environment "${name}".`);
  await builder.build(environment);
}
