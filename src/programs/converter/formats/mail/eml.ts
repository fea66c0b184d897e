/** Mail in transport form (RFC 5322, MIME): read by postal-mime, nested mails as separate attachments. */
import PostalMime, { type Address } from 'postal-mime';
import type { Format } from '../../format.ts';
import { attachmentName, mailToMarkdown, type Person } from './message.ts';

/** Parts in parts: real mail has a handful. */
const deepestParts = 50;

export const emlFormat: Format = {
  name: 'eml',
  family: 'mail',
  kinds: ['eml'],
  async convert(bytes, context) {
    const mail = await PostalMime.parse(withoutEnvelope(bytes), {
      forceRfc822Attachments: true,
      maxNestingDepth: deepestParts,
    });
    context.mustHaveTime();
    const html = mail.html?.trim() ?? '';
    return mailToMarkdown(
      {
        from: peopleOf(mail.from === undefined ? [] : [mail.from]),
        to: peopleOf(mail.to),
        cc: peopleOf(mail.cc),
        bcc: peopleOf(mail.bcc),
        replyTo: peopleOf(mail.replyTo),
        subject: mail.subject ?? '',
        date: mail.date ?? '',
        messageId: mail.messageId ?? '',
        body: html === '' ? { text: mail.text ?? '' } : { html },
        attachments: mail.attachments.map((each, index) => ({
          name: attachmentName(each.filename, each.mimeType, index),
          mimeType: each.mimeType,
          bytes: bytesOf(each.content),
          inBody: each.related === true && each.mimeType.startsWith('image/') && html !== '',
        })),
      },
      context,
    );
  },
};

/** Mailboxes on disk begin a mail with a line that is no header: `From someone Thu Jan 1 …`. */
function withoutEnvelope(bytes: Uint8Array): Uint8Array {
  const head = Buffer.from(bytes.subarray(0, 1000)).toString('latin1');
  const envelope = /^From [^\n]*\n/.exec(head);
  return envelope === null ? bytes : bytes.subarray(envelope[0].length);
}

function peopleOf(addresses: readonly Address[] | undefined): Person[] {
  return (addresses ?? []).flatMap((each) =>
    each.group === undefined ? [{ name: each.name, address: each.address }] : each.group,
  );
}

function bytesOf(content: ArrayBuffer | Uint8Array | string): Uint8Array {
  if (typeof content === 'string') return new TextEncoder().encode(content);
  return content instanceof Uint8Array ? content : new Uint8Array(content);
}
