/** The forms in which toolsets are offered to models, one adapter each. Must not know who carries actions out. */
import type { Toolset } from '../../../contracts/computer-use/members.ts';
import type { ToolOffer, Wire } from '../model.ts';
import { type ReadCall, screenOf } from './adapter.ts';
import { readAnthropic } from './anthropic.ts';
import { functionOffers, readFunction } from './functions.ts';
import { googleExtras, readGoogle } from './google.ts';
import { openAiExtras, readOpenAi } from './openai.ts';
import type { ToolsetForm } from './which.ts';

export type { Reading, ToolsetAction } from './adapter.ts';

export interface ToolsetOffer {
  /** Those of the wanted toolsets that it gets in any form. */
  readonly wanted: readonly Toolset[];
  /** Those in the vendor's own form. */
  readonly native: readonly Toolset[];
  readonly tools: readonly ToolOffer[];
  /** Each result has to show the screen; otherwise the model requests pictures itself. */
  readonly showsScreen: boolean;
  readonly read: ReadCall;
}

/** The wanted toolsets as they are offered to a model, and how its calls are read. */
export function offerToolsets(form: ToolsetForm, wire: Wire, wanted: readonly Toolset[]): ToolsetOffer {
  if (form === 'functions') {
    return { wanted, native: [], tools: functionOffers(wanted), showsScreen: false, read: readFunction };
  }
  if (wire === 'anthropic') return { wanted, native: wanted, tools: [], showsScreen: false, read: readAnthropic };
  // These forms know one screen.
  const screen = screenOf({ toolsets: wanted });
  const extras = wire === 'openai' ? openAiExtras : googleExtras;
  return {
    wanted: [screen],
    native: [screen],
    tools: screen === 'browser' ? functionOffers(['browser'], extras) : [],
    showsScreen: true,
    read: wire === 'openai' ? readOpenAi : readGoogle,
  };
}
