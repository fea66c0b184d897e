/** `gantry orchestration mail`: an inbox, one mail, or a new one. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Mail } from '../../contracts/factory/work-engine/mail.ts';
import { type Action, type Context, flag, type Input, integer, optionalText } from '../command.ts';
import { table } from '../table.ts';
import { textOrStdin } from '../text.ts';
import { ago, count, inset, oneLine } from '../words.ts';

export const mail: Action = async (context, input) => {
  const to = optionalText(input, 'to');
  if (to !== undefined) return send(context, input, to);
  const id = optionalText(input, 'read');
  return id === undefined ? list(context, input) : read(context, input, id);
};

async function list(context: Context, input: Input): Promise<undefined> {
  const { factory } = await context.connect();
  const sent = flag(input, 'sent');
  const answer = await factory.listMail({
    query: {
      bot: optionalText(input, 'bot'),
      box: sent ? 'out' : undefined,
      unread: flag(input, 'unread') ? '1' : undefined,
      limit: integer(input, 'limit', 1, 200),
      cursor: optionalText(input, 'cursor'),
    },
  });
  context.output.result(answer, () => {
    if (answer.mail.length === 0) return 'No mail.';
    const rows = answer.mail.map((one) => [
      one.id,
      ago(one.at, context.now()),
      sent ? one.to : one.from,
      one.readAt === null ? 'unread' : 'read',
      oneLine(one.subject, 200),
    ]);
    const more = answer.nextCursor === null ? '' : `\nThere are more: --cursor ${answer.nextCursor}`;
    const shown = table(['mail', 'when', sent ? 'to' : 'from', 'state', 'subject'], rows, context.output.width);
    return `${shown}\n${count(answer.unread, 'unread mail')}.${more}`;
  });
  return undefined;
}

async function read(context: Context, input: Input, id: string): Promise<undefined> {
  const { factory } = await context.connect();
  const found = await factory.readMail({ params: { id } });
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
}

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

async function send(context: Context, input: Input, to: string): Promise<undefined> {
  const subject = optionalText(input, 'subject');
  if (subject === undefined) throw new AppError('usage', 'A mail needs a subject.', 'Give --subject "<text>".');
  const text = await textOrStdin(context, input);
  const { factory } = await context.connect();
  const answer = await factory.sendMail({
    body: {
      to,
      subject,
      text,
      inReplyTo: optionalText(input, 'inReplyTo'),
      dryRun: flag(input, 'dryRun') || undefined,
    },
  });
  context.output.result(answer, () =>
    'dryRun' in answer
      ? `Would put ${JSON.stringify(answer.plan.subject)} into the inbox of ${answer.plan.to}.`
      : `${answer.to} has it in the inbox (${answer.id}).`,
  );
  return undefined;
}
