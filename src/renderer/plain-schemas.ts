/**
 * Before any schema is made (vite.config.ts keeps it beside zod): the page's policy forbids code made from text. A schema would try
 * that once, which Firefox writes down as an error of the page.
 */
import { config } from 'zod';

config({ jitless: true });
