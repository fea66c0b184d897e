/** What the form of a new run decides: who can be chosen, what a link fills in, and which images go along. Must not know how it is drawn. */
import { titleOf } from '../../../../contracts/factory/agent.ts';
import {
  maxQuickBots,
  type QuickChoices,
  type QuickWho,
  quickPrograms,
} from '../../../../contracts/factory/quick-run-routes.ts';

/** `claude`, `claude:opus` or `anthropic/claude-sonnet-5`: a bot of a new run as an address and a person write it. */
export function readWho(word: string): QuickWho | null {
  const [name = '', ...rest] = word.trim().split(':');
  const harness = quickPrograms.find((one) => one === name);
  const model = rest.join(':');
  if (harness !== undefined) return model === '' ? { harness } : { harness, model };
  return /^[^\s/]+\/\S+$/.test(word.trim()) ? { model: word.trim() } : null;
}

export interface WhoChoice {
  /** As `readWho` takes it. */
  readonly key: string;
  readonly name: string;
  /** Why it cannot be chosen; null: it can. */
  readonly not: string | null;
}

/** Programs first, those that are signed in before the others, as the server lists them; then hosted models. */
export function whoChoices({ programs, models, providers }: QuickChoices): readonly WhoChoice[] {
  const isReady = (model: string) => providers.some(({ name, ready }) => ready && model.startsWith(`${name}/`));
  return [
    ...programs.map(({ harness, installed, signedIn }) => ({
      key: harness,
      name: titleOf(harness),
      not: !installed ? 'Not installed' : signedIn === false ? 'Not signed in' : null,
    })),
    ...models.map((model) => ({ key: model, name: model, not: isReady(model) ? null : 'No key' })),
  ];
}

export const nameOfWho = (key: string): string => {
  const who = readWho(key);
  if (who?.harness === undefined) return key;
  return who.model === undefined ? titleOf(who.harness) : `${titleOf(who.harness)} (${who.model})`;
};

/** Those that were chosen last and can be chosen still; else the first one that can. */
export function firstWho(choices: readonly WhoChoice[], last: readonly string[]): readonly string[] {
  const can = new Set(choices.filter(({ not }) => not === null).map(({ key }) => key));
  const again = last.filter((key) => can.has(key)).slice(0, maxQuickBots);
  if (again.length > 0) return again;
  return choices
    .filter(({ not }) => not === null)
    .slice(0, 1)
    .map(({ key }) => key);
}

export interface Prefill {
  readonly prompt: string | null;
  readonly repository: string | null;
  readonly who: readonly string[];
  /** What of the link was left out, in a sentence; null: nothing. */
  readonly left: string | null;
}

/** A link fills in and does nothing else: it names a repository that was used here before, and bots that can be chosen. */
export function prefillOf(
  link: { readonly prompt?: string | undefined; readonly repo?: string | undefined; readonly who?: string | undefined },
  repositories: QuickChoices['repositories'],
  choices: readonly WhoChoice[],
): Prefill {
  const known = repositories.find(({ path, name }) => path === link.repo || name === link.repo);
  const can = choices.filter(({ not }) => not === null).map(({ key }) => key);
  const who = (link.who ?? '').split(',').map((one) => one.trim());
  const missing = who.filter((one) => one !== '' && !can.includes(one));
  const left = [
    ...(link.repo !== undefined && known === undefined
      ? [`the repository ${link.repo}, which was not used here before`]
      : []),
    ...(missing.length > 0 ? [`${missing.join(', ')}, which cannot be started here`] : []),
  ];
  return {
    prompt: link.prompt ?? null,
    repository: known?.path ?? null,
    who: who.filter((one) => can.includes(one)).slice(0, maxQuickBots),
    left: left.length === 0 ? null : `Left out of the link: ${left.join('; ')}.`,
  };
}
