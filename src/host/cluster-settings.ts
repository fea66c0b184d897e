/**
 * The port for the API server of a Kubernetes cluster, from the environment: where it listens, its certificate, and whose client certificates count.
 * Read at the start; must not open anything.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../contracts/common/errors.ts';
import type { Address } from '../kit/http/server.ts';

export interface ClusterSettings {
  readonly listen: Address;
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  /** PEM; the authority of the front proxy's client certificates. */
  readonly authority: string;
  /** Common names of the front proxy; empty: any certificate of that authority. */
  readonly names: readonly string[];
}

/** What the folder holds: a certificate as in a Secret of the type `kubernetes.io/tls`, and two values of a ConfigMap that every cluster has. */
const files = {
  certificate: 'tls.crt',
  key: 'tls.key',
  authority: 'requestheader-client-ca-file',
  names: 'requestheader-allowed-names',
} as const;
const advice = 'docs/deploy.md says how to fill the folder from the ConfigMap extension-apiserver-authentication.';
const Names = z.array(z.string());

/** Null: no cluster asks. Throws `usage`. */
export function readClusterSettings(
  env: Readonly<Record<string, string | undefined>>,
  addressOf: (value: string) => Address,
): ClusterSettings | null {
  const listen = env.GANTRY_CLUSTER_LISTEN || null;
  if (listen === null) return null;
  const folder = env.GANTRY_CLUSTER_TLS || null;
  if (folder === null) {
    throw new AppError(
      'usage',
      'GANTRY_CLUSTER_LISTEN is set, but GANTRY_CLUSTER_TLS is not.',
      `Name its folder. ${advice}`,
    );
  }
  const read = (name: keyof typeof files): string => {
    try {
      return readFileSync(join(folder, files[name]), 'utf8');
    } catch (cause) {
      const why = (cause as NodeJS.ErrnoException).code ?? String(cause);
      throw new AppError('usage', `${join(folder, files[name])} cannot be read (${why}).`, advice, { cause });
    }
  };
  return {
    listen: addressOf(listen),
    certificate: read('certificate'),
    key: read('key'),
    authority: read('authority'),
    names: namesIn(read('names'), join(folder, files.names)),
  };
}

function namesIn(text: string, path: string): readonly string[] {
  try {
    return Names.parse(JSON.parse(text));
  } catch (cause) {
    throw new AppError('usage', `${path} is not a list of names: ${text.slice(0, 100)}.`, advice, { cause });
  }
}
