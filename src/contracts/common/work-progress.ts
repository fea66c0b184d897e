/** How far a call is that takes long. Its caller names a key in a header and asks under it; the call's own answer stays the same. */
import { z } from 'zod';
import { Time } from './values.ts';

/** Sent with the call: {@link ProgressKey}. */
export const progressHeader = 'gantry-progress';
export const ProgressKey = z
  .string()
  .regex(/^[A-Za-z0-9_-]{8,64}$/, '8 to 64 letters, digits, _ or -')
  .meta({ description: 'The value of the header `Gantry-Progress` that the call was sent with.' });

export const WorkProgress = z
  .strictObject({
    what: z.string().meta({ description: 'What is under way.' }),
    done: z.number().int().min(0),
    total: z.number().int().min(0).nullable().meta({ description: 'Null: nobody knows how much there is.' }),
    unit: z.string().nullable().meta({ description: 'What is counted, such as `pages`.' }),
    startedAt: Time.meta({ description: 'When the call began.' }),
  })
  .meta({ id: 'WorkProgress' });
export type WorkProgress = z.infer<typeof WorkProgress>;

/** A report of the work itself. */
export type WorkReport = Omit<WorkProgress, 'startedAt'>;
export type OnProgress = (report: WorkReport) => void;

/** Shorter calls are never asked after. Milliseconds. */
const everyMs = 700;

/** `12 of 300 pages`; empty while nobody knows how much there is. */
export function countWords({ done, total, unit }: Pick<WorkReport, 'done' | 'total' | 'unit'>): string {
  if (total === null) return '';
  return `${done.toLocaleString('en-US')} of ${total.toLocaleString('en-US')}${unit === null ? '' : ` ${unit}`}`;
}

/** Asks how far `call` is, again and again until it ends. A question that fails says nothing: older programs do not know it. */
export async function followCall<T>(
  call: () => Promise<T>,
  ways: {
    readonly read: () => Promise<WorkProgress | null>;
    readonly onProgress: (progress: WorkProgress) => void;
    /** Returns what cancels it. */
    readonly after: (ms: number, effect: () => void) => () => void;
  },
): Promise<T> {
  let over = false;
  let cancel = () => {};
  const look = async (): Promise<void> => {
    const progress = await ways.read().catch(() => null);
    if (over) return;
    if (progress !== null) ways.onProgress(progress);
    again();
  };
  const again = (): void => {
    cancel = ways.after(everyMs, () => void look());
  };
  again();
  try {
    return await call();
  } finally {
    over = true;
    cancel();
  }
}
