/** Chooses the bot for some work and its mode; bots whose mode cannot be enforced are listed with the reason. */
import type { AutomationBot, RuleMode } from '../../../contracts/connectors/rule.ts';
import type { ExecutionMode } from '../../../contracts/connectors/subscription.ts';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { Choice } from '../../ui/choice.tsx';
import { SelectField } from '../../ui/text-field.tsx';
import { modeWords } from './connector-words.ts';

/** Why a rule cannot run this bot; null: it can, or it is not known. */
export const cannotRun = (bots: readonly AutomationBot[] | undefined, id: string): string | null =>
  bots?.find((bot) => bot.id === id)?.reason ?? null;

export function BotField({
  bots,
  value,
  problem,
  runs,
  says = 'Each event opens one ticket for this bot.',
  onChange,
}: {
  bots: readonly AutomationBot[];
  value: string;
  problem: string | undefined;
  /** Whether a rule runs the bot automatically: then its mode must be enforceable. */
  runs: boolean;
  says?: string;
  onChange: (id: string) => void;
}) {
  const called = useNameOfBot();
  const nameOf = ({ id, name }: AutomationBot) => called(id, name);
  const able = bots.filter(({ reason }) => !runs || reason === null);
  const unable = bots.filter(({ reason }) => runs && reason !== null);
  const noneAble = able.length === 0 && unable.length > 0;
  const chosen = bots.find(({ id }) => id === value);
  return (
    <>
      <SelectField
        label="Bot"
        required
        problem={problem}
        description={
          chosen !== undefined && chosen.reason !== null
            ? `This bot gets tickets, but rules cannot run it: ${chosen.reason}`
            : noneAble
              ? 'None of these bots can run on events. A hosted bot can, or an agent program outside of a sandbox.'
              : says
        }
        value={value}
        onChange={onChange}
      >
        <option value="">{bots.length === 0 ? 'No bots on this computer' : ''}</option>
        {able.map((bot) => (
          <option key={bot.id} value={bot.id}>
            {nameOf(bot)}
          </option>
        ))}
        {unable.map((bot) => (
          <option key={bot.id} value={bot.id} disabled>
            {nameOf(bot)} (unavailable)
          </option>
        ))}
      </SelectField>
      {unable.length > 0 && (
        <details open={noneAble || undefined}>
          <summary className="w-fit rounded-control text-meta text-muted pointer-coarse:py-2">
            Why {unable.length === 1 ? 'one bot is' : `${unable.length} bots are`} unavailable
          </summary>
          <ul className="mt-1 list-disc pl-5 text-meta text-muted">
            {unable.map((bot) => (
              <li key={bot.id} className="break-words">
                <span className="text-ink">{nameOf(bot)}</span>: {bot.reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

export function ModeChoice<M extends RuleMode | ExecutionMode>({
  modes,
  value,
  onChange,
}: {
  modes: readonly M[];
  value: M;
  onChange: (mode: M) => void;
}) {
  return (
    <Choice
      legend="Mode"
      name="mode"
      value={value}
      onChange={onChange}
      choices={modes.map((mode) => ({ key: mode, ...modeWords[mode] }))}
    />
  );
}
