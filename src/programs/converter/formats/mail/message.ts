/**
 * Owns how a mail reads in Markdown, whatever file it came in: who, when and what, the body, and each attachment converted or
 * named. Must not know how a mail file is read.
 */
import { type ConvertContext, type Converted, ConvertFault, type MetadataValue } from '../../format.ts';
import { escapeLine, escapeText } from '../../markdown/escape.ts';
import { htmlToMarkdown } from '../../markdown/html.ts';
import { refusal, standing } from '../archive/zip.ts';

export interface Person {
  readonly name: string;
  readonly address: string;
}

export interface MailAttachment {
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
  /** A picture that the body shows. */
  readonly inBody: boolean;
}

export interface Mail {
  readonly from: readonly Person[];
  readonly to: readonly Person[];
  readonly cc: readonly Person[];
  readonly bcc: readonly Person[];
  readonly replyTo: readonly Person[];
  readonly subject: string;
  /** ISO 8601 where it could be read, else as written; '' when unknown. */
  readonly date: string;
  readonly messageId: string;
  readonly body: { readonly html: string } | { readonly text: string } | { readonly markdown: string };
  readonly attachments: readonly MailAttachment[];
}

/** Attachments of one mail that are converted; the others are named. */
const maxConverted = 50;
/** People named in one line; mailing lists have thousands. */
const maxPeople = 100;

export async function mailToMarkdown(mail: Mail, context: ConvertContext): Promise<Converted> {
  const lines = [
    ['From', people(mail.from)],
    ['To', people(mail.to)],
    ['Cc', people(mail.cc)],
    ['Bcc', people(mail.bcc)],
    ['Reply-To', people(mail.replyTo)],
    ['Subject', escapeLine(mail.subject)],
    ['Date', escapeLine(mail.date)],
    ['Attachments', mail.attachments.map((each) => escapeLine(each.name)).join(', ')],
  ].filter(([, value]) => value !== '');
  const pieces = ['# Email Message', lines.map(([name, value]) => `**${name}:** ${value}`).join('  \n')];
  const body = bodyToMarkdown(mail.body, context);
  const notes: string[] = [];
  if (body === '') notes.push('The mail has no text.');
  else pieces.push('## Content', body);
  pieces.push(...(await attachments(mail.attachments, context, notes)));
  return { markdown: pieces.filter((piece) => piece !== '').join('\n\n'), metadata: metadataOf(mail), notes };
}

function people(all: readonly Person[]): string {
  const shown = all.slice(0, maxPeople).map(({ name, address }) => {
    // The address says who; the name is whatever the sender wrote there.
    if (address === '' || name === address || name === '') return escapeLine(address || name);
    return `${escapeLine(address)} (${escapeLine(name)})`;
  });
  const more = all.length > maxPeople ? [`and ${all.length - maxPeople} more`] : [];
  return [...shown.filter((each) => each !== ''), ...more].join(', ');
}

function bodyToMarkdown(body: Mail['body'], context: ConvertContext): string {
  if ('markdown' in body) return body.markdown;
  if ('html' in body) return htmlToMarkdown(body.html, { mustHaveTime: context.mustHaveTime });
  // Lines of plain mail are as the writer broke them; a quoted line is a quote in Markdown too.
  return escapeText(body.text.replace(/\r\n?/g, '\n').trim())
    .replace(/^((?:\\?> ?)+)/gm, (marks) => marks.replaceAll('\\', ''))
    .replace(/(?<![ \t])[ \t]+$/gm, '')
    .replace(/([^\n])\n(?=[^\n>])/g, '$1  \n');
}

async function attachments(
  all: readonly MailAttachment[],
  context: ConvertContext,
  notes: string[],
): Promise<string[]> {
  const pieces: string[] = [];
  const named: string[] = [];
  let count = 0;
  for (const attachment of all) {
    if (attachment.inBody) continue;
    const text = count < maxConverted ? await converted(attachment, context) : null;
    count += 1;
    if (text === null) named.push(attachment.name);
    else pieces.push(`## Attachment: ${escapeLine(attachment.name)}`, text);
  }
  if (named.length > 0) {
    const shown = named.slice(0, 20).map((name) => JSON.stringify(name.slice(0, 200)));
    notes.push(
      `Attachments not converted, by number or time: ${shown.join(', ')}${named.length > 20 ? ' and more' : ''}.`,
    );
  }
  return pieces;
}

/** Null when the time is over. What cannot be converted says so in its place. */
async function converted(attachment: MailAttachment, context: ConvertContext): Promise<string | null> {
  try {
    const { name, mimeType, bytes } = attachment;
    return standing(await context.convertInner({ filename: name, mimeType, bytes }));
  } catch (fault) {
    if (!(fault instanceof ConvertFault)) throw fault;
    if (fault.code === 'timeout') return null;
    return refusal(fault);
  }
}

function metadataOf(mail: Mail): Record<string, MetadataValue> {
  const addresses = (all: readonly Person[]) => all.slice(0, maxPeople).map((each) => each.address || each.name);
  const metadata: Record<string, MetadataValue> = {};
  if (mail.subject !== '') metadata.subject = mail.subject;
  if (mail.from.length > 0) metadata.from = addresses(mail.from).join(', ');
  if (mail.to.length > 0) metadata.to = addresses(mail.to);
  if (mail.cc.length > 0) metadata.cc = addresses(mail.cc);
  if (mail.date !== '') metadata.date = mail.date;
  if (mail.messageId !== '') metadata.messageId = mail.messageId;
  if (mail.attachments.length > 0) metadata.attachments = mail.attachments.map((each) => each.name);
  return metadata;
}

/** Letters without a name get one by their kind, so that they can be told apart. */
export function attachmentName(name: string | null | undefined, mimeType: string, index: number): string {
  const plain = (name ?? '').replace(/[\u0000-\u001f\u007f]/g, '').trim();
  if (plain !== '') return plain.slice(0, 200);
  return mimeType === 'message/rfc822' ? `message-${index + 1}.eml` : `attachment-${index + 1}`;
}
