/** The comparison for PDF: the bare text of every page from only the library, unprocessed. Prints the number of characters. */
import { readFileSync } from 'node:fs';
import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
import * as reader from 'pdfjs-dist/legacy/build/pdf.worker.mjs';

Object.assign(globalThis, { pdfjsWorker: reader });
const document = await getDocument({
  data: new Uint8Array(readFileSync(process.argv[2] as string)),
  disableFontFace: true,
  verbosity: 0,
}).promise;
let characters = 0;
for (let number = 1; number <= document.numPages; number += 1) {
  const { items } = await (await document.getPage(number)).getTextContent();
  for (const item of items) if ('str' in item) characters += item.str.length;
}
process.stdout.write(`${characters}\n`);
process.exit(0);
