/** `gantry workspace leases`: who holds what, to claim, renew and release. */
import type { Lease } from '../../contracts/factory/work-engine/leases.ts';
import type { Context } from '../command.ts';
import { byOption, verb } from '../route-verb.ts';
import { listed } from '../table.ts';
import { ago, inCell, oneLine, span } from '../words.ts';

const list = verb('listLeases', {
  words: (answer, context) =>
    listed(context, answer.leases, 'Nothing is held.', {
      lease: (one) => one.id,
      kind: (one) => one.kind,
      what: (one) => one.key,
      holder: (one) => one.holder,
      ends: (one) => ago(one.expiresAt, context.now()),
      fence: (one) => String(one.fence),
      note: (one) => oneLine(one.note ?? '', 200),
    }),
});

function held(answer: Lease | { plan: { key: string } }, context: Context): string {
  if ('plan' in answer) return `Would hold ${inCell(answer.plan.key)}.`;
  const left = span(Math.max(0, Math.round((Date.parse(answer.expiresAt) - context.now()) / 1000)));
  return `${inCell(answer.key)} is held for at most ${left}, fence ${answer.fence} (${answer.id}).`;
}

const claim = verb('claimLease', { fields: { name: 'claim', path: 'claimPath', ttlSeconds: 'ttl' }, words: held });
const renew = verb('renewLease', { fields: { id: 'renew', ttlSeconds: 'ttl' }, words: held });
const release = verb('releaseLease', {
  fields: { id: 'release' },
  words: (answer) =>
    'dryRun' in answer ? `Would release ${inCell(answer.plan.key)}.` : `${inCell(answer.released.key)} is free.`,
});

export const leases = byOption({ claim, claimPath: claim, renew, release }, list);
