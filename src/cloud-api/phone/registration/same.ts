/** What is the same is filed once: digests of who registers, and of what is texted. Pure. */
import { createHash } from 'node:crypto';
import { type CheckedForm, isSoleProprietor } from './form.ts';

const digest = (...parts: readonly unknown[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

/** Words without case, marks and spaces. */
export const plain = (text: string | undefined) =>
  (text ?? '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}*]+/gu, ' ')
    .trim();

/** Of who registers; of an EIN only what is told. */
export const identityOf = (form: CheckedForm) =>
  isSoleProprietor(form)
    ? digest('person', plain(form.contactFirstName), plain(form.contactLastName), form.mobilePhone)
    : digest('business', form.entityType, plain(form.legalName), form.ein, form.country);

export const textsOf = (form: CheckedForm) =>
  digest(form.useCase, form.subUseCases, form.description, form.sampleMessages);
