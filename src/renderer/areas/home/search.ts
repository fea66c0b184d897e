/** Search parameters of Home. */
import { z } from 'zod';
import { searchText } from '../../base/search-text.ts';

/** A prompt in a link; longer ones are typed. */
const prompt = z.string().max(10_000).optional().catch(undefined);

/**
 * The names `allternit_thread`, `allternit_channel` and `bot` are part of the wire format of notification links. `new` begins a new run, and the
 * rest fills its form in.
 */
export const homeSearch = z.object({
  allternit_thread: searchText,
  allternit_channel: searchText,
  bot: searchText,
  new: searchText,
  prompt,
  repo: searchText,
  who: searchText,
});
