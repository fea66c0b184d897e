/** `gantry admin hosts`: computer hosts on further machines. */
import { listed } from '../table.ts';
import { oneLine } from '../words.ts';
import { byAction, word } from './action.ts';
import { adminVerb } from './connect.ts';

const ls = adminVerb('adminListHosts', {
  words: (answer, context) =>
    listed(context, answer.hosts, 'There are no computer hosts on further machines.', {
      id: (host) => host.id,
      state: (host) => (host.linked ? 'linked' : 'away'),
      computers: (host) => String(host.computers),
      added: (host) => host.addedAt,
      name: (host) => oneLine(host.name, 40),
    }),
});

const add = adminVerb('adminAddHost', {
  fields: { name: (input) => word(input, 'host') },
  words: (answer) =>
    'dryRun' in answer
      ? `Would add the computer host ${oneLine(answer.plan.name, 60)}.`
      : `${answer.token}\n\nThis is the token of ${answer.id}. Put it into a file on that machine that only root can read.`,
});

const remove = adminVerb('adminRemoveHost', {
  fields: { id: (input) => word(input, 'host') },
  words: (answer) => {
    const { name, computers } = 'dryRun' in answer ? answer.plan : answer;
    const lost = computers === 0 ? '' : ` It has ${computers} computers, which are lost.`;
    return `${'dryRun' in answer ? 'Would remove' : 'Removed'} ${oneLine(name, 60)}.${lost}`;
  },
});

export const hosts = byAction({ ls, add, remove });
