/** Search parameters of the floor. */
import { z } from 'zod';
import { searchText } from '../../base/search-text.ts';

export const floorSearch = z.object({ filter: searchText, bot: searchText });
