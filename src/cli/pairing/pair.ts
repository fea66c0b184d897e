/**
 * `gantry pair`: pairs the running Gantry with a cloud, shows the state of the pairing, ends it. Asks the runtime, which keeps the pairing; waits only
 * as long as the person watches.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../client/client.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { type LocalPairing, localPairingRoutes } from '../../contracts/link/local-pairing.ts';
import { type Action, type Context, flag, optionalText } from '../command.ts';
import { inCell } from '../words.ts';
import { codeLines, statusLines } from './words.ts';

type Pairings = Awaited<ReturnType<typeof connectPairings>>;
/** A person has answered within a second of this, ms. */
const lookMs = 1000;

async function connectPairings(context: Context) {
  const { as, token, fetch, baseUrl, where } = await context.connect();
  if (as === 'bot') {
    throw new AppError('refused', 'A bot cannot pair this computer.', 'Ask the person who started you.');
  }
  const ifGone = `Start it with: ${context.names.start}`;
  return createClient(localPairingRoutes, { baseUrl, fetch, where, token, ifGone });
}

export const pair: Action = async (context, input) => {
  const cloudUrl = optionalText(input, 'cloud');
  const ends = flag(input, 'end');
  const shows = flag(input, 'status');
  if (Number(ends) + Number(shows) + Number(cloudUrl !== undefined) > 1) {
    throw new AppError('usage', 'An address, --status and --end exclude each other.', 'Give one of them.');
  }
  const pairings = await connectPairings(context);
  if (ends) return end(context, pairings, flag(input, 'dryRun'));
  if (cloudUrl === undefined) {
    const pairing = await pairings.readLocalPairing({});
    context.output.result(pairing, () => statusLines(pairing, context.names).join('\n'));
    return undefined;
  }
  if (flag(input, 'dryRun')) {
    const planned = await pairings.startLocalPairing({ body: { cloudUrl, dryRun: true } });
    context.output.result(
      planned,
      () => `Would ask ${inCell('plan' in planned ? planned.plan.cloudUrl : cloudUrl)} for a code.`,
    );
    return undefined;
  }
  const asked = await pairings.startLocalPairing({ body: { cloudUrl } });
  if ('plan' in asked) return undefined;
  if (context.output.json) {
    context.output.result(asked, () => '');
    return undefined;
  }
  const after = [`Waiting. Ctrl-C stops waiting here; the code stays valid: ${context.names.gantry} pair --status`];
  context.output.line(['To approve this computer:', '', ...codeLines(asked), '', ...after].join('\n'));
  const done = await follow(pairings, asked);
  context.output.line(['', ...statusLines(done, context.names)].join('\n'));
  return undefined;
};

/** Until the person has answered. Throws `refused` when nothing came of it. */
async function follow(pairings: Pairings, asked: LocalPairing): Promise<LocalPairing> {
  while (true) {
    await sleep(lookMs);
    const now = await pairings.readLocalPairing({});
    if (now.state === 'paired') return now;
    if (now.state === 'waiting' && now.userCode === asked.userCode) continue;
    const why = now.problem ?? 'Another pairing was started.';
    throw new AppError('refused', why, 'Start again for a new code.');
  }
}

async function end(context: Context, pairings: Pairings, dryRun: boolean): Promise<undefined> {
  const before = await pairings.readLocalPairing({});
  if (before.state === 'unpaired' && before.problem === undefined) {
    throw new AppError('refused', 'This computer is not paired.', 'There is nothing to end.');
  }
  const ended = await pairings.endLocalPairing({ query: dryRun ? { dryRun: '1' } : {} });
  context.output.result(ended, () => {
    const { cloudUrl = 'the cloud that the pairing file names' } = before;
    if ('plan' in ended) return `Would end the pairing with ${cloudUrl}.`;
    return [
      `The pairing with ${cloudUrl} has ended.`,
      ...(ended.problem === undefined ? [] : [inCell(ended.problem)]),
    ].join('\n');
  });
  return undefined;
}
