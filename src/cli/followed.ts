/** A call that may take long, with how far it is on stderr. Where nobody looks on, the call alone. */
import { randomUUID } from 'node:crypto';
import { countWords, followCall, progressHeader } from '../contracts/common/work-progress.ts';
import type { Context } from './command.ts';

type Headers = Readonly<Record<string, string>>;

/** `label`: what the line says first. `call` is sent with these headers. */
export async function followed<T>(context: Context, label: string, call: (headers: Headers) => Promise<T>): Promise<T> {
  const line = context.output.progress(label);
  if (!line.shown) return call({});
  const key = randomUUID();
  const { factory } = await context.connect();
  try {
    return await followCall(() => call({ [progressHeader]: key }), {
      read: async () => (await factory.readProgress({ params: { progressKey: key } })).progress,
      onProgress({ what, done, total, unit }) {
        line.at(done, total, total === null ? what : `${what}: ${countWords({ done, total, unit })}`);
      },
      after(ms, effect) {
        const timer = setTimeout(effect, ms);
        return () => clearTimeout(timer);
      },
    });
  } finally {
    line.end();
  }
}
