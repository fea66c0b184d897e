/** Chooses a number's bot: one on any of the person's computers that can answer. */

import { botName, type PlacedBot } from '../../base/data/places.ts';
import { useBots, useFloors } from '../../base/floors.tsx';
import { SelectField } from '../../ui/text-field.tsx';
import { leftOutWords, whyMute } from './can-answer.ts';

interface Holder {
  readonly runtimeId: string;
  readonly botId: string;
  readonly botName: string;
}

export const holderOf = (bot: PlacedBot): Holder => ({
  runtimeId: bot.place.id,
  botId: bot.id,
  botName: bot.name,
});

/** The only bot that can answer, so that nobody has to choose it. */
export function useOnlyBot(): string {
  const bots = useBots().filter((bot) => whyMute(bot) === null);
  return bots.length === 1 ? (bots[0]?.id ?? '') : '';
}

export function BotField({
  value,
  problem,
  says = 'Texts go to its thread, and its answers go out as texts.',
  onChange,
}: {
  /** Id of the bot; empty: none is chosen. */
  value: string;
  problem?: string | undefined;
  says?: string;
  onChange: (botId: string) => void;
}) {
  const all = useBots();
  const bots = all.filter((bot) => whyMute(bot) === null);
  const leftOut = leftOutWords(all, (at) => botName(all[at]!, all));
  const places = useFloors()
    .map(({ place }) => place)
    .filter((place) => bots.some((bot) => bot.place.id === place.id));
  const options = (list: readonly PlacedBot[]) =>
    list.map((bot) => (
      <option key={bot.id} value={bot.id}>
        {botName(bot, all)}
      </option>
    ));
  return (
    <SelectField
      label="Bot"
      required
      problem={problem}
      description={[
        ...(bots.length > 0
          ? [says]
          : [
              all.length === 0
                ? 'There are no bots yet. Start a team on the Floor first.'
                : 'None of your bots can answer. Start a hosted bot or an agent program on the Floor first.',
            ]),
        ...(leftOut === null ? [] : [leftOut]),
      ].join(' ')}
      value={value}
      onChange={onChange}
    >
      <option value="">{bots.length === 0 ? 'No bot can answer' : 'Choose a bot'}</option>
      {places.length < 2
        ? options(bots)
        : places.map((place) => (
            <optgroup key={place.id} label={place.away ? `${place.name} (away)` : place.name}>
              {options(bots.filter((bot) => bot.place.id === place.id))}
            </optgroup>
          ))}
    </SelectField>
  );
}
