/** The meaning of SQLite's refusals for a person. First user: the write groups; second: the start-up checks. */
import { AppError } from '../../contracts/common/errors.ts';

/** Extended result code, such as `SQLITE_IOERR_FSYNC`; empty for errors from elsewhere. */
export function sqliteCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : '';
}

export function isBusy(code: string): boolean {
  return code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED');
}

export function isDamage(code: string): boolean {
  return code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB';
}

/** The disk or the file refused, not the statement: no write can succeed until that has changed. */
export function isTrouble(code: string): boolean {
  return (
    ['SQLITE_FULL', 'SQLITE_IOERR', 'SQLITE_READONLY', 'SQLITE_CANTOPEN'].some((kind) => code.startsWith(kind)) ||
    isDamage(code)
  );
}

/** Fact and action for a code for which {@link isTrouble} or {@link isBusy} holds. */
export function refusal(code: string, file: string, cause?: unknown): AppError {
  const [fact, action] = words(code, file);
  return new AppError('transport', fact, action, { cause });
}

function words(code: string, file: string): [string, string] {
  if (code === 'SQLITE_FULL') {
    return [`The disk that holds ${file} is full.`, 'Free some space: Gantry then continues automatically.'];
  }
  if (isBusy(code)) {
    return [`Another program has locked ${file}.`, 'Close the program that has it open, then try again.'];
  }
  if (isDamage(code)) {
    return [
      `${file} is damaged (${code}).`,
      'Stop Gantry and start it again: it moves the file aside and says what to do.',
    ];
  }
  if (code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN')) {
    return [
      `${file} cannot be written (${code}).`,
      'Check that the folder exists and is yours: Gantry then continues automatically.',
    ];
  }
  return [`The disk refused to write ${file} (${code}).`, 'Check the disk; Gantry retries automatically.'];
}
