/** Equal filings are filed once: digests of the business, and of its texts. Pure. */
import { createHash } from 'node:crypto';
import { type CheckedForm, isSoleProprietor } from './form.ts';

const digest = (...parts: readonly unknown[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

/** Words without case, marks and spaces. */
export const plain = (text: string | undefined) =>
  (text ?? '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}*]+/gu, ' ')
    .trim();

/** Digest of the business; of an EIN only the visible part. */
export const identityOf = (form: CheckedForm) =>
  isSoleProprietor(form)
    ? digest('person', plain(form.contactFirstName), plain(form.contactLastName), form.mobilePhone)
    : digest('business', form.entityType, plain(form.legalName), form.ein, form.country);

export const textsOf = (form: CheckedForm) =>
  digest(form.useCase, form.subUseCases, form.description, form.sampleMessages);
