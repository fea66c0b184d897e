/** What a person hears when the carrier did not do what they asked for at once. Must not know what was asked. */
import { AppError } from '../../../contracts/common/errors.ts';
import { CarrierFault } from '../carrier/port.ts';
import { badRequest } from './model.ts';

/** Runs what changes nothing at the carrier, or may be asked again. Throws 503 `carrier_unavailable`, 502 `carrier_refused` or 400. */
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
    return new AppError('transport', `The carrier cannot be asked now: ${message}`, 'Try again later.', {
      wireCode: 'carrier_unavailable',
      ...(retryAfter === null ? {} : { retryAfter }),
      cause: fault,
    });
  }
  if (kind === 'details') return badRequest(`The carrier does not take it: ${message}`, 'Correct it, and ask again.');
  return new AppError('transport', `The carrier refused it: ${message}`, 'Look at what it says.', {
    wireCode: 'carrier_refused',
    cause: fault,
  });
}

/** For what looks whether a step was done: where the carrier does not answer, nobody can tell. */
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

/** Null where the carrier knows it not, or no more. */
export async function orNull<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (fault) {
    if (fault instanceof CarrierFault && fault.kind === 'not_found') return null;
    throw fault;
  }
}
