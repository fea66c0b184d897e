/** Error messages for a person when the carrier did not do at once what they asked for. Must not know what was asked. */
import { AppError } from '../../../contracts/common/errors.ts';
import { CarrierFault } from '../carrier/port.ts';
import { badRequest } from './model.ts';

/** Runs requests that change nothing at the carrier, or may be repeated. Throws 503 `carrier_unavailable`, 502 `carrier_refused` or 400. */
export async function asked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (fault) {
    throw fault instanceof CarrierFault ? answerTo(fault) : fault;
  }
}

function answerTo(fault: CarrierFault): AppError {
  const { kind, message, retryAfter } = fault;
  if (kind === 'service' || kind === 'unknown') {
    return new AppError('transport', `The carrier cannot be reached now: ${message}`, 'Try again later.', {
      wireCode: 'carrier_unavailable',
      ...(retryAfter === null ? {} : { retryAfter }),
      cause: fault,
    });
  }
  if (kind === 'details') return badRequest(`The carrier does not accept it: ${message}`, 'Correct it and try again.');
  return new AppError('transport', `The carrier refused it: ${message}`, 'See what it says.', {
    wireCode: 'carrier_refused',
    cause: fault,
  });
}

/** For lookups of whether a step was done: without an answer of the carrier, that is unknown. */
export async function surely<T>(find: () => Promise<T>): Promise<T> {
  try {
    return await find();
  } catch (fault) {
    if (!(fault instanceof CarrierFault) || fault.kind === 'unknown') throw fault;
    throw new CarrierFault('unknown', `It could not be looked for: ${fault.message}`, {
      retryAfter: fault.retryAfter,
      cause: fault,
    });
  }
}

/** Null if the carrier does not know it, or no longer does. */
export async function orNull<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (fault) {
    if (fault instanceof CarrierFault && fault.kind === 'not_found') return null;
    throw fault;
  }
}
