import { describe, expect, it } from 'vitest';
import { type CompoundFolder, compoundOf, converted } from './documents.ts';

const lines = (...all: readonly string[]) => `${all.join('\r\n')}\r\n`;

describe('a mail', () => {
  it('gives who, when and what, and its text with quotes and hostile words as text', async () => {
    const result = await converted(
      lines(
        'From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>',
        'To: "Beck, Ada" <ada@example.org>, bea@example.org',
        'Cc: Team: c@example.org, d@example.org;',
        'Subject: =?iso-2022-jp?B?GyRCRnxLXBsoQg==?= plan',
        'Date: Tue, 19 Nov 2024 13:30:00 +0100',
        'Message-ID: <1@example.org>',
        'MIME-Version: 1.0',
        'Content-Type: text/plain; charset=iso-8859-1',
        'Content-Transfer-Encoding: quoted-printable',
        '',
        'Caf=E9 at nine',
        'or ten <script>',
        '',
        '> earlier words',
      ),
      { filename: 'a.eml' },
    );
    expect(result.markdown).toBe(
      '# Email Message\n\n**From:** j@example.org (Jürgen)  \n**To:** ada@example.org (Beck, Ada), bea@example.org  \n' +
        '**Cc:** c@example.org, d@example.org  \n**Subject:** 日本 plan  \n**Date:** 2024-11-19T12:30:00.000Z\n\n## Content\n\n' +
        'Café at nine  \nor ten &lt;script>\n\n> earlier words',
    );
    expect(result.metadata).toMatchObject({
      subject: '日本 plan',
      from: 'j@example.org',
      messageId: '<1@example.org>',
    });
  });

  it('takes the HTML body, converts attachments in their place and names pictures of the body only', async () => {
    const inner = lines(
      'From: x@example.org',
      'To: y@example.org',
      'Subject: Inner one',
      'Date: Tue, 19 Nov 2024 13:30:00 +0000',
      '',
      'inner words',
    );
    const result = await converted(
      lines(
        'From: a@example.org',
        'To: b@example.org',
        'Subject: With things',
        'MIME-Version: 1.0',
        'Content-Type: multipart/mixed; boundary=X',
        '',
        '--X',
        'Content-Type: multipart/related; boundary=Y',
        '',
        '--Y',
        'Content-Type: text/html; charset=utf-8',
        '',
        '<table><tr><td><h2>Hello</h2><p>See <a href="https://example.org/">this</a><img src="cid:pic" alt="logo"></p></td></tr></table><script>no</script>',
        '--Y',
        'Content-Type: image/png',
        'Content-ID: <pic>',
        'Content-Disposition: inline; filename=logo.png',
        'Content-Transfer-Encoding: base64',
        '',
        'iVBORw0KGgo=',
        '--Y--',
        '--X',
        'Content-Type: text/csv; name="figures.csv"',
        'Content-Disposition: attachment; filename="figures.csv"',
        '',
        'name,count',
        'a|b,2',
        '--X',
        'Content-Type: message/rfc822',
        '',
        inner,
        '--X',
        'Content-Type: application/octet-stream; name="what.bin"',
        'Content-Disposition: attachment; filename="what.bin"',
        'Content-Transfer-Encoding: base64',
        '',
        Buffer.from([0, 1, 2, 255, 254, 0, 0, 7]).toString('base64'),
        '--X--',
      ),
    );
    expect(result.markdown).toContain(
      '## Content\n\n## Hello\n\nSee [this](https://example.org/)![logo](cid:pic)\n\n## Attachment: figures.csv',
    );
    expect(result.markdown).toContain('| name | count |\n| --- | --- |\n| a\\|b | 2 |');
    expect(result.markdown).toContain('**Subject:** Inner one');
    expect(result.markdown).toContain('inner words');
    expect(result.markdown).toContain('## Attachment: what.bin\n\n> Not converted: ');
    expect(result.markdown).not.toContain('## Attachment: logo.png');
    expect(result.metadata.attachments).toEqual(['logo.png', 'figures.csv', 'message-3.eml', 'what.bin']);
  });

  it('ends with mails in mails in mails', async () => {
    let mail = lines('From: x@example.org', 'To: y@example.org', 'Subject: deepest', '', 'end');
    for (let depth = 0; depth < 12; depth += 1) {
      mail = lines(
        'From: x@example.org',
        'To: y@example.org',
        `Subject: at ${depth}`,
        'MIME-Version: 1.0',
        `Content-Type: multipart/mixed; boundary=B${depth}`,
        '',
        `--B${depth}`,
        'Content-Type: message/rfc822',
        '',
        mail,
        `--B${depth}--`,
      );
    }
    const result = await converted(mail);
    expect(result.markdown).toContain('Subject:** at 11');
    expect(result.markdown).toContain('> Not converted: ');
    expect(result.markdown).not.toContain('deepest');
  });

  it('converts what is cut as far as it goes', async () => {
    const result = await converted(
      lines(
        'From: a@example.org',
        'To: b@example.org',
        'Subject: Cut',
        'MIME-Version: 1.0',
        'Content-Type: multipart/mixed; boundary=X',
        '',
        '--X',
        'Content-Type: text/plain',
        '',
        'as far as',
      ),
    );
    expect(result.markdown).toContain('as far as');
  });
});

describe('a mail of Outlook', () => {
  const unicode = (text: string) => new Uint8Array(Buffer.from(text, 'utf16le'));
  const property = (tag: number, value: number) => {
    const bytes = Buffer.alloc(16);
    bytes.writeUInt32LE(tag, 0);
    bytes.writeUInt32LE(6, 4);
    bytes.writeUInt32LE(value, 8);
    return bytes;
  };
  const properties = (header: number, ...all: readonly Buffer[]) =>
    new Uint8Array(Buffer.concat([Buffer.alloc(header), ...all]));
  const person = (name: string, address: string, smtp: string, type: number): CompoundFolder => ({
    '__properties_version1.0': properties(8, property(0x0c150003, type)),
    '__substg1.0_3001001F': unicode(name),
    '__substg1.0_3003001F': unicode(address),
    ...(smtp === '' ? {} : { '__substg1.0_39FE001F': unicode(smtp) }),
  });
  const msg = (more: CompoundFolder) =>
    compoundOf({
      '__properties_version1.0': properties(32),
      '__nameid_version1.0': { '__substg1.0_00020102': new Uint8Array(0) },
      '__substg1.0_001A001F': unicode('IPM.Note'),
      '__substg1.0_0037001F': unicode('Test Email Message'),
      '__substg1.0_0C1A001F': unicode('Somebody Shown'),
      '__substg1.0_0C1F001F': unicode('/O=EXCHANGE/CN=SENDER'),
      '__substg1.0_5D01001F': unicode('test.sender@example.com'),
      '__recip_version1.0_#00000000': person('Test Recipient', '/O=EXCHANGE/CN=X', 'test.recipient@example.com', 1),
      '__recip_version1.0_#00000001': person('', '', '', 1),
      '__recip_version1.0_#00000002': person('Copy', 'copy@example.com', '', 2),
      ...more,
    });

  it('gives the same shape by the addresses that are e-mail addresses, with its attachments', async () => {
    const result = await converted(
      msg({
        '__substg1.0_1000001F': unicode('This is the body of the test email message'),
        '__attach_version1.0_#00000000': {
          '__properties_version1.0': properties(8, property(0x37050003, 1)),
          '__substg1.0_37010102': new Uint8Array(Buffer.from('a,b\r\n1,2\r\n3,4\r\n')),
          '__substg1.0_3707001F': unicode('table.csv'),
        },
      }),
      { filename: 'a.msg' },
    );
    expect(result.markdown).toBe(
      '# Email Message\n\n**From:** test.sender@example.com (Somebody Shown)  \n**To:** test.recipient@example.com (Test Recipient)  \n' +
        '**Cc:** copy@example.com (Copy)  \n**Subject:** Test Email Message  \n**Attachments:** table.csv\n\n## Content\n\n' +
        'This is the body of the test email message\n\n## Attachment: table.csv\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |',
    );
  });

  it('reads a body that is only HTML, or only packed rich text', async () => {
    const html = await converted(
      msg({
        '__substg1.0_10130102': new Uint8Array(Buffer.from('<html><body><p>Some <b>bold</b> words</p></body></html>')),
      }),
    );
    expect(html.markdown).toContain('## Content\n\nSome **bold** words');
    const rich = Buffer.from('{\\rtf1\\ansi\\pard Some {\\b bold} words\\par}');
    const header = Buffer.alloc(16);
    header.writeUInt32LE(rich.length + 12, 0);
    header.writeUInt32LE(rich.length, 4);
    header.writeUInt32LE(0x414c454d, 8);
    const stored = await converted(msg({ '__substg1.0_10090102': new Uint8Array(Buffer.concat([header, rich])) }));
    expect(stored.markdown).toContain('## Content\n\nSome **bold** words');
    // The example of [MS-OXRTFCP] 4.1.1.
    const packed = Buffer.from(
      '2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0',
      'hex',
    );
    const unpacked = await converted(msg({ '__substg1.0_10090102': new Uint8Array(packed) }));
    expect(unpacked.markdown).toContain('## Content\n\nhello world');
  });

  it('refuses a cut file with what to do', async () => {
    const whole = msg({});
    await expect(converted(whole.subarray(0, 1536), { filename: 'a.msg' })).rejects.toMatchObject({
      fact: expect.any(String),
      action: expect.any(String),
    });
  });
});
