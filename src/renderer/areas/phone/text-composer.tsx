/** Answers a person by text; shows the number of parts, and why it cannot be sent, before sending. */
import { Ban, Send } from 'lucide-react';
import { useRef } from 'react';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import type { Conversation } from '../../../contracts/phone/texts.ts';
import { maxParts, maxTextLength } from '../../../contracts/phone/values.ts';
import { useDraft } from '../../base/use-draft.ts';
import { Button } from '../../ui/button.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Kbd } from '../../ui/kbd.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useAct } from '../../ui/use-act.ts';
import { numberWords, refusesText } from './phone-words.ts';
import { segmentsOf } from './segments.ts';
import { usePhoneServices, useTouchNumber } from './use-phone-services.ts';

export function TextComposer({
  number,
  person,
  conversation,
  known,
}: {
  number: PhoneNumber;
  person: string;
  conversation: Conversation | undefined;
  known: boolean;
}) {
  const { api } = usePhoneServices();
  const touch = useTouchNumber();
  const [text, setText] = useDraft(`${number.id} ${person}`);
  /** One key a message: sent again after a cut, it is the same text. */
  const wish = useRef({ of: '', key: '' });
  const segments = segmentsOf(text);
  const tooLong = text.length > maxTextLength || segments.parts > maxParts;
  const why =
    conversation !== undefined
      ? refusesText(number, conversation)
      : known
        ? 'You can text people only after they text you.'
        : null;
  const ready = conversation !== undefined && why === null && text.trim() !== '' && !tooLong;
  const send = useAct(async () => {
    if (wish.current.of !== text) wish.current = { of: text, key: crypto.randomUUID() };
    try {
      await api.phone.texts.sendText(
        { body: { numberId: number.id, to: person, text } },
        { idempotencyKey: wish.current.key },
      );
      wish.current = { of: '', key: '' };
      setText('');
    } finally {
      touch(number.id, 'texts');
      touch(number.id, 'conversations');
    }
  });
  return (
    <form
      aria-label="Answer by text"
      className="flex shrink-0 flex-col gap-2 border-t border-line bg-panel p-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) send.run();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        if (ready) send.run();
      }}
    >
      {send.failure !== null && <Problem error={send.failure} />}
      {why !== null ? (
        <p data-refused="true" className="flex gap-2 px-1 py-1 text-muted">
          <Ban className="mt-0.5 size-3.5 shrink-0" aria-hidden="true" />
          {why}
        </p>
      ) : (
        <>
          <textarea
            value={text}
            rows={2}
            data-composer="true"
            aria-label={`Text to ${numberWords(person)}`}
            aria-invalid={tooLong}
            placeholder="Text them from this number"
            onChange={(event) => setText(event.target.value)}
            className="min-h-14 w-full resize-none rounded-control border border-line bg-window px-2.5 py-1.5 aria-[invalid=true]:border-fail"
          />
          <div className="flex flex-wrap items-center gap-2">
            <p className={`min-w-0 flex-1 px-1 text-meta tabular-nums ${tooLong ? 'text-fail' : 'text-muted'}`}>
              {tooLong ? (
                `Too long: ${text.length} characters in ${countWords(segments.parts, 'part')}. At most ${maxTextLength} in ${maxParts}.`
              ) : segments.parts === 0 ? (
                `From ${numberWords(number.e164)}`
              ) : (
                <>
                  About {countWords(segments.parts, 'part')}, {segments.left} left in the last
                  {segments.wide && ' (an emoji or a rare letter makes parts shorter)'}
                </>
              )}
            </p>
            <Button
              icon={Send}
              kind="primary"
              type="submit"
              disabled={!ready || send.busy}
              aria-keyshortcuts="Control+Enter"
            >
              {send.busy ? 'Sending' : 'Send'}
            </Button>
            <span className="max-md:hidden">
              <Kbd keys="Ctrl Enter" />
            </span>
          </div>
        </>
      )}
    </form>
  );
}
