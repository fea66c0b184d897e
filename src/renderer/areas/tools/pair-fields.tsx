/** Names with secret values: a program's variables, a request's headers. Existing values are replaced, never shown. */
import { Plus, X } from 'lucide-react';
import { useId, useRef } from 'react';
import { flushSync } from 'react-dom';
import { hiddenSecret } from '../../../contracts/tool-server/servers.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import type { Pair } from './server-form.ts';

const control =
  'h-7 w-full min-w-0 rounded-control border border-line bg-window px-2 aria-[invalid=true]:border-fail pointer-coarse:h-10';

export function PairFields({
  label,
  noun,
  hint,
  pairs,
  problem,
  onChange,
}: {
  label: string;
  /** Of one row. */
  noun: string;
  hint: string;
  pairs: readonly Pair[];
  problem: string | undefined;
  onChange: (pairs: readonly Pair[]) => void;
}) {
  const id = useId();
  const box = useRef<HTMLFieldSetElement>(null);
  const change = (key: number, part: Partial<Pair>) =>
    onChange(pairs.map((pair) => (pair.key === key ? { ...pair, ...part } : pair)));
  /** The focus is where the next key belongs before that key is pressed. */
  function replace(next: readonly Pair[], selector: string): void {
    flushSync(() => onChange(next));
    [...(box.current?.querySelectorAll<HTMLElement>(selector) ?? [])].at(-1)?.focus();
  }
  return (
    <fieldset ref={box} aria-describedby={`${id}-about`} className="min-w-0">
      <legend className="font-medium">{label}</legend>
      <div className="flex flex-col items-start gap-1.5 pt-1">
        {pairs.map((pair, index) => {
          const called = pair.name.trim() || `${noun} ${index + 1}`;
          return (
            <div
              key={pair.key}
              className="grid w-full grid-cols-[minmax(0,2fr)_minmax(0,3fr)_auto] items-center gap-1.5"
            >
              <input
                value={pair.name}
                aria-label={`Name of ${noun} ${index + 1}`}
                aria-invalid={problem !== undefined}
                data-name="true"
                placeholder="Name"
                autoComplete="off"
                spellCheck={false}
                onChange={(event) => change(pair.key, { name: event.target.value })}
                className={`${control} font-mono text-code`}
              />
              <input
                type="password"
                value={pair.value}
                aria-label={`Value of ${called}`}
                placeholder="Value"
                autoComplete="new-password"
                // A secret that is there is replaced as a whole.
                onFocus={(event) => pair.value === hiddenSecret && event.target.select()}
                onChange={(event) => change(pair.key, { value: event.target.value })}
                className={`${control} font-mono text-code`}
              />
              <IconButton
                label={`Remove ${called}`}
                onClick={() =>
                  replace(
                    pairs.filter((one) => one.key !== pair.key),
                    '[data-add]',
                  )
                }
              >
                <X aria-hidden="true" />
              </IconButton>
            </div>
          );
        })}
        <Button
          icon={Plus}
          data-add="true"
          onClick={() => {
            const key = 1 + pairs.reduce((max, pair) => Math.max(max, pair.key), -1);
            replace([...pairs, { key, name: '', value: '' }], '[data-name]');
          }}
        >
          Add {noun}
        </Button>
        <p id={`${id}-about`} className={`text-meta break-words ${problem === undefined ? 'text-muted' : 'text-fail'}`}>
          {problem ?? hint}
        </p>
      </div>
    </fieldset>
  );
}
