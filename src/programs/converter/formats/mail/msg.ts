/**
 * Mail as Outlook saves it: read by msgreader, with the same shape as any other mail. Addresses are taken from the fields that
 * hold e-mail addresses: names and Exchange's own addresses differ from them.
 */
import msgreader, { type FieldsData } from '@kenjiuno/msgreader';
import { type ConvertContext, ConvertFault, type Format } from '../../format.ts';
import { readRtf } from '../office/rtf.ts';
import { encodingOfPage } from '../office/rtf-charset.ts';
import { unpackRtf } from './compressed-rtf.ts';
import { attachmentName, type Mail, type MailAttachment, mailToMarkdown, type Person } from './message.ts';

type ReaderClass = typeof msgreader.default;
type Reader = InstanceType<ReaderClass>;
/** What `import` gives of this CommonJS module is the module to Node and its default to bundlers. */
const readerClass = typeof msgreader === 'function' ? (msgreader as unknown as ReaderClass) : msgreader.default;

export const msgFormat: Format = {
  name: 'msg',
  family: 'mail',
  kinds: ['msg'],
  async convert(bytes, context) {
    const { reader, fields } = open(bytes);
    context.mustHaveTime();
    const recipients = (fields.recipients ?? []).filter((each) => personOf(each) !== null);
    const of = (type: FieldsData['recipType']) =>
      recipients.filter((each) => (each.recipType ?? 'to') === type).map((each) => personOf(each) as Person);
    const from = senderOf(fields);
    const body = bodyOf(fields, context);
    return mailToMarkdown(
      {
        from: from === null ? [] : [from],
        to: of('to'),
        cc: of('cc'),
        bcc: of('bcc'),
        replyTo: [],
        subject: fields.subject ?? '',
        date: dateOf(fields),
        messageId: fields.messageId ?? '',
        body,
        attachments: attachmentsOf(reader, fields, 'html' in body ? body.html : '', context),
      },
      context,
    );
  },
};

function open(bytes: Uint8Array): { reader: Reader; fields: FieldsData } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = (encoding: string | null) => {
    const reader = new readerClass(view);
    if (encoding !== null) reader.parserConfig = { ansiEncoding: encoding };
    return { reader, fields: reader.getFileData() };
  };
  const first = read(null);
  if (first.fields.dataType !== 'msg') {
    throw new ConvertFault(
      'damaged',
      'The mail file is truncated or damaged.',
      'Export the mail again, or save it as eml.',
    );
  }
  // Older files keep their texts in a code page that only the file itself tells.
  const page = first.fields.messageCodepage ?? first.fields.internetCodepage;
  return page === undefined || page === 1252 || page === 1200 ? first : read(encodingOfPage(page));
}

const isAddress = (text: string | undefined): text is string => text !== undefined && /^[^\s@]+@[^\s@]+$/.test(text);

/** Null for entries that name nobody. */
function personOf(fields: FieldsData): Person | null {
  const address = [fields.smtpAddress, fields.email, fields.name].find(isAddress) ?? '';
  const name = fields.name ?? '';
  return address === '' && name === '' ? null : { name, address };
}

function senderOf(fields: FieldsData): Person | null {
  const header = /^From:[ \t]*(?:.*<)?([^\s<>@]+@[^\s<>]+)>?/im.exec(fields.headers ?? '')?.[1];
  const candidates = [
    fields.senderSmtpAddress,
    fields.senderEmail,
    fields.sentRepresentingSmtpAddress,
    fields.creatorSMTPAddress,
    header,
    fields.senderName,
  ];
  const address = candidates.find(isAddress) ?? '';
  const name = fields.senderName ?? '';
  return address === '' && name === '' ? null : { name, address };
}

function dateOf(fields: FieldsData): string {
  const header = /^Date:[ \t]*(.+)$/im.exec(fields.headers ?? '')?.[1]?.trim();
  const said = fields.clientSubmitTime ?? fields.messageDeliveryTime ?? header ?? fields.creationTime ?? '';
  const date = new Date(said);
  return Number.isNaN(date.getTime()) ? said : date.toISOString();
}

/** HTML keeps most; then rich text without plain text beside it; else plain text. */
function bodyOf(fields: FieldsData, context: ConvertContext): Mail['body'] {
  const html = fields.bodyHtml ?? decodeHtml(fields);
  if (html !== undefined && html.trim() !== '') return { html };
  if ((fields.body ?? '').trim() !== '' || fields.compressedRtf === undefined) return { text: fields.body ?? '' };
  return { markdown: readRtf(unpackRtf(fields.compressedRtf), context).markdown };
}

function decodeHtml(fields: FieldsData): string | undefined {
  if (fields.html === undefined) return undefined;
  const declared = /charset\s*=\s*["']?([\w.:-]+)/i.exec(
    Buffer.from(fields.html.subarray(0, 2048)).toString('latin1'),
  )?.[1];
  const encoding =
    fields.internetCodepage === undefined ? (declared ?? 'utf-8') : encodingOfPage(fields.internetCodepage);
  try {
    return new TextDecoder(encoding).decode(fields.html);
  } catch {
    return new TextDecoder('utf-8').decode(fields.html);
  }
}

function attachmentsOf(reader: Reader, fields: FieldsData, html: string, context: ConvertContext): MailAttachment[] {
  return (fields.attachments ?? []).map((each, index) => {
    context.mustHaveTime();
    const read = reader.getAttachment(each);
    const mimeType = each.attachMimeTag ?? '';
    const name =
      each.innerMsgContent === true ? (each.name ?? read.fileName) : (each.fileName ?? each.fileNameShort ?? each.name);
    const shown = each.pidContentId !== undefined && html.includes(`cid:${each.pidContentId}`);
    return { name: attachmentName(name, mimeType, index), mimeType, bytes: read.content, inBody: shown };
  });
}
