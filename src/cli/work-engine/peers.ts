/** `gantry orchestration peers`: programs on this computer that registered. */
import { type Action, type Context, flag, type Input, integer, optionalText } from '../command.ts';
import { table } from '../table.ts';
import { textOrStdin } from '../text.ts';
import { ago, count, inCell, inset, oneLine } from '../words.ts';

export const peers: Action = async (context, input) => {
  const register = optionalText(input, 'register');
  if (register !== undefined) return registerOne(context, input, register);
  const beat = optionalText(input, 'beat');
  if (beat !== undefined) return beatOne(context, input, beat);
  const to = optionalText(input, 'send');
  if (to !== undefined) return send(context, input, to);
  const gone = optionalText(input, 'remove');
  if (gone !== undefined) return remove(context, input, gone);
  const { factory } = await context.connect();
  const answer = await factory.listPeers();
  context.output.result(answer, () => {
    if (answer.peers.length === 0) return 'No program has registered.';
    const rows = answer.peers.map((one) => [
      one.id,
      one.name,
      one.live ? 'live' : 'gone',
      ago(one.lastSeenAt, context.now()),
      String(one.waiting),
      one.owner,
      oneLine(one.about ?? '', 200),
    ]);
    return table(['peer', 'name', 'state', 'seen', 'waiting', 'of', 'about'], rows, context.output.width);
  });
  return undefined;
};

const dry = (input: Input) => flag(input, 'dryRun') || undefined;

async function registerOne(context: Context, input: Input, name: string): Promise<undefined> {
  const { factory } = await context.connect();
  const ttlSeconds = integer(input, 'ttl', 5, 3600);
  const answer = await factory.registerPeer({
    body: { name, about: optionalText(input, 'about'), ttlSeconds, dryRun: dry(input) },
  });
  context.output.result(answer, () =>
    'dryRun' in answer
      ? `Would register ${inCell(answer.plan.name)}.`
      : `${inCell(answer.name)} is registered (${answer.id}). Let it beat: ${context.names.gantry} orchestration peers --beat ${answer.id}`,
  );
  return undefined;
}

async function beatOne(context: Context, input: Input, id: string): Promise<undefined> {
  const { factory } = await context.connect();
  const answer = await factory.beatPeer({ params: { id }, body: { ack: optionalText(input, 'ack') } });
  context.output.result(answer, () =>
    answer.messages.length === 0
      ? 'Nothing waits.'
      : answer.messages
          .map((one) => `${one.id} from ${one.from}, ${ago(one.at, context.now())}\n${inset(one.text)}`)
          .join('\n'),
  );
  return undefined;
}

async function send(context: Context, input: Input, id: string): Promise<undefined> {
  const text = await textOrStdin(context, input);
  const { factory } = await context.connect();
  const answer = await factory.sendToPeer({ params: { id }, body: { text, dryRun: dry(input) } });
  context.output.result(answer, () =>
    'dryRun' in answer
      ? `Would leave a message for ${answer.plan.to}.`
      : `${answer.to} gets it with its next beat (${answer.id}).`,
  );
  return undefined;
}

async function remove(context: Context, input: Input, id: string): Promise<undefined> {
  const { factory } = await context.connect();
  const answer = await factory.removePeer({
    params: { id },
    query: { dryRun: flag(input, 'dryRun') ? '1' : undefined },
  });
  context.output.result(answer, () =>
    'dryRun' in answer
      ? `Would take off ${inCell(answer.plan.name)}, with ${count(answer.plan.waiting, 'message')}.`
      : `${inCell(answer.removed.name)} is off the list.`,
  );
  return undefined;
}
