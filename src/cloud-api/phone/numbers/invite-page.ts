/**
 * The page of an invite: who would call, what one agrees to, a field for one's number, and then the code by which that phone proves to be theirs.
 * Nothing is sent to a number before it has sent something itself. The consent stores the words as shown, with the address and browser of the yes. No
 * script; a used, expired or unknown invite shows the same page. Must not know rows.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { AppError } from '../../../contracts/common/errors.ts';
import { type Clock, iso } from '../../../kit/clock/clock.ts';
import { readRaw } from '../../../kit/http/body.ts';
import { escapeHtml, page, pageHeaders, plainPage } from '../../../kit/http/plain-page.ts';
import { refusedDestination } from '../e164.ts';
import { type HeldNumber, isOfBots, type Numbers } from '../ports.ts';
import type { Invites } from './invites.ts';

export interface InvitePage {
  show(token: string, response: ServerResponse): Promise<void>;
  /** The form as a browser sends it. */
  take(token: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

const headers = {
  ...pageHeaders,
  'content-security-policy': pageHeaders['content-security-policy'].replace("form-action 'none'", "form-action 'self'"),
  // Without the origin of its own form, a browser sends none and is refused.
  'referrer-policy': 'same-origin',
} as const;

const largestForm = 4096;
/** Limit of a browser's name for itself, stored as evidence. */
const maxUserAgent = 300;

export function createInvitePage({
  invites,
  numbers,
  users,
  brandOf,
  clock,
  addressOf,
}: {
  readonly invites: Pick<Invites, 'open' | 'ask' | 'outcome'>;
  readonly numbers: Pick<Numbers, 'byE164'>;
  readonly clock: Clock;
  /** The client address of a request, also behind a proxy. */
  readonly addressOf: (request: IncomingMessage) => string;
  /** The business that the number is registered for; null: none yet. */
  readonly brandOf: (numberId: string) => Promise<string | null>;
  readonly users: { find(userId: string): Promise<{ readonly name: string } | null> };
}): InvitePage {
  function answer(response: ServerResponse, status: number, html: string): void {
    response.writeHead(status, headers);
    response.end(html);
  }

  const over = (response: ServerResponse) =>
    answer(
      response,
      404,
      plainPage('This invite no longer works', [
        'It was used or withdrawn, or it has expired.',
        'Ask the person who sent it to you for a new one.',
      ]),
    );

  async function ask(response: ServerResponse, number: HeldNumber, status = 200, problem?: string): Promise<void> {
    const who = await callerOf(number);
    const html = `<p>${escapeHtml(who.sentence)}</p>
${problem === undefined ? '' : `<p role="alert"><strong>${escapeHtml(problem)}</strong></p>`}
<form method="post">
<p><label>Your phone number<br><input name="phone" type="tel" autocomplete="tel" maxlength="40" required></label></p>
<p><label><input name="agree" type="checkbox" value="yes" required> ${escapeHtml(disclosureOf(number, who.name))}</label></p>
<p>With your answer we store the time, your IP address and the name of your browser.</p>
<p><button type="submit">I agree to be called</button></p>
</form>`;
    answer(response, status, page('May we call you?', html));
  }

  function askForCode(
    response: ServerResponse,
    { number, e164, code, problem }: { number: HeldNumber; e164: string; code: string; problem?: string },
  ): void {
    const html = `${problem === undefined ? '' : `<p role="alert"><strong>${escapeHtml(problem)}</strong></p>`}
<p>Text <strong>${code}</strong> from ${escapeHtml(e164)} to <a href="sms:${number.e164}?body=${code}">${number.e164}</a>,
or call that number and enter the code.</p>
<p>This shows that the phone is yours. We don’t contact it before you do. The code expires in 15 minutes.</p>
<form method="post">
<input type="hidden" name="code" value="${code}">
<p><button type="submit">I’ve sent the code</button></p>
</form>`;
    answer(response, 200, page('One more step', html));
  }

  async function check(token: string, code: string, response: ServerResponse): Promise<void> {
    const found = await invites.outcome(token, code);
    if (found === null) return over(response);
    const { e164, state } = found;
    if (state === 'proven') {
      return answer(response, 200, plainPage('Thank you', [`You agreed to be called at ${e164}.`]));
    }
    const invite = await invites.open(token);
    if (invite === null) return over(response);
    const problem = `Nothing has arrived from ${e164} yet. Texts can take a minute.`;
    askForCode(response, { number: invite.number, e164, code, problem });
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
      const code = form.get('code');
      if (code !== null) return check(token, code, response);
      const invite = await invites.open(token);
      if (invite === null) return over(response);
      const { number } = invite;
      const e164 = parsePhoneNumberFromString((form.get('phone') ?? '').slice(0, 40), 'US')?.number;
      if (e164 === undefined) return ask(response, number, 400, 'Enter your phone number, such as 202 555 0123.');
      const refused = refusedDestination(e164);
      if (refused !== null) return ask(response, number, 400, refused);
      if (await isOfBots(numbers, e164))
        return ask(response, number, 400, 'That number belongs to a bot. Enter your own.');
      if (form.get('agree') !== 'yes') return ask(response, number, 400, 'Tick the box if you agree.');
      const { name } = await callerOf(number);
      const from = `from ${addressOf(request)} with ${userAgentOf(request)}`;
      const evidence =
        `Ticked on the page of the invite ${invite.id} at ${iso(clock.now())} ${from}: ` +
        `“${disclosureOf(number, name)}”`;
      const asked = await invites.ask(token, { e164, evidence });
      if (asked === null) return over(response);
      askForCode(response, { number, e164, code: asked.code });
    },
  };
}

/** Exactly the words that are stored as evidence. */
function disclosureOf({ e164 }: Pick<HeldNumber, 'e164'>, name: string): string {
  return (
    `I agree that ${name} may have an automated assistant with an artificial voice call me from ${e164} at the number that I ` +
    'entered. This is no agreement to texts, and not a condition of buying anything. I can end it at any time by texting ' +
    `STOP to ${e164}.`
  );
}

function userAgentOf(request: IncomingMessage): string {
  // Header values hold no line breaks; quotes would blur where the browser's words end.
  const named = (request.headers['user-agent'] ?? '').slice(0, maxUserAgent).replaceAll('"', "'");
  return named === '' ? 'a browser that gives no name' : `"${named}"`;
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) {
    throw new AppError(
      'usage',
      `Content-Type ${JSON.stringify(type)} is not accepted here.`,
      'Send the form of the page.',
      {
        wireCode: 'unsupported_media_type',
      },
    );
  }
  return new URLSearchParams((await readRaw(request, largestForm)).toString('utf8'));
}
