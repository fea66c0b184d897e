/** One handset of the demo, as a phone: its texts, its call, and what its person can do. */
import { useQueryClient } from '@tanstack/react-query';
import { PhoneCall, Send } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { DemoPhone, Handset } from '../../../contracts/phone/demo.ts';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import { Button } from '../../ui/button.tsx';
import { Check } from '../../ui/choice.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Elapsed } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Status } from '../../ui/status.tsx';
import { useAct } from '../../ui/use-act.ts';
import { legStatus } from './phone-status.ts';
import { endingWords, numberWords, plainWord } from './phone-words.ts';
import { phoneKeys } from './queries.ts';
import { usePhoneServices } from './use-phone-services.ts';

const long = `This is a long text, to show how texts are split into parts. ${'It goes on and on. '.repeat(16)}The end.`;
const ready: readonly { readonly word: string; readonly text: string }[] = [
  { word: 'STOP', text: 'STOP' },
  { word: 'HELP', text: 'HELP' },
  { word: 'START', text: 'START' },
  { word: 'Emoji', text: 'Thank you \u{1F44D}\u{1F600}' },
  { word: 'Long', text: long },
];

export function HandsetPanel({ handset, numbers }: { handset: Handset; numbers: readonly PhoneNumber[] }) {
  const { api } = usePhoneServices();
  const client = useQueryClient();
  const { e164, name, texts, calls } = handset;
  const [text, setText] = useState('');
  const [media, setMedia] = useState(false);
  const [picked, setPicked] = useState<string | null>(null);
  // Whom it texted with last, so that an answer goes back.
  const ours = (one: string) => numbers.some(({ e164: number }) => number === one);
  const to = picked ?? texts.findLast((text) => ours(text.with))?.with ?? numbers[0]?.e164 ?? '';
  const known = ours(to);
  const live = calls.findLast(({ state }) => state !== 'ended');
  const put = (demo: DemoPhone): void => {
    client.setQueryData(phoneKeys.demo, demo);
  };
  const send = useAct(async (what: string) => {
    const body = { to, text: what, ...(media ? { media } : {}) };
    put(await api.phone.demo.textFromDemoHandset({ params: { e164 }, body }));
    setText('');
    setMedia(false);
  });
  const ring = useAct(async () => put(await api.phone.demo.callFromDemoHandset({ params: { e164 }, body: { to } })));
  const failure = send.failure ?? ring.failure;
  return (
    <li
      aria-label={`Handset of ${name}`}
      data-handset={e164}
      className="flex h-[520px] min-w-0 flex-col overflow-hidden rounded-[20px] border-2 border-line-strong bg-panel"
    >
      <header className="flex items-baseline gap-2 border-b border-line px-4 pt-3 pb-2">
        <h2 className="min-w-0 flex-1 truncate font-semibold">{name === e164 ? numberWords(e164) : name}</h2>
        {name !== e164 && <span className="text-meta text-muted tabular-nums">{numberWords(e164)}</span>}
      </header>
      {live !== undefined && <LiveCall key={live.id} handset={e164} name={name} call={live} onDone={put} />}
      <Log handset={handset} />
      {failure !== null && <Problem error={failure} />}
      <form
        aria-label={`Text from ${name}`}
        className="flex flex-col gap-1.5 border-t border-line p-2"
        onSubmit={(event) => {
          event.preventDefault();
          if (known && text.trim() !== '') send.run(text);
        }}
      >
        <div className="flex items-center gap-1.5">
          <select
            aria-label={`Number that ${name} reaches`}
            value={known ? to : ''}
            onChange={(event) => setPicked(event.target.value)}
            className="h-7 min-w-0 flex-1 rounded-control border border-line bg-raised px-1.5 tabular-nums pointer-coarse:h-10"
          >
            {!known && <option value="">{numbers.length === 0 ? 'Get a number first' : 'Choose a number'}</option>}
            {numbers.map((one) => (
              <option key={one.id} value={one.e164}>
                {numberWords(one.e164)}
              </option>
            ))}
          </select>
          <Button
            icon={PhoneCall}
            aria-label={`Call from ${name}`}
            disabled={!known || live !== undefined || ring.busy}
            onClick={() => ring.run()}
          >
            Call
          </Button>
        </div>
        <fieldset className="flex flex-wrap gap-1 text-meta">
          <legend className="sr-only">Sample texts</legend>
          {ready.map(({ word, text: what }) => (
            <button
              key={word}
              type="button"
              disabled={!known || send.busy}
              onClick={() => (word === 'Long' || word === 'Emoji' ? setText(what) : send.run(what))}
              className="h-6 rounded-full border border-line px-2 text-muted hover:text-ink disabled:opacity-50 pointer-coarse:h-10 pointer-coarse:px-3"
            >
              {word}
            </button>
          ))}
          <Check on={media} onChange={setMedia} className="ml-auto text-muted">
            Picture
          </Check>
        </fieldset>
        <div className="flex items-end gap-1.5">
          <textarea
            aria-label={`Message from ${name}`}
            rows={1}
            value={text}
            maxLength={1600}
            placeholder="Text"
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey) return;
              event.preventDefault();
              if (known && text.trim() !== '') send.run(text);
            }}
            className="max-h-24 min-h-7 min-w-0 flex-1 resize-none rounded-control border border-line bg-window px-2 py-[3px] field-sizing-content pointer-coarse:min-h-10"
          />
          <Button
            icon={Send}
            type="submit"
            aria-label={`Send from ${name}`}
            disabled={!known || text.trim() === '' || send.busy}
          ></Button>
        </div>
      </form>
    </li>
  );
}

/** Texts as a phone shows them, and below them the calls that are over. */
function Log({ handset }: { handset: Handset }) {
  const { texts, calls, name } = handset;
  const box = useRef<HTMLDivElement>(null);
  const over = calls.filter(({ state }) => state === 'ended').map((call) => ({ at: call.at, call, text: null }));
  const lines = [...texts.map((text) => ({ at: text.at, text, call: null })), ...over].toSorted((a, b) =>
    a.at.localeCompare(b.at),
  );
  const count = lines.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new line scrolls
  useEffect(() => {
    if (box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [count]);
  return (
    <div
      ref={box}
      role="log"
      aria-label={`Texts and calls of ${name}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      className="min-h-0 flex-1 overflow-y-auto p-3"
    >
      {count === 0 && <p className="text-muted">Nothing yet. Text or call one of your numbers.</p>}
      <ol className="flex flex-col gap-1.5">
        {lines.map(({ text, call }) =>
          text === null ? (
            <li key={call.id} className="self-center text-center text-meta text-muted">
              {call.direction === 'in' ? 'Called by' : 'Called'} {numberWords(call.with)}
              {call.endedBecause !== null && `: ${endingWords(call.endedBecause)}`}
              {call.heard.length > 0 && <Heard lines={call.heard} />}
            </li>
          ) : (
            <li
              key={text.id}
              data-handset-text={text.direction}
              className={`max-w-[88%] min-w-0 ${text.direction === 'out' ? 'self-end' : 'self-start'}`}
            >
              <p
                className={`rounded-panel border border-line px-2.5 py-1 break-words whitespace-pre-wrap ${text.direction === 'out' ? 'bg-selected' : 'bg-window'}`}
              >
                {text.text}
              </p>
              <p className={`px-1 text-meta text-muted ${text.direction === 'out' ? 'text-right' : ''}`}>
                {[
                  // What the number has is delivered, as the handset sees it; of what came in nobody asks.
                  ...(text.direction === 'in'
                    ? []
                    : [text.status === 'received' ? 'Delivered' : plainWord(text.status)]),
                  ...(text.parts > 1 ? [countWords(text.parts, 'part')] : []),
                ].join(' · ')}
              </p>
            </li>
          ),
        )}
      </ol>
    </div>
  );
}

function Heard({ lines }: { lines: readonly string[] }) {
  return (
    <ul aria-label="Heard on the call" className="text-left">
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: what was said is only ever added at the end
        <li key={index} className="break-words">
          “{line}”
        </li>
      ))}
    </ul>
  );
}

type Verb = 'answer' | 'reject' | 'busy' | 'voicemail' | 'hangup';

function LiveCall({
  handset,
  name,
  call,
  onDone,
}: {
  handset: string;
  name: string;
  call: Handset['calls'][number];
  onDone: (demo: DemoPhone) => void;
}) {
  const { api } = usePhoneServices();
  const { state, direction, heard } = call;
  const params = { e164: handset, call: call.id };
  const act = useAct(async (action: Verb) =>
    onDone(await api.phone.demo.answerOnDemoHandset({ params, body: { action } })),
  );
  const press = useAct(async (digits: string) =>
    onDone(await api.phone.demo.answerOnDemoHandset({ params, body: { action: 'press', digits } })),
  );
  const failure = act.failure ?? press.failure;
  const rings = state === 'ringing' && direction === 'in';
  const button = (verb: Verb, word: string, kind: 'plain' | 'primary' | 'danger' = 'plain') => (
    <Button kind={kind} disabled={act.busy} onClick={() => act.run(verb)}>
      {word}
    </Button>
  );
  return (
    <section
      aria-label={`Call of ${name}`}
      data-handset-call={state}
      className="flex flex-col gap-2 border-b border-line bg-raised p-3"
    >
      <p className="flex items-center gap-2">
        <span className="min-w-0 flex-1 truncate font-medium tabular-nums">{numberWords(call.with)}</span>
        <span role="status">
          <Status look={legStatus[state]} wire={state} />
        </span>
        <span className="text-meta text-muted">
          <Elapsed since={call.at} />
        </span>
      </p>
      {heard.length > 0 && (
        <div className="max-h-24 overflow-y-auto text-muted">
          <Heard lines={heard} />
        </div>
      )}
      <div className="flex flex-wrap gap-1.5">
        {rings ? (
          <>
            {button('answer', 'Answer', 'primary')}
            {button('reject', 'Reject')}
            {button('busy', 'Busy')}
            {button('voicemail', 'Voicemail')}
          </>
        ) : (
          <>
            {state !== 'ringing' &&
              (['1', '2'] as const).map((digit) => (
                <Button key={digit} disabled={press.busy} onClick={() => press.run(digit)}>
                  Press {digit}
                </Button>
              ))}
            {button('hangup', 'Hang up', 'danger')}
          </>
        )}
      </div>
      {failure !== null && <Problem error={failure} />}
    </section>
  );
}
