/** Reads a computer's whole answer where the cloud itself needs it. Must not know its meaning. */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import { Unanswered } from './ask.ts';

/** Throws `refused` over `maxBytes`: a computer must not fill the memory of a cloud of many. Throws {@link Unanswered} if the answer is cut off. */
export function readAnswer(answer: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        const fact = `The computer answered more than ${maxBytes} bytes.`;
        answer.destroy(new AppError('refused', fact, 'Ask for less at once.', { wireCode: 'too_large' }));
      } else chunks.push(chunk);
    });
    answer.once('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    answer.once('error', (cause: NodeJS.ErrnoException) => {
      reject(cause instanceof AppError ? cause : new Unanswered(cause, false));
    });
  });
}
