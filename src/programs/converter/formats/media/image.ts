/** Pictures: their size and metadata (EXIF, IPTC, XMP). Their content is not read, and a note says so. */
import exifr from 'exifr';
import type { Format } from '../../format.ts';
import { imageSize } from './image-size.ts';
import { type Field, fieldLines } from './lines.ts';

type Block = Readonly<Record<string, unknown>>;

export const imageFormat: Format = {
  name: 'image',
  family: 'media',
  kinds: ['image'],
  async convert(bytes, context) {
    const { blocks, readable } = await tags(bytes);
    const size = imageSize(bytes) ?? sizeOf(blocks);
    const { markdown, metadata } = fieldLines([
      ['ImageSize', size === null ? undefined : `${size.width}x${size.height}`],
      ...fieldsOf(blocks),
    ]);
    const seen = await context.recognize(bytes);
    const notes = [
      seen === null
        ? 'Text and things shown in the picture are not read: only the metadata of the file is given.'
        : 'Text in the picture was recognised and may have errors; things shown in it are not read.',
    ];
    if (!readable) notes.push('The metadata of the picture is truncated or damaged.');
    if (size === null) notes.push('Its size could not be read: the file may be cut.');
    const said = seen === null || seen === '' ? '' : `\n\n## Text in the picture\n\n${seen}`;
    return {
      markdown: `${markdown}${said}`.trim(),
      metadata: { ...metadata, ...(size ?? {}), mimeType: context.sniffed.mimeType },
      notes,
    };
  },
};

async function tags(bytes: Uint8Array): Promise<{ blocks: Readonly<Record<string, Block>>; readable: boolean }> {
  try {
    const read: unknown = await exifr.parse(bytes, {
      tiff: true,
      ifd0: { pick: [] },
      exif: true,
      gps: true,
      iptc: true,
      xmp: true,
      ihdr: true,
      icc: false,
      jfif: false,
      makerNote: false,
      userComment: false,
      mergeOutput: false,
      // Dates stay as the camera wrote them: it did not say in which time zone.
      reviveValues: false,
    } as unknown as Parameters<typeof exifr.parse>[1]);
    return { blocks: (read ?? {}) as Record<string, Block>, readable: true };
  } catch (cause) {
    // Formats without any such tags are not broken for it.
    return { blocks: {}, readable: /unknown file format/i.test((cause as Error).message) };
  }
}

function sizeOf(blocks: Readonly<Record<string, Block>>): { width: number; height: number } | null {
  const width = Number(blocks.ifd0?.ImageWidth ?? blocks.exif?.ExifImageWidth);
  const height = Number(blocks.ifd0?.ImageHeight ?? blocks.exif?.ExifImageHeight);
  return width > 0 && height > 0 ? { width, height } : null;
}

function fieldsOf(blocks: Readonly<Record<string, Block>>): Field[] {
  const { ifd0 = {}, exif = {}, iptc = {}, ihdr = {}, gps = {} } = blocks;
  // XMP comes in blocks by namespace: `dc`, `xmp`, `photoshop`.
  const { dc = {}, xmp = {}, photoshop = {} } = blocks;
  const { latitude, longitude } = gps as { latitude?: number; longitude?: number };
  const place =
    latitude === undefined || longitude === undefined ? undefined : `${latitude.toFixed(6)}, ${longitude.toFixed(6)}`;
  return [
    ['Title', dc.title ?? iptc.ObjectName ?? ifd0.XPTitle ?? ihdr.Title ?? ifd0.DocumentName],
    ['Caption', iptc.Caption ?? iptc['Caption-Abstract']],
    ['Headline', iptc.Headline ?? photoshop.Headline],
    ['Description', ifd0.ImageDescription ?? dc.description ?? ihdr.Description],
    ['Keywords', iptc.Keywords ?? dc.subject ?? ifd0.XPKeywords],
    ['Artist', ifd0.Artist],
    ['Author', dc.creator ?? iptc.Byline ?? ifd0.XPAuthor ?? ihdr.Author],
    ['Copyright', ifd0.Copyright ?? dc.rights ?? iptc.CopyrightNotice],
    ['Comment', ifd0.XPComment ?? ihdr.Comment],
    ['DateTimeOriginal', exif.DateTimeOriginal],
    ['CreateDate', exif.CreateDate ?? exif.DateTimeDigitized ?? xmp.CreateDate],
    ['Make', ifd0.Make],
    ['Model', ifd0.Model],
    ['Software', ifd0.Software ?? xmp.CreatorTool ?? ihdr.Software],
    ['GPSPosition', place],
  ];
}
