/** Search parameters of the computers' pages. */
import { z } from 'zod';
import { searchText } from '../../base/search-text.ts';

/** A hosted computer, where those are made, a run of the computer that is looked at, and whether a new one is being put together. */
export const computersSearch = z.object({ hosted: searchText, pool: searchText, run: searchText, start: searchText });
export type ComputersSearch = z.infer<typeof computersSearch>;
