/** Sound and video files: their metadata, length and lyrics. Speech is not transcribed, and a note says so. */
import { type IAudioMetadata, parseBuffer } from 'music-metadata';
import { ConvertFault, type Format, saidBy } from '../../format.ts';
import { escapeText } from '../../markdown/escape.ts';
import { fieldLines } from './lines.ts';

/** Characters of lyrics: a song has a few thousand. */
const maxLyricsLength = 50_000;

export const audioFormat: Format = {
  name: 'audio',
  family: 'media',
  kinds: ['audio'],
  async convert(bytes, context) {
    const read = await parse(bytes, context.sniffed.mimeType);
    context.mustHaveTime();
    const { common, format } = read;
    const { markdown, metadata } = fieldLines([
      ['Title', common.title],
      ['Artist', common.artist],
      ['Author', common.composer ?? common.writer],
      ['Band', common.albumartist],
      ['Album', common.album],
      ['Genre', common.genre],
      [
        'Track',
        common.track.no === null
          ? undefined
          : [common.track.no, common.track.of].filter((each) => each !== null).join('/'),
      ],
      ['Date', common.date ?? common.year],
      ['Comment', common.comment?.map((each) => each.text)],
      ['Copyright', common.copyright],
      ['Length', format.duration === undefined ? undefined : clock(format.duration)],
      ['Format', [format.container, format.codec].filter((each) => each !== undefined).join(' / ')],
      ['SampleRate', format.sampleRate],
      ['NumChannels', format.numberOfChannels],
      ['BitsPerSample', format.bitsPerSample],
      ['Bitrate', format.bitrate === undefined ? undefined : Math.round(format.bitrate)],
    ]);
    const lyrics = lyricsOf(read);
    const notes = ['Speech is not transcribed: only the metadata of the file is given.'];
    if (format.duration === undefined) notes.push('Its length could not be read: the file may be cut.');
    const seconds = format.duration === undefined ? {} : { seconds: Math.round(format.duration * 1000) / 1000 };
    return {
      markdown: [markdown, lyrics === '' ? '' : `## Lyrics\n\n${lyrics}`].filter((part) => part !== '').join('\n\n'),
      metadata: { ...metadata, ...seconds, mimeType: context.sniffed.mimeType },
      notes,
    };
  },
};

async function parse(bytes: Uint8Array, mimeType: string): Promise<IAudioMetadata> {
  try {
    return await parseBuffer(bytes, { mimeType, size: bytes.length }, { duration: true, skipCovers: true });
  } catch (cause) {
    throw new ConvertFault(
      'damaged',
      `The sound file is truncated or damaged${saidBy(cause)}.`,
      'Get a complete copy of the file.',
      {
        cause,
      },
    );
  }
}

/** `3:07`, `1:02:03`. */
function clock(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (number: number) => String(number).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

function lyricsOf({ common }: IAudioMetadata): string {
  const texts = (common.lyrics ?? []).map((each) => each.text ?? each.syncText.map((line) => line.text).join('\n'));
  const text = texts
    .filter((each) => each.trim() !== '')
    .join('\n\n')
    .slice(0, maxLyricsLength);
  return escapeText(text.replace(/\r\n?/g, '\n').trim()).replace(/([^\n])\n(?=[^\n])/g, '$1  \n');
}
