/** Search parameters of Home. */
import { z } from 'zod';
import { searchText } from '../../base/search-text.ts';

/** The names `allternit_thread`, `allternit_channel` and `bot` are part of the wire format of notification links. */
export const homeSearch = z.object({ allternit_thread: searchText, allternit_channel: searchText, bot: searchText });
