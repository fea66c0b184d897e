/** `gantry orchestration mail`: an inbox, one mail, or a new one. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Mail } from '../../contracts/factory/work-engine/mail.ts';
import { type Action, type Context, flag, optionalText, text } from '../command.ts';
import { byOption, verb } from '../route-verb.ts';
import { listed, moreAt } from '../table.ts';
import { textOrStdin } from '../text.ts';
import { ago, count, inset, oneLine } from '../words.ts';

const list = verb('listMail', {
  fields: { box: (input) => (flag(input, 'sent') ? 'out' : undefined) },
  words: ({ mail, unread, nextCursor }, context, input) => {
    if (mail.length === 0) return 'No mail.';
    const sent = flag(input, 'sent');
    const shown = listed(context, mail, '', {
      mail: (one) => one.id,
      when: (one) => ago(one.at, context.now()),
      [sent ? 'to' : 'from']: (one) => (sent ? one.to : one.from),
      state: (one) => (one.readAt === null ? 'unread' : 'read'),
      subject: (one) => oneLine(one.subject, 200),
    });
    return `${shown}\n${count(unread, 'unread mail')}.${moreAt(nextCursor)}`;
  },
});

const read: Action = async (context, input) => {
  const { factory } = await context.connect();
  const found = await factory.readMail({ params: { id: text(input, 'read') } });
  const stays = found.readAt !== null || flag(input, 'keepUnread') || flag(input, 'dryRun');
  const shown = stays ? found : await marked(context, found);
  context.output.result(shown, () =>
    [
      `${shown.from} → ${shown.to}, ${ago(shown.at, context.now())}`,
      oneLine(shown.subject, 300),
      '',
      inset(shown.text),
    ].join('\n'),
  );
  return undefined;
};

/** Reading somebody else's mail, or one that was sent, leaves it as it is. */
async function marked(context: Context, found: Mail): Promise<Mail> {
  const { factory } = await context.connect();
  try {
    const answer = await factory.markMailRead({ params: { id: found.id }, body: {} });
    return 'dryRun' in answer ? found : answer;
  } catch (error) {
    if (error instanceof AppError && error.code === 'refused') return found;
    throw error;
  }
}

const send = verb('sendMail', {
  fields: {
    subject: (input) => {
      const subject = optionalText(input, 'subject');
      if (subject === undefined) throw new AppError('usage', 'A mail needs a subject.', 'Give --subject "<text>".');
      return subject;
    },
    text: (input, context) => textOrStdin(context, input),
  },
  words: (answer) =>
    'dryRun' in answer
      ? `Would put ${JSON.stringify(answer.plan.subject)} into the inbox of ${answer.plan.to}.`
      : `Put into the inbox of ${answer.to} (${answer.id}).`,
});

export const mail = byOption({ to: send, read }, list);
