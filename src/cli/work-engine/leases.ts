/** `gantry workspace leases`: who holds what, to claim, renew and release. */
import type { Lease } from '../../contracts/factory/work-engine/leases.ts';
import { type Action, type Context, flag, type Input, integer, optionalText } from '../command.ts';
import { table } from '../table.ts';
import { ago, inCell, oneLine, span } from '../words.ts';

export const leases: Action = async (context, input) => {
  const name = optionalText(input, 'claim');
  const path = optionalText(input, 'claimPath');
  if (name !== undefined || path !== undefined) return claim(context, input, { name, path });
  const renewed = optionalText(input, 'renew');
  if (renewed !== undefined) return renew(context, input, renewed);
  const given = optionalText(input, 'release');
  if (given !== undefined) return release(context, input, given);
  const { factory } = await context.connect();
  const answer = await factory.listLeases({ query: { holder: optionalText(input, 'holder') } });
  context.output.result(answer, () => {
    if (answer.leases.length === 0) return 'Nothing is held.';
    const rows = answer.leases.map((one) => [
      one.id,
      one.kind,
      one.key,
      one.holder,
      ago(one.expiresAt, context.now()),
      String(one.fence),
      oneLine(one.note ?? '', 200),
    ]);
    return table(['lease', 'kind', 'what', 'holder', 'ends', 'fence', 'note'], rows, context.output.width);
  });
  return undefined;
};

const ttlOf = (input: Input) => integer(input, 'ttl', 1, 86_400);
const dry = (input: Input) => flag(input, 'dryRun') || undefined;

const left = (context: Context, lease: Lease) =>
  span(Math.max(0, Math.round((Date.parse(lease.expiresAt) - context.now()) / 1000)));

function held(context: Context, answer: Lease | { plan: { key: string } }): void {
  context.output.result(answer, () =>
    'plan' in answer
      ? `Would hold ${inCell(answer.plan.key)}.`
      : `${inCell(answer.key)} is held for ${left(context, answer)} at most, fence ${answer.fence} (${answer.id}).`,
  );
}

async function claim(
  context: Context,
  input: Input,
  what: { name: string | undefined; path: string | undefined },
): Promise<undefined> {
  const { factory } = await context.connect();
  const note = optionalText(input, 'note');
  held(context, await factory.claimLease({ body: { ...what, note, ttlSeconds: ttlOf(input), dryRun: dry(input) } }));
  return undefined;
}

async function renew(context: Context, input: Input, id: string): Promise<undefined> {
  const { factory } = await context.connect();
  held(context, await factory.renewLease({ params: { id }, body: { ttlSeconds: ttlOf(input), dryRun: dry(input) } }));
  return undefined;
}

async function release(context: Context, input: Input, id: string): Promise<undefined> {
  const { factory } = await context.connect();
  const query = { dryRun: flag(input, 'dryRun') ? '1' : undefined } as const;
  const answer = await factory.releaseLease({ params: { id }, query });
  context.output.result(answer, () =>
    'dryRun' in answer ? `Would release ${inCell(answer.plan.key)}.` : `${inCell(answer.released.key)} is free.`,
  );
  return undefined;
}
