/** Search parameters of the inbox. */
import { z } from 'zod';
import { searchText } from '../../base/search-text.ts';

/** `approval`: the question that a notification is about. */
export const inboxSearch = z.object({ approval: searchText });
