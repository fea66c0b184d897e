/**
 * The driver `kubernetes` on a real cluster, as a cloud has it that computers dial: this process is at an address that Pods reach. `npm run test:cluster`
 * says where the cluster is and what that address is.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { HostedDriver } from '../../../src/cloud-api/hosted-computers/driver.ts';
import { createKubernetesDriver } from '../../../src/cloud-api/hosted-computers/kubernetes.ts';
import { createDialIns } from '../../../src/cloud-api/link/dial-ins.ts';
import { driverUser } from '../../../src/contracts/hosted-computers/computer.ts';
import { linkPath } from '../../../src/contracts/link/dial-in.ts';
import { readComputersCluster } from '../../../src/host/computers-engine.ts';
import { type Clock, systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { signatureHeaders, signatureMatches } from '../../../src/kit/signing/signature.ts';
import { computerUser } from '../../../src/programs/computer-init/protocol.ts';
import { type LinkedComputer, linkedOver } from '../../support/computers/dialled.ts';

/** The file that says where the cluster is, the namespace of this test, and where Pods reach this process. */
const { GANTRY_TEST_KUBECONFIG: kubeconfig, GANTRY_TEST_NAMESPACE: namespace = 'gantry-test' } = process.env;
const dialled = new URL(process.env.GANTRY_TEST_CLOUD ?? 'http://outside.test:8089');
export const noCluster = (): string | null => (kubeconfig === undefined ? 'npm run test:cluster runs it' : null);

/** `dialled`: where Pods reach this process. */
interface ClusterPlace {
  readonly kubeconfig: string;
  readonly namespace: string;
  readonly dialled: URL;
}
const told: ClusterPlace = { kubeconfig: kubeconfig!, namespace, dialled };

const remainsOf = (kubectl: (...words: readonly string[]) => string) =>
  kubectl('get', 'pods,pvc,secrets,configmaps', '-l', 'gantry.dev/computer', '-o', 'name').split('\n').filter(Boolean);

/** For figures, which need a namespace of their own. `remove` deletes it with everything in it. */
export async function makeNamespace() {
  const kubectl = (...words: readonly string[]) =>
    execFileSync('kubectl', ['--kubeconfig', kubeconfig!, '-n', namespace, ...words], { encoding: 'utf8' }).trim();
  kubectl('create', 'namespace', namespace);
  // Its Pods need it, and the cluster makes it a moment later.
  while (kubectl('get', 'serviceaccounts', '-o', 'name') === '') await delay(200);
  return {
    namespace,
    kubeconfig: kubeconfig!,
    /** Where Pods reach this process. */
    dialled,
    kubectl,
    remains: () => remainsOf(kubectl),
    remove() {
      const words = ['delete', 'namespace', namespace, '--timeout=120s'];
      execFileSync('kubectl', ['--kubeconfig', kubeconfig!, ...words]);
    },
  };
}

export async function openKubernetes(
  env: Readonly<Record<string, string>> = {},
  { kubeconfig, namespace, dialled } = told,
) {
  const kubectl = (...words: readonly string[]) =>
    execFileSync('kubectl', ['--kubeconfig', kubeconfig, '-n', namespace, ...words], { encoding: 'utf8' }).trim();
  const keys = new Map<string, string>();
  const dialIns = createDialIns({
    async authenticate({ headers, method = '', url = '' }) {
      const { id, ts, sig } = signatureHeaders;
      const computerId = String(headers[id]);
      const key = keys.get(computerId);
      const signed = { ts: String(headers[ts]), method, path: url, body: '' };
      const isIt = key !== undefined && url === linkPath && headers.host === dialled.host;
      if (!isIt || !signatureMatches(key, signed, String(headers[sig]))) return null;
      return { computerId, userId: driverUser(computerId) };
    },
    clock: systemClock,
    timers: systemTimers,
    log: { info() {}, warn: console.warn },
  });
  const server = createServer((_, answer) => answer.writeHead(404).end());
  server.on('upgrade', (request, socket, head) => dialIns.handleUpgrade(request, socket, head));
  await new Promise<void>((resolve) => server.listen(Number(dialled.port), '0.0.0.0', () => resolve()));

  function connect(
    installation: string,
    more: Readonly<Record<string, string>> = {},
    clock: Clock = systemClock,
  ): HostedDriver {
    const driver = createKubernetesDriver({
      settings: readComputersCluster({
        // The image and the storage of that cluster.
        ...process.env,
        GANTRY_COMPUTERS_ENGINE: 'kubernetes',
        GANTRY_COMPUTERS_NAMESPACE: namespace,
        GANTRY_COMPUTERS_CLOUD: dialled.href,
        KUBECONFIG: kubeconfig,
        ...env,
        ...more,
      })!,
      installation,
      origin: dialled.origin,
      clock,
      timers: systemTimers,
      log: { warn: console.warn },
    });
    const dialOf = (computer: string) => {
      const key = keys.get(computer) ?? randomBytes(32).toString('hex');
      keys.set(computer, key);
      return { computer, key, at: Date.now() };
    };
    return {
      ...driver,
      start: (computer, dial = dialOf(computer)) => driver.start(computer, dial),
      wake: (computer, dial = dialOf(computer)) => driver.wake(computer, dial),
    };
  }
  /** The newest: an earlier one may still be ending. */
  const podOf = (computer: string) => {
    const selected = ['-l', `gantry.dev/computer=${computer}`, '--field-selector', 'status.phase=Running'];
    return kubectl('get', 'pod', ...selected, '--sort-by=.metadata.creationTimestamp', '-o', 'name')
      .split('\n')
      .at(-1)!;
  };

  return {
    kubectl,
    connect,
    /** Resolves once it has dialled. */
    async link(computer: string): Promise<LinkedComputer> {
      if (!(await dialIns.untilLinked(computer, 60_000, new AbortController().signal)))
        throw new Error(`${computer} did not dial.`);
      return linkedOver(dialIns, computer);
    },
    /** What a command writes in a computer, as its own user and with everything that its programs have. */
    inside: (computer: string, command: readonly string[]) =>
      kubectl(
        ...['exec', podOf(computer), '-c', 'computer', '--', 'setpriv', `--reuid=${computerUser.uid}`],
        ...[`--regid=${computerUser.gid}`, '--clear-groups', '--no-new-privs', ...command],
      ),
    /** Ends everything in a computer, as its own crash would. */
    crash: (computer: string) => {
      const words = ['exec', podOf(computer), '-c', 'computer', '--', 'bash', '-c', 'kill -TERM 1'];
      // It ends with what it ended.
      spawnSync('kubectl', ['--kubeconfig', kubeconfig, '-n', namespace, ...words]);
    },
    /** Everything of computers in the namespace. */
    remains: () => remainsOf(kubectl),
    async close() {
      await dialIns.close(0);
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}
