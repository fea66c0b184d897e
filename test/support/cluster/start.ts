/**
 * Starts a cluster and keeps it until it is ended: `node test/support/cluster/start.ts --folder DIR [--name NAME]… [ARCHIVE]…`. Prints the path of an
 * administrator's kubeconfig once all nodes are ready and have the images of the archives. `--name`: a name that Pods know the place outside by.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startCluster } from './cluster.ts';
import { buildPrograms, findPrograms, noCluster } from './programs.ts';

const { values, positionals } = parseArgs({
  options: { folder: { type: 'string' }, name: { type: 'string', multiple: true } },
  allowPositionals: true,
});
if (values.folder === undefined) throw new Error('Say where: --folder DIR');
const folder = resolve(values.folder);
const kept = process.env.GANTRY_CLUSTER_FOLDER ?? join(folder, 'programs');
const why = noCluster(kept);
if (why !== null) {
  console.error(`SKIPPED, no cluster was started: ${why}.`);
  process.exit(77);
}
buildPrograms(kept);
const cluster = await startCluster({ programs: findPrograms(kept), folder, names: values.name ?? [] });
const end = () => {
  void cluster.close().then(
    () => process.exit(0),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
for (const archive of positionals) await cluster.importArchive(archive);
if (cluster.lacking !== null) console.log(`one node: ${cluster.lacking}`);
console.log(`kubeconfig ${cluster.kubeconfig}`);
console.log(
  `inside ${cluster.kubeconfigInside} in the network namespace ${cluster.outside.namespace} (${cluster.outside.address})`,
);
