/**
 * Maps each kind to its format and module. Each is loaded with the first document of its kind, so that a conversion pays only for its own libraries.
 * Must not know how a kind is found.
 */
import type { Family, Format, Kind } from '../format.ts';

interface FormatEntry {
  readonly family: Family;
  readonly load: () => Promise<Format>;
}

const data = (load: () => Promise<Format>): FormatEntry => ({ family: 'data', load });

const text = data(async () => (await import('./data/text.ts')).textFormat);
const separated = data(async () => (await import('./data/separated.ts')).separatedFormat);

const office = (load: () => Promise<Format>): FormatEntry => ({ family: 'office', load });
const html = (load: () => Promise<Format>): FormatEntry => ({ family: 'html', load });
const mail = (load: () => Promise<Format>): FormatEntry => ({ family: 'mail', load });
const media = (load: () => Promise<Format>): FormatEntry => ({ family: 'media', load });

const pdf: FormatEntry = { family: 'pdf', load: async () => (await import('./pdf/pdf.ts')).pdfFormat };

const openDocument = office(async () => (await import('./office/open-document.ts')).openDocumentFormat);
const sheets = office(async () => (await import('./office/sheets.ts')).sheetsFormat);

export const formats: Readonly<Partial<Record<Kind, FormatEntry>>> = {
  text,
  markdown: text,
  pdf,
  csv: separated,
  tsv: separated,
  json: data(async () => (await import('./data/json.ts')).jsonFormat),
  jsonl: data(async () => (await import('./data/json.ts')).jsonLinesFormat),
  xml: data(async () => (await import('./data/xml.ts')).xmlFormat),
  ipynb: data(async () => (await import('./data/ipynb.ts')).notebookFormat),
  zip: { family: 'archive', load: async () => (await import('./archive/zip.ts')).zipFormat },
  docx: office(async () => (await import('./office/docx.ts')).docxFormat),
  html: html(async () => (await import('./html/html.ts')).htmlFormat),
  epub: html(async () => (await import('./html/epub.ts')).epubFormat),
  feed: html(async () => (await import('./html/feed.ts')).feedFormat),
  pptx: office(async () => (await import('./office/pptx.ts')).pptxFormat),
  xlsx: sheets,
  xls: sheets,
  ods: sheets,
  odt: openDocument,
  odp: openDocument,
  rtf: office(async () => (await import('./office/rtf.ts')).rtfFormat),
  eml: mail(async () => (await import('./mail/eml.ts')).emlFormat),
  msg: mail(async () => (await import('./mail/msg.ts')).msgFormat),
  image: media(async () => (await import('./media/image.ts')).imageFormat),
  audio: media(async () => (await import('./media/audio.ts')).audioFormat),
};
