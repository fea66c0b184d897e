/**
 * Bots of this workspace on other computers of the person. Owns the composition of its parts; the host gives it the home cloud.
 */

import { createGit } from '../../../kit/process/git.ts';
import type { Abroad } from '../../agents/abroad.ts';
import type { Registry } from '../../agents/registry.ts';
import type { Base } from '../../base/base.ts';
import type { Harnesses } from '../../harness/harness.ts';
import { type AbroadDeps, createAbroad } from './abroad.ts';
import { createRemoteBot } from './bot.ts';
import { createPeerCalls, type PeerHome } from './calls.ts';
import { createRemoteComputers } from './computers.ts';
import { createRemotePanes, type RemotePanes } from './panes.ts';
import { type AttachRemote, createRemoting } from './placement.ts';

export type { PeerHome } from './calls.ts';
export { remoteMigrations } from './placement.ts';

interface Remote {
  readonly abroad: Abroad;
  readonly panes: RemotePanes;
  /** Takes up the bots that an earlier run started elsewhere. Once the registry has started. */
  start(): Promise<void>;
  close(): void;
}

/** A computer that was never paired. */
export const noHome: PeerHome = {
  address: () => null,
  mintToken: () => Promise.reject(new Error('This computer is not paired with a cloud.')),
  onChange: () => () => {},
};

export function createRemote(
  deps: Pick<Base, 'store' | 'clock' | 'timers' | 'log' | 'ids'> & {
    readonly home: PeerHome;
    readonly random: () => number;
    readonly workspace: string;
    readonly trust: AbroadDeps['trust'];
    readonly computerId: string;
    readonly registry: Registry;
    readonly harnesses: Pick<Harnesses, 'interruptKeys'>;
  },
): Remote {
  const calls = createPeerCalls(deps);
  const paired = () => deps.home.address() !== null;
  const computers = createRemoteComputers({ ...deps, calls });
  const panes = createRemotePanes({
    ...deps,
    calls,
    onError: (error) => deps.log.warn('A viewer of a remote pane failed.', { error: String(error) }),
  });
  const attach: AttachRemote = ({ address, shown }, ref, { onSession, onGone, fresh }) => {
    let { session } = ref;
    const pane = { computerId: ref.computerId, address };
    panes.know(session, pane);
    return createRemoteBot({
      calls,
      computers,
      paired,
      clock: deps.clock,
      timers: deps.timers,
      interrupt: deps.harnesses.interruptKeys(ref.harness ?? 'custom'),
      address,
      shown,
      ref,
      fresh,
      onSession(next) {
        panes.forget(session, 'it was restarted');
        session = next;
        panes.know(session, pane);
        onSession(next);
      },
      onGone(reason) {
        panes.forget(session, reason);
        onGone(reason);
      },
    });
  };
  const remoting = createRemoting({ ...deps, attach });
  return {
    panes,
    abroad: createAbroad({ ...deps, calls, git: createGit(), paired, started: remoting.begin }),
    start: remoting.start,
    close() {
      computers.close();
      panes.close();
    },
  };
}
