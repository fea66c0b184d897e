/** What `gantry doctor` says of the runtime's own parts. Must not start anything. */
import type { DoctorCheck } from '../runtime-server/factory/index.ts';
import type { Policy } from '../runtime-server/policy/index.ts';
import type { PeerServer } from './peer-server.ts';

/** Where other computers come in, while there are any. */
export function peerDoor(peers: PeerServer | null): DoctorCheck[] {
  if (peers === null || (peers.port === null && peers.problem === null)) return [];
  const common = { name: 'Door for other computers', group: 'port', version: null } as const;
  if (peers.problem === null) {
    return [{ ...common, state: 'ok', detail: `Listens on http://127.0.0.1:${peers.port}.`, fix: null }];
  }
  const detail = `${peers.problem} Other computers come in through the link alone.`;
  return [
    { ...common, state: 'warn', detail, fix: 'Free the port, or choose another: gantry start --peer-port <port>' },
  ];
}

/** The first thing that is wrong with the policy's file; the rest shows once that is mended. */
export function policyCheck(policy: Policy): DoctorCheck {
  const [problem] = policy.problems();
  return {
    name: 'Policy',
    group: 'workspace',
    state: problem === undefined ? 'ok' : 'warn',
    version: null,
    detail:
      problem === undefined
        ? 'Its rules and the defaults decide what bots may do unasked.'
        : `.gantry/policy.yaml line ${problem.line}: ${problem.message} Until it is mended everything that acts asks.`,
    fix: problem === undefined ? null : `Mend line ${problem.line} of .gantry/policy.yaml`,
  };
}
