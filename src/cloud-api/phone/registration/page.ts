/**
 * The hosted page of a number: its purpose, the one way to opt in, the terms and the privacy policy. For people and for the carriers' reviewers: no
 * script, no cookie, nothing from other servers. Pure.
 */
import { escapeHtml, page, plainPage } from '../../../kit/http/plain-page.ts';
import type { CheckedForm } from './form.ts';
import { repliesOf } from './replies.ts';

const useCaseSays: Readonly<Record<string, string>> = {
  LOW_VOLUME: 'conversations',
  CUSTOMER_CARE: 'customer care',
  ACCOUNT_NOTIFICATION: 'account updates',
  DELIVERY_NOTIFICATION: 'delivery updates',
  FRAUD_ALERT: 'fraud alerts',
  HIGHER_EDUCATION: 'school news',
  MARKETING: 'offers',
  MIXED: 'several purposes',
  POLLING_VOTING: 'polls',
  PUBLIC_SERVICE_ANNOUNCEMENT: 'public announcements',
  SECURITY_ALERT: 'security warnings',
  '2FA': 'sign-in codes',
  SOLE_PROPRIETOR: 'conversations with one business',
};

/** `+12025550123` as people write it. */
function written(e164: string): string {
  const parts = /^\+1(\d{3})(\d{3})(\d{4})$/.exec(e164);
  return parts === null ? e164 : `+1 (${parts[1]}) ${parts[2]}-${parts[3]}`;
}

export function optInPageOf(e164: string, form: CheckedForm): string {
  const text = escapeHtml;
  const brand = text(form.brandName);
  const number = `<a href="sms:${text(e164)}">${text(written(e164))}</a>`;
  const replies = repliesOf({ e164 }, form);
  const link = (address: string) => `<a href="${text(address)}" rel="noopener nofollow">${text(address)}</a>`;
  // Where a code was sent is nobody else's business.
  const phone = form.contactPhone === form.mobilePhone ? '' : form.contactPhone;
  const contact = [form.contactEmail, phone === '' ? '' : written(phone)].filter((one) => one !== '').map(text);
  const also = (words: string, address: string | undefined) =>
    address === undefined ? '' : `<p>${words} ${link(address)}</p>`;
  return page(
    `Texts with ${form.brandName}`,
    `
<p>${brand} answers texts at ${number}.</p>
<table>
<tbody>
<tr><th scope="row">Who</th><td>${text(form.legalName)}${form.legalName === form.brandName ? '' : ` (${brand})`}${form.website === undefined ? '' : `<br>${link(form.website)}`}</td></tr>
<tr><th scope="row">Number</th><td>${number}</td></tr>
<tr><th scope="row">Purpose</th><td>${text(useCaseSays[form.useCase] ?? form.useCase)}: ${text(form.description)}</td></tr>
<tr><th scope="row">Help</th><td>${contact.join('<br>')}</td></tr>
</tbody>
</table>
<h2>How to opt in</h2>
<p>Text anything, for example <strong>START</strong>, to ${number}. By texting this number first you agree to receive texts from ${brand} in reply.
Only people who text first get texts. Consent is not a condition of any purchase.</p>
<p>Message frequency varies with the conversation. <strong>Message and data rates may apply.</strong></p>
<p>Reply <strong>STOP</strong> at any time to opt out, <strong>START</strong> to opt in again, <strong>HELP</strong> for help.</p>
<h2 id="terms">Terms of texting</h2>
<p>The program is texting with ${brand} at ${number}: ${text(form.description)} Answers may be written by software. They may contain links and phone numbers.</p>
<p>The number answers STOP with: “${text(replies.stop)}”</p>
<p>It answers HELP with: “${text(replies.help)}”</p>
<p>Carriers are not liable for delayed or undelivered messages.</p>
${also('More terms:', form.termsUrl)}
<h2 id="privacy">Privacy</h2>
<p>${brand} keeps your number, your texts, and when you opted in or out, in order to answer you and to honour your choice.
No mobile information is shared with third parties or affiliates for marketing or promotion.
Phone numbers and consent to texts are shared only with the carriers that deliver the texts.</p>
${also('More on privacy:', form.privacyUrl)}`,
  );
}

/** The same words for a number without registration, a released one and an unknown one. */
export const noSuchPage = plainPage('Page not found', [
  'No number that receives texts has this page. Check the address, or ask the person who gave it to you.',
]);
