/**
 * The control plane of a cluster: etcd, API server, controller manager and scheduler, in a network namespace. Certificates and RBAC as a cluster of
 * others has them; the aggregation layer asks the Pods behind a Service without a proxy. Knows nothing of nodes.
 */
import { join } from 'node:path';
import { until } from '../../real/scenes.ts';
import type { Place } from '../namespaces.ts';
import { type Api, writeKubeconfig } from './api.ts';
import { type Authority, createAuthority, makeKeyPair } from './certificates.ts';
import type { Networks } from './cluster.ts';
import { createPart, type Part } from './parts.ts';
import type { Programs } from './programs.ts';

export const apiPort = 6443;
/** Kubernetes 1.20 drops `procMount` without it. */
export const featureGates = 'ProcMountType=true';

export interface ControlPlane {
  readonly authority: Authority;
  /** Inside of the cluster's network. */
  readonly server: string;
  /** In the order of their start. */
  readonly parts: Readonly<Record<'etcd' | 'api' | 'controllers' | 'scheduler', Part>>;
  /** Resolves once the API server is ready. */
  start(ask: (authority: Authority) => Api): Promise<void>;
}

export function createControlPlane(options: {
  readonly programs: Programs;
  readonly place: Place;
  readonly folder: string;
  readonly networks: Networks;
}): ControlPlane {
  const { programs, place, folder, networks } = options;
  const pki = join(folder, 'pki');
  const authority = createAuthority(join(pki, 'cluster'), 'gantry-test');
  const front = createAuthority(join(pki, 'front-proxy'), 'gantry-test-front-proxy');
  const tokens = makeKeyPair(pki, 'service-accounts');
  const server = `https://${place.address}:${apiPort}`;
  const inCluster = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
  ];
  const addresses = [place.address, '127.0.0.1', networks.firstService];
  const serving = authority.certify('api-server', {
    subject: 'kube-apiserver',
    names: [...inCluster, 'localhost'].map((name) => `DNS:${name}`).concat(addresses.map((one) => `IP:${one}`)),
  });
  const toKubelets = authority.certify('to-kubelets', { subject: 'kube-apiserver', groups: ['system:masters'] });
  const frontClient = front.certify('client', { subject: 'front-proxy-client' });
  const configOf = (name: string) =>
    writeKubeconfig(
      join(folder, `${name}.kubeconfig`),
      server,
      authority,
      authority.certify(name, { subject: `system:${name}` }),
    );
  const part = (name: string, program: string, words: readonly string[]) =>
    createPart({ name, place, folder, program, words });
  const flags = (given: Readonly<Record<string, string>>) =>
    Object.entries(given).map(([name, value]) => `--${name}=${value}`);
  const store = 'http://127.0.0.1:2379';
  const parts = {
    etcd: part(
      'etcd',
      programs.etcd,
      flags({
        'data-dir': join(folder, 'etcd'),
        'listen-client-urls': store,
        'advertise-client-urls': store,
        'listen-peer-urls': 'http://127.0.0.1:2380',
        'log-level': 'warn',
        logger: 'zap',
      }),
    ),
    api: part(
      'kube-apiserver',
      programs['kube-apiserver'],
      flags({
        'etcd-servers': store,
        'advertise-address': place.address,
        'secure-port': String(apiPort),
        'insecure-port': '0',
        'tls-cert-file': serving.certificate,
        'tls-private-key-file': serving.key,
        'client-ca-file': authority.certificate,
        'authorization-mode': 'Node,RBAC',
        'enable-admission-plugins': 'NodeRestriction',
        'service-cluster-ip-range': networks.services,
        'service-account-issuer': 'https://kubernetes.default.svc',
        'service-account-signing-key-file': tokens.secret,
        'service-account-key-file': tokens.published,
        'kubelet-client-certificate': toKubelets.certificate,
        'kubelet-client-key': toKubelets.key,
        'kubelet-preferred-address-types': 'InternalIP',
        'requestheader-client-ca-file': front.certificate,
        'requestheader-allowed-names': 'front-proxy-client',
        'requestheader-username-headers': 'X-Remote-User',
        'requestheader-group-headers': 'X-Remote-Group',
        'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
        'proxy-client-cert-file': frontClient.certificate,
        'proxy-client-key-file': frontClient.key,
        'enable-aggregator-routing': 'true',
        'allow-privileged': 'true',
        // A node that is away is given up after this, where a Pod says nothing else: five minutes elsewhere.
        'default-not-ready-toleration-seconds': '20',
        'default-unreachable-toleration-seconds': '20',
        'feature-gates': featureGates,
      }),
    ),
    controllers: part(
      'kube-controller-manager',
      programs['kube-controller-manager'],
      flags({
        kubeconfig: configOf('kube-controller-manager'),
        'bind-address': '127.0.0.1',
        'service-account-private-key-file': tokens.secret,
        'root-ca-file': authority.certificate,
        'use-service-account-credentials': 'true',
        'leader-elect': 'false',
        'node-monitor-grace-period': '20s',
        'horizontal-pod-autoscaler-sync-period': '5s',
        'horizontal-pod-autoscaler-downscale-stabilization': '15s',
      }),
    ),
    scheduler: part(
      'kube-scheduler',
      programs['kube-scheduler'],
      flags({
        kubeconfig: configOf('kube-scheduler'),
        'bind-address': '127.0.0.1',
        'leader-elect': 'false',
      }),
    ),
  };
  return {
    authority,
    server,
    parts,
    async start(ask) {
      const api = ask(authority);
      parts.etcd.start();
      parts.api.start();
      await until('the API server is ready', () => api('GET', '/readyz').then(() => true), 90_000).catch((error) => {
        throw new Error(`${error.message}\n${parts.etcd.log()}\n${parts.api.log()}`);
      });
      parts.controllers.start();
      parts.scheduler.start();
      await until('the first namespace has its ServiceAccount', () =>
        api('GET', '/api/v1/namespaces/default/serviceaccounts/default').then(() => true),
      );
    },
  };
}
