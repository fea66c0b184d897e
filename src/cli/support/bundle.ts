/** `gantry support bundle`: one text for those who look for a fault. Writes a file of its person's own, and sends nothing. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DoctorCheck } from '../../contracts/common/doctor-check.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { dataFolder, packageVersion, placesIn } from '../../host/places.ts';
import { supportBundle } from '../../host/support-bundle.ts';
import { writePrivateFile } from '../../kit/secrets/token-file.ts';
import { size, stampOf } from '../backup/backup.ts';
import { type Action, optionalText } from '../command.ts';
import { asAppError } from '../output.ts';
import { allChecks } from '../verbs/doctor.ts';
import { inCell } from '../words.ts';

const unchecked = (detail: string): DoctorCheck => ({
  name: 'Checks',
  group: 'program',
  state: 'warn',
  version: null,
  detail,
  fix: null,
});

export const bundle: Action = async (context, input) => {
  const { env, now } = context;
  const out = optionalText(input, 'out') ?? `gantry-support-${stampOf(now())}.txt`;
  const file = resolve(context.cwd, out);
  if (out !== '-' && existsSync(file)) {
    throw new AppError('refused', `${file} exists already.`, 'Give another name with --out.');
  }
  const text = supportBundle({
    places: placesIn(dataFolder(env)),
    env,
    version: packageVersion(),
    // The fault that somebody looks for may be that nothing can be checked.
    checks: await allChecks(context).catch((error: unknown) => [unchecked(asAppError(error).fact)]),
    at: new Date(now()).toISOString(),
    now: now(),
  });
  if (out === '-') {
    context.output.result({ text }, () => text);
    return undefined;
  }
  writePrivateFile(file, text);
  const bytes = Buffer.byteLength(text);
  context.output.result(
    { file, bytes },
    () => `Wrote ${inCell(file)} (${size(bytes)}). Gantry sent it nowhere: read it before you send it.`,
  );
  return undefined;
};
