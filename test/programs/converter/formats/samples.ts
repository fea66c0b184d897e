/** The smallest honest document of every format, made here: what the program must read, and what is measured. */
import { utils, write } from '@e965/xlsx';
import { makePdf } from '../../../support/documents/pdf.ts';
import { compoundOf, openDocument, relationships, spaces, xmlHead, zipOf } from './documents.ts';

const book = utils.book_new();
utils.book_append_sheet(book, utils.aoa_to_sheet([['words'], ['here']]), 'Sheet');
const sheet = (bookType: 'xlsx' | 'xlsb' | 'biff8' | 'ods') =>
  new Uint8Array(write(book, { type: 'buffer', bookType }));
const wide = (text: string) => new Uint8Array(Buffer.from(text, 'utf16le'));
const part = (kind: string, name: string) => ({
  '_rels/.rels': relationships(['rId1', 'officeDocument', name], ['rId2', kind, name]),
});

/** One small document a format, by a name of its kind; each says `words here`, or its size or rate where it has no words. */
export const samples: Readonly<Record<string, Uint8Array>> = {
  'a.pdf': makePdf([{ texts: [{ text: 'words here', x: 60, y: 100 }] }]),
  'a.csv': Buffer.from('words,here\n1,2\n'),
  'a.tsv': Buffer.from('words\there\n1\t2\n'),
  'a.json': Buffer.from('{"words": "words here"}'),
  'a.jsonl': Buffer.from('{"a": "words here"}\n{"a": 2}\n'),
  'a.xml': Buffer.from('<?xml version="1.0"?><a>words here</a>'),
  'a.ipynb': Buffer.from('{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": ["words here"]}]}'),
  'a.txt': Buffer.from('words here'),
  'a.zip': zipOf({ 'in.txt': 'words here' }),
  'a.docx': zipOf({
    ...part('x', 'word/document.xml'),
    'word/document.xml': `${xmlHead}<w:document ${spaces}><w:body><w:p><w:r><w:t>words here</w:t></w:r></w:p></w:body></w:document>`,
  }),
  'a.pptx': zipOf({
    ...part('x', 'ppt/presentation.xml'),
    'ppt/presentation.xml': `${xmlHead}<p:presentation ${spaces}><p:sldIdLst><p:sldId id="256" r:id="rId1"/></p:sldIdLst></p:presentation>`,
    'ppt/_rels/presentation.xml.rels': relationships(['rId1', 'slide', 'slides/slide1.xml']),
    'ppt/slides/slide1.xml': `${xmlHead}<p:sld ${spaces}><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>words here</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>`,
  }),
  'a.xlsx': sheet('xlsx'),
  'a.xlsb': sheet('xlsb'),
  'a.xls': sheet('biff8'),
  'a.ods': sheet('ods'),
  'a.odt': openDocument('text', '<office:text><text:p>words here</text:p></office:text>'),
  'a.odp': openDocument(
    'presentation',
    '<office:presentation><draw:page><draw:frame><draw:text-box><text:p>words here</text:p></draw:text-box></draw:frame></draw:page></office:presentation>',
  ),
  'a.rtf': Buffer.from('{\\rtf1\\ansi words here\\par}'),
  'a.html': Buffer.from('<html><body><nav>n</nav><p>words here</p></body></html>'),
  'a.epub': zipOf({
    'META-INF/container.xml': `${xmlHead}<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>`,
    'a.opf': `${xmlHead}<package><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>`,
    'a.xhtml': '<html><body><p>words here</p></body></html>',
  }),
  'a.rss': Buffer.from('<?xml version="1.0"?><rss><channel><title>words here</title></channel></rss>'),
  'a.eml': Buffer.from('From: a@example.org\r\nTo: b@example.org\r\nSubject: words here\r\n\r\nbody'),
  'a.msg': compoundOf({
    '__properties_version1.0': new Uint8Array(32),
    '__nameid_version1.0': {},
    '__substg1.0_001A001F': wide('IPM.Note'),
    '__substg1.0_0037001F': wide('words here'),
  }),
  'a.gif': Buffer.concat([Buffer.from('GIF89a'), Buffer.from([0x80, 2, 0xe0, 1, 0, 0, 0, 0x3b])]),
  'a.wav': Buffer.concat([
    Buffer.from('RIFF4\0\0\0WAVEfmt \u0010\0\0\0'),
    Buffer.from([1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x80, 0x3e, 0, 0, 2, 0, 16, 0]),
    Buffer.from('data\u0010\0\0\0'),
    Buffer.alloc(16),
  ]),
};

/** What the Markdown of a sample says. */
export const said = /words( here)?|640x480|SampleRate: 8000/;
