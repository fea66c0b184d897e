import { describe, expect, it } from 'vitest';
import { converted } from './documents.ts';

const u16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const u32 = (value: number) => Buffer.from([value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255]);

/** TIFF with text tags, big endian: [tag, text]. */
function tiff(tags: readonly (readonly [number, string])[]): Buffer {
  const count = tags.length;
  const values: Buffer[] = [];
  let at = 8 + 2 + count * 12 + 4;
  const entries = tags.map(([tag, text]) => {
    const value = Buffer.from(`${text}\0`, 'latin1');
    const entry = Buffer.concat([u16(tag), u16(2), u32(value.length), u32(at)]);
    values.push(value);
    at += value.length;
    return entry;
  });
  return Buffer.concat([Buffer.from('MM'), u16(42), u32(8), u16(count), ...entries, u32(0), ...values]);
}

function jpeg(segments: readonly Buffer[]): Buffer {
  const frame = Buffer.concat([
    Buffer.from([0xff, 0xc0]),
    u16(17),
    Buffer.from([8]),
    u16(1967),
    u16(1615),
    Buffer.from([3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]),
  ]);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    ...segments,
    frame,
    Buffer.from([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 1, 2, 3, 0xff, 0xd9]),
  ]);
}
const segment = (marker: number, content: Buffer) =>
  Buffer.concat([Buffer.from([0xff, marker]), u16(content.length + 2), content]);

describe('a picture', () => {
  it('gives its size and what it says of itself, and says that nothing in it is read', async () => {
    const exif = segment(
      0xe1,
      Buffer.concat([
        Buffer.from('Exif\0\0'),
        tiff([
          [0x010e, 'A bridge | at night'],
          [0x010f, 'Maker'],
          [0x013b, 'Ada Beck'],
        ]),
      ]),
    );
    const xmp = segment(
      0xe1,
      Buffer.from(
        'http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title><rdf:Alt><rdf:li xml:lang="x-default">Bridges</rdf:li></rdf:Alt></dc:title><dc:creator><rdf:Seq><rdf:li>Bea</rdf:li></rdf:Seq></dc:creator><dc:subject><rdf:Bag><rdf:li>night</rdf:li><rdf:li>water</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>',
      ),
    );
    const result = await converted(jpeg([exif, xmp]), { filename: 'a.jpg' });
    expect(result.markdown.split('  \n')).toEqual([
      'ImageSize: 1615x1967',
      'Title: Bridges',
      'Description: A bridge | at night',
      'Keywords: night, water',
      'Artist: Ada Beck',
      'Author: Bea',
      'Make: Maker',
    ]);
    expect(result.metadata).toMatchObject({ width: 1615, height: 1967, mimeType: 'image/jpeg' });
    expect(result.notes).toEqual([
      'Text and things shown in the picture are not read: only the metadata of the file is given.',
    ]);
  });

  it.each([
    [
      'png',
      Buffer.concat([
        Buffer.from('89504e470d0a1a0a', 'hex'),
        u32(13),
        Buffer.from('IHDR'),
        u32(640),
        u32(480),
        Buffer.from([8, 2, 0, 0, 0]),
        u32(0),
        u32(0),
        Buffer.from('IEND'),
        u32(0),
      ]),
    ],
    ['gif', Buffer.concat([Buffer.from('GIF89a'), Buffer.from([0x80, 2, 0xe0, 1, 0, 0, 0, 0x3b])])],
    [
      'webp',
      Buffer.concat([
        Buffer.from('RIFF'),
        Buffer.from([22, 0, 0, 0]),
        Buffer.from('WEBPVP8X'),
        Buffer.from([10, 0, 0, 0, 0, 0, 0, 0, 0x7f, 2, 0, 0xdf, 1, 0]),
      ]),
    ],
  ] as const)('reads the size of %s', async (_name, bytes) => {
    expect((await converted(bytes)).markdown).toBe('ImageSize: 640x480');
  });

  it('says when what is left of a picture is not enough', async () => {
    const result = await converted(jpeg([]).subarray(0, 8), { filename: 'cut.jpg' });
    expect(result.notes.join(' ')).toContain('may be cut');
  });
});

/** A sound of silence: mono, 8 kHz, 16 bits. */
function wav(seconds: number, info: Readonly<Record<string, string>>): Buffer {
  const le32 = (value: number) => Buffer.from([value & 255, (value >> 8) & 255, (value >> 16) & 255, value >>> 24]);
  const chunk = (name: string, content: Buffer) =>
    Buffer.concat([Buffer.from(name), le32(content.length), content, Buffer.alloc(content.length % 2)]);
  const format = Buffer.concat([Buffer.from([1, 0, 1, 0]), le32(8000), le32(16000), Buffer.from([2, 0, 16, 0])]);
  const list = Buffer.concat([
    Buffer.from('INFO'),
    ...Object.entries(info).map(([name, text]) => chunk(name, Buffer.from(`${text}\0`))),
  ]);
  const body = Buffer.concat([
    Buffer.from('WAVE'),
    chunk('fmt ', format),
    chunk('LIST', list),
    chunk('data', Buffer.alloc(seconds * 16000)),
  ]);
  return Buffer.concat([Buffer.from('RIFF'), le32(body.length), body]);
}

describe('a sound file', () => {
  it('gives what it says of itself and its length, and says that speech is not written down', async () => {
    const result = await converted(wav(3, { INAM: 'f67a499e *one*', IART: 'Ada', IPRD: 'Album' }), {
      filename: 'a.wav',
    });
    const lines = result.markdown.split('  \n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'Title: f67a499e \\*one\\*',
        'Artist: Ada',
        'Album: Album',
        'Length: 0:03',
        'SampleRate: 8000',
        'NumChannels: 1',
      ]),
    );
    expect(result.metadata).toMatchObject({ Title: 'f67a499e *one*', seconds: 3 });
    expect(result.notes).toEqual(['Speech is not transcribed: only the metadata of the file is given.']);
  });

  it('reads tags of mp3, lyrics as well', async () => {
    const synchsafe = (size: number) =>
      Buffer.from([(size >> 21) & 127, (size >> 14) & 127, (size >> 7) & 127, size & 127]);
    const frame = (id: string, content: Buffer) =>
      Buffer.concat([Buffer.from(id), u32(content.length), u16(0), content]);
    const text = (id: string, value: string) => frame(id, Buffer.concat([Buffer.from([3]), Buffer.from(value)]));
    const frames = Buffer.concat([
      text('TIT2', 'Song'),
      text('TPE1', 'Band'),
      frame('USLT', Buffer.from('\u0003eng\0First line\nSecond line')),
    ]);
    const sound = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0xc0]), Buffer.alloc(413)]);
    const result = await converted(
      Buffer.concat([Buffer.from('ID3\u0003\0\0'), synchsafe(frames.length), frames, sound, sound, sound]),
      { filename: 'a.mp3' },
    );
    expect(result.markdown).toContain('Title: Song  \nArtist: Band');
    expect(result.markdown).toContain('## Lyrics\n\nFirst line  \nSecond line');
  });

  it('says what is wrong with a cut file', async () => {
    const cut = await converted(wav(3, { INAM: 'x' }).subarray(0, 30), { filename: 'a.wav' }).catch(
      (fault: unknown) => fault,
    );
    expect(JSON.stringify(cut)).toMatch(/cut/);
  });
});
