/** What is not there says what lists those that there are: a command of the command line, or a request that is served. */
import { expect, test } from 'vitest';
import { parts } from '../../src/cli/catalogue.ts';
import { serverTables } from '../../src/contracts/servers.ts';

test('every list that an unknown id leads to exists', () => {
  const routes = serverTables.flatMap(({ routes: table }) => [...table]);
  const served = new Set(
    routes.filter(({ method }) => method === 'GET').map(({ path }) => `GET ${path.replace(/:(\w+)/g, '{$1}')}`),
  );
  const commands = new Set(parts.flatMap(({ name, verbs }) => verbs.map((verb) => `gantry ${name} ${verb.name}`)));
  const lists = new Set(
    routes.flatMap(({ owner }) => (typeof owner === 'object' && 'list' in owner ? owner.list : [])),
  );
  expect(lists.size).toBeGreaterThan(15);
  const missing = [...lists].filter((one) => !served.has(one) && !commands.has(one.replace(/ <\w+>$/, '')));
  expect(missing).toEqual([]);
});
