/** The reader of pdf.js, which its package does not describe: only its presence matters. */
declare module 'pdfjs-dist/legacy/build/pdf.worker.mjs' {
  export const WorkerMessageHandler: unknown;
}
