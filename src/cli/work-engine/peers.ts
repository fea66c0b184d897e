/** `gantry orchestration peers`: programs on this computer that registered. */
import { byOption, verb } from '../route-verb.ts';
import { listed } from '../table.ts';
import { textOrStdin } from '../text.ts';
import { ago, count, inCell, inset, oneLine } from '../words.ts';

const list = verb('listPeers', {
  words: (answer, context) =>
    listed(context, answer.peers, 'No programs are registered.', {
      peer: (one) => one.id,
      name: (one) => one.name,
      state: (one) => (one.live ? 'live' : 'gone'),
      seen: (one) => ago(one.lastSeenAt, context.now()),
      waiting: (one) => String(one.waiting),
      of: (one) => one.owner,
      about: (one) => oneLine(one.about ?? '', 200),
    }),
});

const register = verb('registerPeer', {
  fields: { name: 'register', ttlSeconds: 'ttl' },
  words: (answer, { names }) =>
    'dryRun' in answer
      ? `Would register ${inCell(answer.plan.name)}.`
      : `${inCell(answer.name)} is registered (${answer.id}). Send its heartbeat: ${names.gantry} orchestration peers --beat ${answer.id}`,
});

const beat = verb('beatPeer', {
  fields: { id: 'beat' },
  words: ({ messages }, { now }) =>
    messages.length === 0
      ? 'Nothing waits.'
      : messages.map((one) => `${one.id} from ${one.from}, ${ago(one.at, now())}\n${inset(one.text)}`).join('\n'),
});

const send = verb('sendToPeer', {
  fields: { id: 'send', text: (input, context) => textOrStdin(context, input) },
  words: (answer) =>
    'dryRun' in answer
      ? `Would leave a message for ${answer.plan.to}.`
      : `${answer.to} gets it with its next heartbeat (${answer.id}).`,
});

const remove = verb('removePeer', {
  fields: { id: 'remove' },
  words: (answer) =>
    'dryRun' in answer
      ? `Would remove ${inCell(answer.plan.name)}, with ${count(answer.plan.waiting, 'message')}.`
      : `${inCell(answer.removed.name)} is removed.`,
});

export const peers = byOption({ register, beat, send, remove }, list);
