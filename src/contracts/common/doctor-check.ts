/** One check of a doctor, on a computer or of a cloud. */
import { z } from 'zod';

export const DoctorCheck = z
  .strictObject({
    name: z.string(),
    group: z.enum(['program', 'harness', 'model', 'port', 'disk', 'secret', 'workspace']),
    state: z.enum(['ok', 'missing', 'warn', 'unknown']),
    version: z.string().nullable(),
    detail: z.string(),
    fix: z.string().nullable().meta({
      description: 'How to fix it: a command, which begins with a lowercase letter, or a step, which is a sentence.',
    }),
  })
  .readonly()
  .meta({ id: 'DoctorCheck' });
export type DoctorCheck = z.infer<typeof DoctorCheck>;
