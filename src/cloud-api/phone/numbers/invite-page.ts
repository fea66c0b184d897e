/**
 * The page of an invite: who would call, what one agrees to, and a field for one's number. The words that were shown are what the consent
 * keeps. No script; one that is used, too old or never was is the same page. Must not know rows.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { AppError } from '../../../contracts/common/errors.ts';
import { readRaw } from '../../../kit/http/body.ts';
import { escapeHtml, page, pageHeaders, plainPage } from '../../../kit/http/plain-page.ts';
import { refusedDestination } from '../e164.ts';
import type { HeldNumber } from '../ports.ts';
import type { Invites } from './invites.ts';

export interface InvitePageDeps {
  readonly invites: Pick<Invites, 'open' | 'accept'>;
  /** The business that the number is registered for; null: none yet. */
  readonly brandOf: (numberId: string) => Promise<string | null>;
  readonly users: { find(userId: string): Promise<{ readonly name: string } | null> };
}

export interface InvitePage {
  show(token: string, response: ServerResponse): Promise<void>;
  /** The form as a browser sends it. */
  take(token: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

const headers = {
  ...pageHeaders,
  'content-security-policy': pageHeaders['content-security-policy'].replace("form-action 'none'", "form-action 'self'"),
  // Without the origin of its own form a browser says that it has none, and is refused.
  'referrer-policy': 'same-origin',
} as const;

const largestForm = 4096;

export function createInvitePage({ invites, users, brandOf }: InvitePageDeps): InvitePage {
  function answer(response: ServerResponse, status: number, html: string): void {
    response.writeHead(status, headers);
    response.end(html);
  }

  const over = (response: ServerResponse) =>
    answer(
      response,
      404,
      plainPage('This invite is over', [
        'It was used, withdrawn, or is too old.',
        'Ask whoever sent it to you for a new one.',
      ]),
    );

  async function ask(response: ServerResponse, number: HeldNumber, status = 200, problem?: string): Promise<void> {
    const who = await callerOf(number);
    const html = `<p>${escapeHtml(who.sentence)}</p>
${problem === undefined ? '' : `<p role="alert"><strong>${escapeHtml(problem)}</strong></p>`}
<form method="post">
<p><label>Your phone number<br><input name="phone" type="tel" autocomplete="tel" maxlength="40" required></label></p>
<p><label><input name="agree" type="checkbox" value="yes" required> ${escapeHtml(disclosureOf(number, who.name))}</label></p>
<p><button type="submit">I agree to be called</button></p>
</form>`;
    answer(response, status, page('May we call you?', html));
  }

  async function callerOf(number: HeldNumber) {
    const brand = (await brandOf(number.id))?.trim();
    const name = brand || (await users.find(number.userId))?.name.trim() || 'The owner of this number';
    const bot = number.botName === null ? 'an automated assistant' : `${number.botName}, an automated assistant,`;
    return { name, sentence: `${name} would like to have ${bot} call you from ${number.e164}.` };
  }

  return {
    async show(token, response) {
      const invite = await invites.open(token);
      if (invite === null) return over(response);
      await ask(response, invite.number);
    },
    async take(token, request, response) {
      const form = await formOf(request);
      const invite = await invites.open(token);
      if (invite === null) return over(response);
      const { number } = invite;
      const e164 = parsePhoneNumberFromString((form.get('phone') ?? '').slice(0, 40), 'US')?.number;
      if (e164 === undefined) return ask(response, number, 400, 'Enter your phone number, such as 202 555 0123.');
      const refused = refusedDestination(e164);
      if (refused !== null) return ask(response, number, 400, refused);
      if (form.get('agree') !== 'yes') return ask(response, number, 400, 'Tick the box if you agree.');
      const { name } = await callerOf(number);
      const evidence = `Ticked on the page of the invite ${invite.id}: “${disclosureOf(number, name)}”`;
      if (!(await invites.accept(token, { e164, evidence }))) return over(response);
      answer(
        response,
        200,
        plainPage('Thank you', [
          `You agreed to be called at ${e164} from ${number.e164}.`,
          `To end it, text STOP to ${number.e164}.`,
        ]),
      );
    },
  };
}

/** Word for word what is kept as evidence. */
export function disclosureOf({ e164 }: Pick<HeldNumber, 'e164'>, name: string): string {
  return (
    `I agree that ${name} may have an automated assistant with an artificial voice call me from ${e164} at the number that I ` +
    'entered. This is no agreement to texts, and not a condition of buying anything. I can end it at any time by texting ' +
    `STOP to ${e164}.`
  );
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) {
    throw new AppError(
      'usage',
      `Content-Type ${JSON.stringify(type)} is not read here.`,
      'Send the form of the page.',
      {
        wireCode: 'unsupported_media_type',
      },
    );
  }
  return new URLSearchParams((await readRaw(request, largestForm)).toString('utf8'));
}
