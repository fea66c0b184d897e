/**
 * Stands for the conversion program with a document that never ends, or that ends it: the last word of what comes says which.
 * Imports nothing: it has the rights of the real one, which may read its own files only.
 */
let text = '';
process.stdin.on('data', (chunk: Buffer) => {
  text += chunk.toString('latin1');
  if (text.endsWith('crash')) process.abort();
  if (text.endsWith('leave')) process.exit(0);
  if (text.endsWith('noise'))
    process.stdout.write('this is no frame at all, whatever it may look like to whoever reads it');
  if (text.endsWith('spin')) for (;;);
});
