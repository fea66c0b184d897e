/** Search parameters of the ledger. */
import { z } from 'zod';
import { searchText } from '../../base/search-text.ts';

export const ledgerSearch = z.object({ type: searchText, subject: searchText, actor: searchText, row: searchText });
