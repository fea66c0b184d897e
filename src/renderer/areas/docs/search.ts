/** Search parameters of the docs: which page, where on it, and what is searched for. */
import { z } from 'zod';
import { searchText } from '../../base/search-text.ts';

export const docsSearch = z.object({ doc: searchText, at: searchText, q: searchText });
