/** The errors for posts of events, of any kind. Must not know how they are signed. */
import { AppError } from '../../contracts/common/errors.ts';

export function notSigned(action: string): AppError {
  return new AppError('refused', 'Invalid or expired signature.', action, {
    status: 401,
    wireCode: 'invalid_signature',
  });
}

/** Too many are queued: no more are accepted until some are delivered. `fact`: for whom they wait. */
export function tooManyWait(fact: string): AppError {
  return new AppError('refused', fact, 'Send it again later.', {
    status: 429,
    wireCode: 'rate_limited',
    retryAfter: 60,
  });
}
