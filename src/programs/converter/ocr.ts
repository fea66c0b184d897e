/**
 * Text in pictures, by Tesseract's own program in WebAssembly (the engine of tesseract.js) and its English data, both of which lie beside the
 * program: nothing is fetched. Runs in this thread, which can be ended as a whole. Must not know formats.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { escapeText } from './markdown/escape.ts';

/** Markdown of what a picture says (PNG, JPEG, PNM, BMP); '' where no text is found in it, or it cannot be read. */
export type Recognize = (picture: Uint8Array) => string;

interface Tesseract {
  readonly FS: { writeFile(path: string, bytes: Uint8Array): void };
  readonly TessBaseAPI: new () => {
    Init(folder: string, language: string, engine: number): number;
    SetImageFile(turned: number, angle: number, upscale: boolean): number;
    Recognize(monitor: null): number;
    GetUTF8Text(): string;
    MeanTextConf(): number;
    Clear(): void;
  };
}

/** The recogniser of lines; the older one is not in this build. */
const lines = 1;
/** Of 100: below, what is found are marks of a picture and no words. */
const leastConfidence = 40;

export async function openRecognizer(): Promise<Recognize> {
  const { program, wasm, language } = ocrFiles();
  const [wasmBinary, data] = await Promise.all([
    readFile(wasm),
    readFile(language).then((packed) => promisify(gunzip)(packed)),
  ]);
  const create = createRequire(import.meta.url)(program) as (options: object) => Promise<Tesseract>;
  const silent = () => {};
  const core = await create({ wasmBinary, print: silent, printErr: silent });
  core.FS.writeFile('/eng.traineddata', data);
  const engine = new core.TessBaseAPI();
  if (engine.Init('/', 'eng', lines) !== 0) throw new Error('the data for text recognition could not be read');
  return (picture) => {
    core.FS.writeFile('/input', picture);
    if (engine.SetImageFile(1, 0, false) !== 0) return '';
    const failed = engine.Recognize(null) !== 0 || engine.MeanTextConf() < leastConfidence;
    const text = failed ? '' : engine.GetUTF8Text();
    engine.Clear();
    return escapeText(
      text
        .replace(/[ \t]+$/gm, '')
        .trim()
        .replace(/\n{3,}/g, '\n\n'),
    );
  };
}

/** Run from source they are the packages' own; a build carries a copy (vite.config.ts). */
function ocrFiles(moduleUrl: string = import.meta.url): { program: string; wasm: string; language: string } {
  const self = fileURLToPath(moduleUrl);
  if (self.endsWith('.ts')) {
    const packages = resolve(dirname(self), '../../..', 'node_modules');
    const core = join(packages, 'tesseract.js-core', 'tesseract-core-simd-lstm');
    const language = join(packages, '@tesseract.js-data', 'eng', '4.0.0_best_int', 'eng.traineddata.gz');
    return { program: `${core}.js`, wasm: `${core}.wasm`, language };
  }
  const folder = join(self.slice(0, self.lastIndexOf(`${sep}server${sep}`)), 'server', 'ocr');
  const [program, wasm, language] = ['core.cjs', 'core.wasm', 'eng.traineddata.gz'].map((name) => join(folder, name));
  return { program, wasm, language } as { program: string; wasm: string; language: string };
}
