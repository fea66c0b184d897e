/** Search parameters of the tools' pages. */
import { z } from 'zod';
import { searchText } from '../../base/search-text.ts';

/** A server whose tools are shown (an attached one by its name), a tool that is open, and what the list is narrowed to. */
export const toolsSearch = z.object({ server: searchText, tool: searchText, filter: searchText });
export type ToolsSearch = z.infer<typeof toolsSearch>;
