/**
 * The text that goes into a pane and how it is found again: cleaning, the sender's line, the comparison with what a harness reports. The sender's
 * line comes first because agent programs run a text that begins with `!` or `/` as a command. Must not know how a text is typed.
 */
import type { Outgoing } from './harness.ts';

/** Invisible characters that some harnesses drop: zero-width, direction marks, soft hyphen, variation selectors, byte order mark. */
const invisible = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]|[\ufe00-\ufe0f]/gu;

/** CRLF and CR become LF; every other control character except tab and LF is dropped, so no escape sequence survives. */
export function clean(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[\u2028\u2029]/gu, '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/gu, '');
}

/** On one line, so that no part of a name can begin a line. */
function oneLine(text: string): string {
  return clean(text).replace(/\s+/gu, ' ').trim();
}

/**
 * The message as a composer shows it. The first line names the sender, so that a leading `!` or `/` never comes first; it carries the delivery's id,
 * which makes the submitted prompt findable. `raw` is the bare text.
 */
export function composePrompt(message: Outgoing): string {
  if (message.raw) return clean(message.text);
  const lines = [`${oneLine(message.senderLine)} (message ${message.deliveryId}):`, clean(message.text)];
  if (message.replyLine) lines.push('', oneLine(message.replyLine));
  return lines.join('\n');
}

/** The message for a shell: sender and reply line are comments and run nothing; the text's lines run as commands. */
export function composeCommands(message: Outgoing): string {
  const text = clean(message.text).replace(/\n+$/u, '');
  if (message.raw) return text;
  const lines = [`# ${oneLine(message.senderLine)}`, text];
  if (message.replyLine) lines.push(`# ${oneLine(message.replyLine)}`);
  return lines.join('\n');
}

/** The prompt after a harness has wrapped, trimmed and re-spaced it: no paste tags, no invisible characters, single blanks. */
function normalise(text: string): string {
  return text
    .replace(/<\/?pasted_content\b[^>]*>/gu, ' ')
    .replace(invisible, '')
    .replace(/[\s\u2028\u2029]+/gu, ' ')
    .trim();
}

/** Whether the text a harness took contains ours. Containment, not equality: a harness may add a date, a frame or a queue. */
export function containsText(taken: string, ours: string): boolean {
  const wanted = normalise(ours);
  return wanted !== '' && normalise(taken).includes(wanted);
}

/** The message id in the first line that {@link composePrompt} writes, however a composer wrapped it; null: the text is somebody else's. */
export function messageIn(text: string): string | null {
  return /^From.{0,200}?\(message(?<id>[\w-]+)\):/su.exec(squeeze(text))?.groups?.id ?? null;
}

/** Without the blanks that a composer adds where it wraps and indents. */
export function squeeze(text: string): string {
  return normalise(text).replaceAll(' ', '');
}

/** The obstacle to typing, in words for a person: the harnesses' own name for one of them is short. */
export function obstacleInWords(why: string): string {
  return why === 'draft' ? 'somebody has typed there and not pressed Enter' : why;
}
